// SPDX-License-Identifier: BSD-3-Clause
// Progress threads that the program starts and stops (thence_start_progress_thread). One thread, the helper, serves all
// of them: it makes progress while at least one is started, also while nothing of ours is outstanding.
//
// Invariant: a stream is in the table while it was started more often than stopped. Each start and each stop of a
// stream is one count. While the helper serves streams, the mutex of the table is free: what it starts may start or
// stop threads.
#pragma once

#include "core/mpi/extension.hpp"

namespace thence::progress {

// What the helper does first, before each of its polls, for each stream for which a thread is started.
struct stream_service {
    void (*begin)(int stream) noexcept; // starts operations, maybe by functions of the program
    void (*poll)(int stream) noexcept;  // lets MPI make progress
};

enum class thread_start { done, not_possible, no_memory };
// `not_possible`: helper_state() says why.
thread_start start_thread(int stream, const stream_service &how) noexcept;
// Does nothing if no thread is started for this stream. If it was the last that was started, for any stream, the poll
// in which the helper was has ended when this returns, unless it is called on the helper. The helper may still be
// before a poll, in `begin`, and then makes that poll, or after one, in callbacks. It goes on if others need it.
void stop_thread(int stream) noexcept;

mpi::extension_facts thread_facts() noexcept;

// Internal to this folder.
void threads_tear_down() noexcept;
// The helper calls it before each poll.
void serve_started_streams(void (*stream_service::*how)(int) noexcept) noexcept;

} // namespace thence::progress
