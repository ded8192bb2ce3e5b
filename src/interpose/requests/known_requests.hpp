// SPDX-License-Identifier: BSD-3-Clause
// What is known of requests of the program for the report, in one table: which are persistent, and when the operation
// of a request was started. (Without a report: persistent_states.hpp.)
//
// Invariant: MPI gives the handle of a request that it has completed or freed to the next one, perhaps on another
// thread and before the call has returned to us. So a call takes what it has to know before it calls MPI, and
// afterwards changes an entry only if that is still of the same operation: it has the same `serial`.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace thence::interpose {

// When an operation was started, for the report (measured.hpp).
struct measured_start {
    std::uint64_t thread = 0; // the number of the thread that has started it; 0: it is not measured
    std::int64_t at = 0;
    std::int64_t computed = 0; // by that thread until then
    std::int64_t bytes = 0;
};

struct known_request {
    std::uint64_t serial = 0; // of the entry since its last change; 0: nothing is known
    bool persistent = false;
    bool active = true;     // a persistent one may be not
    std::int64_t bytes = 0; // that each operation of a persistent one transfers
    measured_start start;
};

// A request of a call, which is asked for before it.
struct asked_request {
    MPI_Request request = MPI_REQUEST_NULL;
    known_request known;
    bool was_complete = false; // before the call; only where it is measured
    bool ended = false;        // with the call
};

// False only if the table has been empty since the start of the program.
bool any_known_request() noexcept;

// Null requests and continuation requests are not known. Each function does nothing if there is no memory: then a
// persistent request counts as another one, and an operation is not measured.
void know_persistent(MPI_Request created, std::int64_t bytes) noexcept;
// A persistent request was started, which may have given it a new handle. @return what was known before.
known_request know_started(MPI_Request before, MPI_Request after) noexcept;
// An operation was started, which is to be measured. `persistent`: know_started() has been called.
void know_start(MPI_Request started, const measured_start &start, bool persistent) noexcept;

known_request find_known(MPI_Request request) noexcept;
void find_known(int count, asked_request asked[]) noexcept;
// It is about to be freed: no call finds it any more.
known_request take_known(MPI_Request request) noexcept;
// MPI has refused to free it.
void put_back_known(MPI_Request request, const known_request &taken) noexcept;
// Of those that have ended, persistent requests become inactive, and others are forgotten.
void end_known(int count, const asked_request asked[]) noexcept;

// All but persistent requests.
void forget_measured() noexcept;

} // namespace thence::interpose
