// SPDX-License-Identifier: BSD-3-Clause
// What the lower layers tell interposed calls (src/interpose, src/pmpi): whether there is anything at all that a call
// with MPI's own requests has to see to. All reasons are in one word, so that a call which has none reads one word.
#pragma once

#include "base/visibility.hpp"

#include <atomic>
#include <cstdint>

namespace thence::progress {

// Why an interposed call leaves its fast path; zero: it is MPI's own call. All reasons lie above the bits of an
// address: so one comparison of a pointer with this word finds null pointers too, which saves two instructions per
// call.
extern THENCE_INTERNAL std::atomic<std::uint64_t> slow_path_reasons;
// Counted in thirteen bits: threads that run callbacks, where waiting threads of MPI rely on each other (see
// mpi/calls.hpp). There a call that blocks in MPI inside a callback could keep the thread below it on the stack from
// returning.
inline constexpr std::uint64_t callback_runs = std::uint64_t{1} << 48;
// A persistent request has had a continuation: its user's calls and our polls must not both complete it.
inline constexpr std::uint64_t persistent_attached = std::uint64_t{1} << 62;
// The same where requests do not tell whether they are persistent.
inline constexpr std::uint64_t persistent_hidden = std::uint64_t{1} << 61;
// A way to wait was added (interpose/wait_strategy.hpp): blocking calls ask whether it applies.
inline constexpr std::uint64_t strategy_added = std::uint64_t{1} << 47;
// No hook of this MPI runs callbacks: a call that blocks must poll and run them itself.
inline constexpr std::uint64_t no_hook_runs = std::uint64_t{1} << 63;

// Set before main() where libthence is linked: completion calls come to us first, and we hear of MPI_Finalize before it
// begins.
extern THENCE_INTERNAL bool interposed;

} // namespace thence::progress
