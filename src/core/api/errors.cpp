// SPDX-License-Identifier: BSD-3-Clause
#include "core/api/errors.hpp"

#include "core/mpi/calls.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace thence::api {

namespace {

// The name in this call of an argument of thence.h.
std::string name_in(const public_call &call, std::string_view argument) {
    const auto other = std::ranges::find(call.renamed, argument, &renamed_argument::in_thence_h);
    std::string name(other != call.renamed.end() ? other->name : argument);
    if (argument == "cr" && call.index >= 0) {
        name.append("[").append(std::to_string(call.index)).append("]");
    }
    return name;
}

std::string text_of(const failure &why, const public_call &call) {
    std::string_view rest = why.text;
    std::string text;
    for (std::size_t open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
        const std::size_t close = rest.find('}', open);
        text.append(rest.substr(0, open)).append(name_in(call, rest.substr(open + 1, close - open - 1)));
        rest.remove_prefix(close + 1);
    }
    return text.append(rest);
}

// `before`, `after`: what the text has before and behind the reason; may be null.
int report(const public_call &call, const char *before, const failure &why, const char *after) noexcept {
    try {
        std::string text(call.name);
        if (before != nullptr) {
            text.append(": ").append(before);
        }
        text.append(": ").append(text_of(why, call));
        if (after != nullptr) {
            text.append(": ").append(after);
        }
        return mpi::report(why.error_class, text);
    } catch (const std::exception &) { // no memory
        return mpi::report(why.error_class);
    }
}

} // namespace

int fail(const public_call &call, const failure &why) noexcept {
    return report(call, nullptr, why, nullptr);
}

int fail(const public_call &call, const char *subject, const failure &why) noexcept {
    return report(call, subject, why, nullptr);
}

int fail_with_detail(const public_call &call, const failure &why, const char *detail) noexcept {
    return report(call, nullptr, why, detail);
}

} // namespace thence::api
