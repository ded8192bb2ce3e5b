// SPDX-License-Identifier: BSD-3-Clause
// What interposed calls do if their communicator is a thread communicator (src/mpix/threadcomm). A call with any other
// communicator, and each call of a program without thread communicators, goes on as if there were none.
#pragma once

#include "core/api/errors.hpp"
#include "interpose/calls/next.hpp"
#include "mpix/threadcomm/communicator.hpp"
#include "mpix/threadcomm/create.hpp"
#include "mpix/threadcomm/message_calls.hpp"

#include <mpi.h>

namespace thence::pmpi {

// A call that thread communicators do not have. `name`: of the call.
inline int refuse_on(const threadcomm::communicator &threads, const char *name) {
    return threadcomm::fail(threads.handle, name, MPI_ERR_COMM, "the call is not possible on a thread communicator");
}

inline int refuse_null_request(const threadcomm::communicator &threads, const char *name) {
    return threadcomm::fail(threads.handle, name, api::reason::null_request);
}

} // namespace thence::pmpi

#define THENCE_UNPACK(...) __VA_ARGS__
// An interposed call that returns the expression `ours` on a thread communicator, `threads`, and is MPI's own else.
#define THENCE_ON_THREADCOMM(name, parameters, arguments, ours)                                                        \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        if (auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                                \
            return ours;                                                                                               \
        }                                                                                                              \
        return THENCE_NEXT(name)(THENCE_UNPACK arguments);                                                             \
    }
// The same for a call that is refused on thread communicators.
#define THENCE_NOT_ON_THREADCOMM(name, parameters, arguments)                                                          \
    THENCE_ON_THREADCOMM(name, parameters, arguments, thence::pmpi::refuse_on(*threads, "MPI_" #name))
