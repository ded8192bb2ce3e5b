// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests of MPI as carriers of operations: the user gets a real request, which every completion call of MPI
// takes, alone and among others.
//
// While an operation that has a carrier is open, the endpoints are a source of progress: MPI's hook, the helper thread
// and waiting calls drive them.
#pragma once

#include "mpix/messages/message.hpp"

namespace thence::endpoint {

// Gives the operation a request. It was made with new, and the request deletes it. Returns an error class.
int carry(operation &op) noexcept;
// A request that is complete, with the status of a send. Returns an error class.
int carry_nothing(MPI_Request &request) noexcept;
// The same for a receive or a collective operation that has ended so.
int carry_outcome(const outcome &result, MPI_Request &request) noexcept;

// True while an operation that has a carrier is open.
bool any_open_request() noexcept;

// Sets a status from how an operation ended. It may be MPI_STATUS_IGNORE. MPI_ERROR stays as it is.
void set_status(MPI_Status *status, const outcome &result) noexcept;

// While anybody uses endpoints, they are a source of progress. False: there can be no more sources.
bool begin_use() noexcept;
void end_use() noexcept;

} // namespace thence::endpoint
