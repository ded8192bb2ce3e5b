// SPDX-License-Identifier: BSD-3-Clause
// Looks where MPI's names lead in this process: from libthence to the next definition, and from the program to
// libthence, which is not so if MPI or a tool comes first that goes on to PMPI_ functions. A tool that goes on to the
// next definition, as libthence does, may come first. Whether it does is learned by calls: those that it defines must
// come to us, each of them.
#include "interpose/calls/fortran_calls.hpp"
#include "interpose/calls/function_slots.hpp"
#include "interpose/calls/harmless_calls.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/waiting/init_finalize.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <string_view>

namespace thence::pmpi {

namespace {

const char *file_of(const Dl_info &object) noexcept {
    return object.dli_fname != nullptr ? file_name(object.dli_fname) : "another library";
}

// True if a call of this name comes to us from `function`, which is of another object. Where that cannot be asked, it
// is believed if the object defines a call that can be: each of those is asked for itself.
bool goes_on_to_us(const harmless_call *asked, void *function) noexcept {
    return asked != nullptr ? asked->reaches_libthence(function) : defines_harmless(object_of(function).dli_fbase);
}

const Dl_info &own_object() noexcept {
    static const Dl_info own = object_of(reinterpret_cast<const void *>(&goes_on_to_us));
    return own;
}

bool leads_to_us(const char *name) noexcept {
    void *const function = dlsym(RTLD_DEFAULT, name);
    return function == nullptr || object_of(function).dli_fbase == own_object().dli_fbase ||
           goes_on_to_us(find_harmless(name), function);
}

// A text that says why `name` does not lead to us, and what to do.
const char *why_not(const char *name, std::array<char, 256> &text) noexcept {
    const char *const own = file_of(own_object());
    std::snprintf(text.data(), text.size(),
                  "%s leads to %s, not to %s: put %s first in LD_PRELOAD, or link -lthence before all others", name,
                  file_of(object_of(dlsym(RTLD_DEFAULT, name))), own, own);
    return text.data();
}

enum class needed_by { calls, communicators, nothing };

// What does not work if this call leads elsewhere. Of those on files and windows and those that start or end MPI no
// feature depends on one, or it asks for itself.
needed_by feature_of(const char *name) noexcept {
    if (const harmless_call *const found = find_harmless(name); found != nullptr) {
        return found->on_requests ? needed_by::calls : needed_by::communicators;
    }
    constexpr std::array<std::string_view, 15> independent_calls{"MPI_Init",
                                                                 "MPI_Finalize",
                                                                 "MPI_Query_thread",
                                                                 "MPI_File_",
                                                                 "MPI_Win_",
                                                                 "MPI_Rput",
                                                                 "MPI_Rget",
                                                                 "MPI_Raccumulate",
                                                                 "MPI_Put",
                                                                 "MPI_Get",
                                                                 "MPI_Accumulate",
                                                                 "MPI_Fetch_and_op",
                                                                 "MPI_Compare_and_swap",
                                                                 "MPI_Grequest_start",
                                                                 "PMPI_Request_f2c"};
    const std::string_view called = name;
    if (called == "MPI_Request_c2f" || called == "MPI_Request_f2c" || called == "MPI_Request_toint" ||
        called == "MPI_Request_fromint") {
        return needed_by::calls;
    }
    return std::any_of(independent_calls.begin(), independent_calls.end(),
                       [&](auto each) { return called.starts_with(each); })
               ? needed_by::nothing
               : needed_by::communicators;
}

interpose::interposition look() noexcept {
    static std::array<char, 256> calls_text;
    static std::array<char, 256> communicators_text;
    interpose::interposition found{true, true, leads_to_us("MPI_Finalize"), nullptr, nullptr, fortran_calls()};
    const auto look_at = [&](const char *name) {
        const needed_by feature = feature_of(name);
        if (feature == needed_by::calls && found.calls && !leads_to_us(name)) {
            found.calls = false;
            found.why_not = why_not(name, calls_text);
        }
        if (feature == needed_by::communicators && found.communicators && !leads_to_us(name)) {
            found.communicators = false;
            found.communicators_why_not = why_not(name, communicators_text);
        }
    };
    look_at("MPI_Wait"); // the name that a reader of the text knows best
    for (const interposed_call *each = last_interposed_call; each != nullptr && found.calls; each = each->previous) {
        look_at(each->name);
    }
    if (!found.calls) {
        found.communicators = false;
        found.communicators_why_not = found.why_not;
    }
    return found;
}

[[maybe_unused]] const bool registered = interpose::register_lookup(&look);

} // namespace

bool look_up_next(interposed_call &call, void **function) noexcept {
    call.previous = last_interposed_call;
    last_interposed_call = &call;
    if (void *const next = dlsym(RTLD_NEXT, call.name); next != nullptr) {
        *function = next;
    }
    return true;
}

} // namespace thence::pmpi
