// SPDX-License-Identifier: BSD-3-Clause
// Looks where MPI's names lead in this process: from libthence to the next definition, and from the program to
// libthence, which is not so if MPI or a tool comes first that goes on to PMPI_ functions. A tool that goes on to the
// next definition, as libthence does, may come first. Whether it does is learned by a call: its blocking calls must
// come to us.
#include "interpose/calls/next.hpp"
#include "interpose/waiting/library.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace thence::pmpi {

namespace {

Dl_info object_of(const void *address) noexcept {
    Dl_info object{};
    dladdr(address, &object);
    return object;
}

const char *file_of(const Dl_info &object) noexcept {
    const char *const path = object.dli_fname != nullptr ? object.dli_fname : "another library";
    const char *const slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

// Calls that change nothing, whoever gets them.
struct harmless_call {
    const char *name;
    void (*make)(void *function);
};
constexpr std::array harmless_calls{
    harmless_call{"MPI_Wait",
                  [](void *function) {
                      MPI_Request none = MPI_REQUEST_NULL;
                      reinterpret_cast<decltype(&PMPI_Wait)>(function)(&none, MPI_STATUS_IGNORE);
                  }},
    harmless_call{"MPI_Waitall",
                  [](void *function) {
                      MPI_Request none = MPI_REQUEST_NULL;
                      reinterpret_cast<decltype(&PMPI_Waitall)>(function)(1, &none, MPI_STATUSES_IGNORE);
                  }},
    harmless_call{"MPI_Send",
                  [](void *function) {
                      const int nothing = 0;
                      reinterpret_cast<decltype(&PMPI_Send)>(function)(&nothing, 0, MPI_INT, MPI_PROC_NULL, 0,
                                                                       MPI_COMM_SELF);
                  }},
    harmless_call{"MPI_Recv",
                  [](void *function) {
                      int nothing = 0;
                      reinterpret_cast<decltype(&PMPI_Recv)>(function)(&nothing, 0, MPI_INT, MPI_PROC_NULL, 0,
                                                                       MPI_COMM_SELF, MPI_STATUS_IGNORE);
                  }},
};

// True if the harmless calls of this object, of which there is at least one, come to us.
bool goes_on_to_us(const Dl_info &object) noexcept {
    bool any = false;
    for (const harmless_call &each : harmless_calls) {
        void *const function = dlsym(RTLD_DEFAULT, each.name);
        if (function != nullptr && object_of(function).dli_fbase == object.dli_fbase) {
            any = true;
            if (!interpose::comes_to_us(each.make, function)) {
                return false;
            }
        }
    }
    return any;
}

class leads_to_us {
public:
    bool operator()(const char *name) noexcept {
        void *const function = dlsym(RTLD_DEFAULT, name);
        const Dl_info object = object_of(function);
        if (function == nullptr || object.dli_fbase == own_.dli_fbase || object.dli_fbase == goes_on_) {
            return true;
        }
        if (!goes_on_to_us(object)) {
            std::snprintf(why_not_.data(), why_not_.size(),
                          "%s leads to %s, not to %s: put %s first in LD_PRELOAD, or link -lthence before all others",
                          name, file_of(object), file_of(own_), file_of(own_));
            return false;
        }
        goes_on_ = object.dli_fbase;
        return true;
    }
    const char *why_not() const noexcept { return why_not_.data(); }

private:
    static inline std::array<char, 256> why_not_{};
    const Dl_info own_ = object_of(reinterpret_cast<const void *>(&goes_on_to_us));
    const void *goes_on_ = nullptr;
};

// Features of ours do not depend on these, or ask for themselves. Tools that wrap only these are common.
bool may_lead_elsewhere(const char *name) noexcept {
    constexpr std::array prefixes{"MPI_Init", "MPI_Finalize", "MPI_File_", "MPI_Win_"};
    for (const char *each : prefixes) {
        if (std::strncmp(name, each, std::strlen(each)) == 0) {
            return true;
        }
    }
    return false;
}

interpose::interposition look() noexcept {
    interpose::interposition found{true, true, nullptr};
    leads_to_us leads;
    found.finalize = leads("MPI_Finalize");
    found.calls = leads("MPI_Wait");
    for (const interposed_call *each = last_interposed_call; each != nullptr && found.calls; each = each->previous) {
        found.calls = may_lead_elsewhere(each->name) || leads(each->name);
    }
    found.why_not = found.calls ? nullptr : leads.why_not();
    return found;
}

[[maybe_unused]] const bool told = interpose::say_loaded(&look);

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
