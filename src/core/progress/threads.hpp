// SPDX-License-Identifier: BSD-3-Clause
// Progress threads that the program starts and stops (thence_start_progress_thread). One thread, the helper, serves all
// of them: it makes progress while at least one is started, also while nothing of ours is outstanding.
//
// Invariant: a stream is in the table while it was started more often than stopped. Each start and each stop of a
// stream is one count.
#pragma once

#include "core/mpi/extension.hpp"

namespace thence::progress {

enum class thread_start { done, not_possible, no_memory };
// `not_possible`: helper_state() says why.
thread_start start_thread(int stream) noexcept;
// Does nothing if no thread is started for this stream. After it has returned, the helper has left MPI, unless others
// need it.
void stop_thread(int stream) noexcept;

mpi::extension_facts thread_facts() noexcept;

// Internal to this folder.
void threads_tear_down() noexcept;

} // namespace thence::progress
