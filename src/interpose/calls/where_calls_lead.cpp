// SPDX-License-Identifier: BSD-3-Clause
// Looks where MPI's names lead in this process: from libthence to the next definition, and from the program to
// libthence, which is not so if MPI or a tool comes first that goes on to PMPI_ functions. A tool that goes on to the
// next definition, as libthence does, may come first. Whether it does is learned by calls: those that block
// or test, and that it defines, must come to us, each of them.
#include "interpose/calls/next.hpp"
#include "interpose/requests/comes_to_us.hpp"
#include "interpose/waiting/library.hpp"

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
struct harmless_arguments {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    int buffer = 0;
    int flag = 0;
    int index = 0;
};
#define HARMLESS(name, ...)                                                                                            \
    harmless_call {                                                                                                    \
        "MPI_" #name, [](void *function) {                                                                             \
            [[maybe_unused]] harmless_arguments a;                                                                     \
            reinterpret_cast<decltype(&PMPI_##name)>(function)(__VA_ARGS__);                                           \
        }                                                                                                              \
    }
constexpr std::array harmless_calls{
    HARMLESS(Wait, &a.request, MPI_STATUS_IGNORE),
    HARMLESS(Waitall, 1, &a.request, MPI_STATUSES_IGNORE),
    HARMLESS(Waitany, 1, &a.request, &a.index, MPI_STATUS_IGNORE),
    HARMLESS(Waitsome, 1, &a.request, &a.flag, &a.index, MPI_STATUSES_IGNORE),
    HARMLESS(Test, &a.request, &a.flag, MPI_STATUS_IGNORE),
    HARMLESS(Testall, 1, &a.request, &a.flag, MPI_STATUSES_IGNORE),
    HARMLESS(Testany, 1, &a.request, &a.index, &a.flag, MPI_STATUS_IGNORE),
    HARMLESS(Testsome, 1, &a.request, &a.flag, &a.index, MPI_STATUSES_IGNORE),
    HARMLESS(Request_get_status, a.request, &a.flag, MPI_STATUS_IGNORE),
    HARMLESS(Send, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF),
    HARMLESS(Ssend, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF),
    HARMLESS(Rsend, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF),
    HARMLESS(Recv, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
    HARMLESS(Mrecv, &a.buffer, 0, MPI_INT, &a.message, MPI_STATUS_IGNORE),
    HARMLESS(Sendrecv, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, &a.index, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF,
             MPI_STATUS_IGNORE),
    HARMLESS(Sendrecv_replace, &a.buffer, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_SELF,
             MPI_STATUS_IGNORE),
    HARMLESS(Probe, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
    HARMLESS(Mprobe, MPI_PROC_NULL, 0, MPI_COMM_SELF, &a.message, MPI_STATUS_IGNORE),
};
#undef HARMLESS

// True if a call of this name comes to us from `function`, which is of another object. Of a name that is not among
// those above it is believed if the object defines one of them: each of them is asked for itself.
bool goes_on_to_us(const char *name, void *function) noexcept {
    const void *const object = object_of(function).dli_fbase;
    bool defines_any = false;
    for (const harmless_call &each : harmless_calls) {
        if (std::strcmp(each.name, name) == 0) {
            return interpose::comes_to_us(each.make, function);
        }
        void *const defined = dlsym(RTLD_DEFAULT, each.name);
        defines_any = defines_any || (defined != nullptr && object_of(defined).dli_fbase == object);
    }
    return defines_any;
}

class leads_to_us {
public:
    bool operator()(const char *name) noexcept {
        void *const function = dlsym(RTLD_DEFAULT, name);
        const Dl_info object = object_of(function);
        if (function == nullptr || object.dli_fbase == own_.dli_fbase || goes_on_to_us(name, function)) {
            return true;
        }
        std::snprintf(why_not_.data(), why_not_.size(),
                      "%s leads to %s, not to %s: put %s first in LD_PRELOAD, or link -lthence before all others", name,
                      file_of(object), file_of(own_), file_of(own_));
        return false;
    }
    const char *why_not() const noexcept { return why_not_.data(); }

private:
    static inline std::array<char, 256> why_not_{};
    const Dl_info own_ = object_of(reinterpret_cast<const void *>(&goes_on_to_us));
};

// Features of ours do not depend on these, or ask for themselves, or, as nonblocking calls (MPI_Isend), they take no
// continuation request and do not wait. Tools that wrap only these are common.
bool may_lead_elsewhere(const char *name) noexcept {
    constexpr std::array prefixes{"MPI_I", "MPI_Finalize", "MPI_File_", "MPI_Win_"};
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
