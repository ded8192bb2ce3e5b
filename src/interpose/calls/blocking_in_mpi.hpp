// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls that only MPI itself can do, since only a blocking call matches the other ranks' blocking calls, or
// since there is no nonblocking form. Inside a callback another thread makes progress for as long as they last, where
// MPI needs that. Where no hook of MPI runs callbacks, those that became ready run when the call returns.
#pragma once

#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <thence/thence.h>

namespace thence::pmpi {

// `name`: of the call, for errors and reports. `where`: the code address of the user's call, since this is inlined.
template <class Call>
int block_in_mpi(const char *name, Call call, MPI_Comm comm = MPI_COMM_NULL,
                 const void *where = __builtin_return_address(0)) {
    if (interpose::is_plain()) [[likely]] {
        return call();
    }
    if (interpose::calls_only_count()) {
        return interpose::count_blocking(call);
    }
    const interpose::progress_beside while_it_lasts(name);
    const interpose::blocking_call blocks({.name = name, .where = where, .comm = comm}, interpose::waits::inside_mpi);
    const int code = call();
    interpose::catch_up();
    return code;
}

// The same for a call with a communicator.
template <class Call>
int block_in_mpi(const char *name, MPI_Comm comm, Call call, const void *where = __builtin_return_address(0)) {
    if (interpose::is_plain()) [[likely]] {
        return call();
    }
    const streams::serial_call on_stream(name, comm);
    return block_in_mpi(name, call, comm, where);
}

// The same for one that all ranks of the communicator make.
template <class Call>
int block_with_ranks(const char *name, MPI_Comm comm, Call call, const void *where = __builtin_return_address(0)) {
    if (interpose::is_plain()) [[likely]] {
        return call();
    }
    interpose::wait_for_ranks(comm);
    return block_in_mpi(name, comm, call, where);
}

} // namespace thence::pmpi

#define THENCE_BLOCKING(name, parameters, arguments)                                                                   \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        return thence::pmpi::block_in_mpi("MPI_" #name, [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); });   \
    }
// The same for a call that all ranks of a communicator make. `otherwise(communicator &)` does it on a thread
// communicator.
#define THENCE_BLOCKING_OR(name, parameters, arguments, otherwise)                                                     \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        if (auto *const found = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                                  \
            return otherwise(*found);                                                                                  \
        }                                                                                                              \
        return thence::pmpi::block_with_ranks("MPI_" #name, comm,                                                      \
                                              [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); });             \
    }
// The same for a call that is not possible on thread communicators.
#define THENCE_BLOCKING_ON_PROCESSES(name, parameters, arguments)                                                      \
    THENCE_BLOCKING_OR(name, parameters, arguments,                                                                    \
                       [](auto &threads) { return thence::pmpi::refuse_on(threads, "MPI_" #name); })
