// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init, MPI_Init_thread, MPI_Session_init, MPI_Query_thread and MPI_Finalize. A program that runs with
// THENCE_PROGRESS=always gets MPI_THREAD_MULTIPLE, which the helper thread needs, and is told the level that it asked
// for. The library ends inside MPI_Finalize (core/continuation/lifetime.hpp). Only here can a call of MPI_Finalize
// inside a callback be refused, and only here can the library leave MPI early enough for MPICH: its hook and, on MPICH
// and its kin, its threads are used only if this file is linked.
#include "interpose/waiting/init_finalize.hpp"
#include "interpose/calls/fortran_calls.hpp"
#include "interpose/calls/function_slots.hpp"
#include "interpose/calls/mpi_of_caller.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/unchanged.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <dlfcn.h>

namespace unchanged = thence::interpose::unchanged;

namespace {

// Open MPI's MPI_Init makes its library global. If libthence was loaded with RTLD_LOCAL, names that are bound later
// would then lead to MPI before libthence. So libthence becomes global first.
void become_global() {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void *>(&become_global), &own) != 0) {
        dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    }
}

[[gnu::destructor]] void at_exit() {
    unchanged::process_ends();
}

// True if a tool comes next that wraps MPI_Init, and not MPI_Init_thread. It begins in its MPI_Init.
bool tool_wraps_init_only() noexcept {
    const auto object = [](auto *function) {
        return thence::pmpi::object_of(reinterpret_cast<const void *>(function)).dli_fbase;
    };
    const void *const next = object(THENCE_NEXT(Init));
    return next != object(&PMPI_Init) && next != object(THENCE_NEXT(Init_thread));
}

int init_at_multiple(int *argc, char ***argv) {
    return thence::interpose::with_raised_level(THENCE_NEXT(Init), argc, argv);
}

int initialized(int code) {
    thence::pmpi::redirect_fortran_calls();
    if (code == MPI_SUCCESS) {
        thence::interpose::mpi_initialized();
    }
    return code;
}

} // namespace

extern "C" {

// Weak, since a static libthence-tampi defines these two as well.
THENCE_EXPORT __attribute__((weak)) int MPI_Init(int *argc, char ***argv) {
    become_global();
    if (thence::pmpi::is_of_another_mpi("MPI_Init", __builtin_return_address(0))) {
        return MPI_ERR_OTHER;
    }
    if (!unchanged::raises_level()) {
        return initialized(THENCE_NEXT(Init)(argc, argv));
    }
    unchanged::set_reported_level(MPI_THREAD_SINGLE);
    if (tool_wraps_init_only()) {
        return initialized(init_at_multiple(argc, argv));
    }
    int provided = MPI_THREAD_SINGLE;
    return initialized(THENCE_NEXT(Init_thread)(argc, argv, MPI_THREAD_MULTIPLE, &provided));
}

THENCE_EXPORT __attribute__((weak)) int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    become_global();
    if (thence::pmpi::is_of_another_mpi("MPI_Init_thread", __builtin_return_address(0))) {
        return MPI_ERR_OTHER;
    }
    if (!unchanged::raises_level() || provided == nullptr) {
        return initialized(THENCE_NEXT(Init_thread)(argc, argv, required, provided));
    }
    const int code = THENCE_NEXT(Init_thread)(argc, argv, MPI_THREAD_MULTIPLE, provided);
    if (code == MPI_SUCCESS) {
        *provided = std::min(*provided, required);
        unchanged::set_reported_level(*provided);
    }
    return initialized(code);
}

#if defined(THENCE_MPI_SESSIONS)
// It changes nothing. A program that ends without MPI_Init is told that its settings have had no effect.
THENCE_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session) {
    const int code = THENCE_NEXT(Session_init)(info, errhandler, session);
    if (code == MPI_SUCCESS) {
        unchanged::session_began();
    }
    return code;
}
#endif

THENCE_EXPORT int MPI_Query_thread(int *provided) {
    const int code = THENCE_NEXT(Query_thread)(provided);
    if (code == MPI_SUCCESS && provided != nullptr) {
        *provided = std::min(*provided, unchanged::reported_level());
    }
    return code;
}

THENCE_EXPORT int MPI_Finalize(void) {
    if (thence::interpose::in_callback()) { // the callback still needs the library and MPI
        return thence::interpose::refuse("MPI_Finalize", MPI_ERR_OTHER,
                                         "called inside a callback. It is refused and has changed nothing: call it "
                                         "after the callback has returned");
    }
    return thence::interpose::finalize(THENCE_NEXT(Finalize), __builtin_return_address(0));
}

} // extern "C"
