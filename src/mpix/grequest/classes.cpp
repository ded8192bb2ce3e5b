// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/classes.hpp"

#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace thence::grequest {

namespace {

std::mutex mutex; // guards the table
std::vector<std::optional<functions>> &table() {
    static auto &all = *new std::vector<std::optional<functions>>; // used until the process ends
    return all;
}

// With the mutex. Null: no live class.
std::optional<functions> *find(thence_grequest_class handle) noexcept {
    const auto at = static_cast<std::size_t>(handle) - 1;
    return handle >= 1 && at < table().size() && table()[at].has_value() ? &table()[at] : nullptr;
}

} // namespace

thence_grequest_class create_class(const functions &of_user) noexcept {
    const std::scoped_lock guard(mutex);
    try {
        table().emplace_back(of_user);
    } catch (const std::exception &) {
        return 0;
    }
    return static_cast<thence_grequest_class>(table().size());
}

std::optional<functions> functions_of(thence_grequest_class handle) noexcept {
    const std::scoped_lock guard(mutex);
    const std::optional<functions> *const found = find(handle);
    return found != nullptr ? *found : std::nullopt;
}

bool free_class(thence_grequest_class handle) noexcept {
    const std::scoped_lock guard(mutex);
    std::optional<functions> *const found = find(handle);
    if (found != nullptr) {
        found->reset();
    }
    return found != nullptr;
}

} // namespace thence::grequest
