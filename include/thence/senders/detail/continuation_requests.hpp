// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The continuation requests with which operations of senders are registered. All operations that cannot be stopped
// share one. Each operation that can be stopped has one of its own, which it takes from a list and gives back. Only the
// fast path of the first is here; the rest is in libthence-senders.

#include <thence/error.hpp>
#include <thence/senders/detail/exports.hpp>

namespace thence::detail {

using libthence_senders::completing;
using libthence_senders::give_back_own_request;
using libthence_senders::own_request;
using libthence_senders::take_own_request;

/** Call it before the first use of shared_request(). @return MPI's error code. */
inline int make_shared_requests() noexcept {
    if (!libthence_senders::requests.ready.load(order::acquire)) [[unlikely]] {
        return libthence_senders::make_requests();
    }
    return MPI_SUCCESS;
}
/** As check_mpi_is_active(), but faster: the continuation requests exist only while MPI is active, so one load shows
 *  that it is. */
inline void need_mpi(const char *call) {
    if (!libthence_senders::requests.ready.load(order::acquire)) [[unlikely]] {
        check_mpi_is_active(call);
    }
}
inline MPI_Request shared_request() noexcept {
    return libthence_senders::requests.normal;
}
inline MPI_Request shared_request_in_completion() noexcept {
    return libthence_senders::requests.in_completion;
}

/** Marks this thread as being in a completion, from construction to destruction. */
struct completing_scope {
    completing_scope() noexcept { ++completing; }
    ~completing_scope() { --completing; }
    completing_scope &operator=(completing_scope &&) = delete;
};

} // namespace thence::detail
