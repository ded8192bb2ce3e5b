// SPDX-License-Identifier: BSD-3-Clause
// All queues of the process, as one source of progress: while an enqueued call has not ended, hook, helper thread and
// waiting calls look at the trigger words of the queues.
#pragma once

#include "core/mpi/extension.hpp"
#include "mpix/queues/queue.hpp"

namespace thence::queues {

// The first one adds the source, and starts the helper thread where there can be one. False if that cannot be.
bool add_queue(queue &added) noexcept;
// The last one removes the source.
void remove_queue(queue &removed) noexcept;

// The continuation request with which enqueued operations are registered, while there is a queue.
MPI_Request completions() noexcept;

// Items that have not ended are more by `n`.
void count_outstanding(long n) noexcept;

mpi::extension_facts host_queues() noexcept;
mpi::extension_facts other_queues() noexcept; // by a table of the program

} // namespace thence::queues
