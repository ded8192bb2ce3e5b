// SPDX-License-Identifier: BSD-3-Clause
// A request that Thence completes: a generalized request of MPI's. As a waiter it calls no_longer_waits() and
// complete() when what it waits for has arrived.
#pragma once

#include "core/mpi/calls.hpp"
#include "onesided/notification/waiters.hpp"

#include <mpi.h>

namespace thence::onesided {

struct own_request : notification::waiter {
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS; // of what it waits for; set before complete()

    own_request() noexcept;
    own_request &operator=(own_request &&) = delete;
    virtual ~own_request() = default;

    // Returns an error code. On success MPI owns the object, and deletes it after complete().
    int start() noexcept;
    void complete() noexcept { mpi::table.Grequest_complete(request); }
};

} // namespace thence::onesided
