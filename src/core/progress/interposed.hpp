// SPDX-License-Identifier: BSD-3-Clause
// State that interposed calls (src/interpose/waiting, src/interpose/calls) read: whether a call with MPI's own requests
// must do more than call MPI's own function. All reasons are bits of one word, so a call without any reason reads one
// word.
#pragma once

#include "core/base/visibility.hpp"

#include <atomic>
#include <cstdint>

namespace thence::progress {

// The reasons why an interposed call leaves its fast path. If zero, it only calls MPI's own function. All reasons are
// bits above those of an address. So one comparison of a pointer with this word also finds null pointers, which saves
// two instructions per call.
extern THENCE_INTERNAL std::atomic<std::uint64_t> slow_path_reasons;
// Bits 49 to 57 count the threads that run callbacks, where threads that wait in MPI rely on each other (see
// mpi/calls.hpp). There a call that blocks in MPI inside a callback could keep the MPI call below it on the stack from
// returning.
inline constexpr std::uint64_t callback_runs = std::uint64_t{1} << 49;
// Streams are checked (mpix/streams/serial_check.hpp): calls say on which stream they are. own_communicators is set,
// too.
inline constexpr std::uint64_t streams_checked = std::uint64_t{1} << 58;
// A generalized request with a poll function is not complete, or has failed: MPI_Test and MPI_Wait on it call that
// function first.
inline constexpr std::uint64_t polled_grequests = std::uint64_t{1} << 59;
// A generalized request with a wait function is not complete, or has failed: calls that block on it call that function.
inline constexpr std::uint64_t waited_grequests = std::uint64_t{1} << 60;
// A persistent request has had a continuation: its user's calls and our polls must not both complete it.
inline constexpr std::uint64_t persistent_attached = std::uint64_t{1} << 62;
// The same, if requests do not tell whether they are persistent.
inline constexpr std::uint64_t persistent_hidden = std::uint64_t{1} << 61;
// A thread communicator exists (mpix/threadcomm/communicator.hpp), or a stream with a queue (mpix/streams/stream.hpp),
// or streams are checked: calls with a communicator ask what it is. Set by add_own_communicators(). It is the sign of
// the word, which one instruction tests: that is all that nonblocking calls of other programs do.
inline constexpr std::uint64_t own_communicators = std::uint64_t{1} << 63;
// A way to wait was added (interpose/waiting/wait_strategy.hpp), or blocking calls in tasks block the task
// (tasks/blocking_calls.hpp): blocking calls ask whether it applies. Set by add_way_to_wait().
inline constexpr std::uint64_t way_to_wait_added = std::uint64_t{1} << 47;
// No hook of this MPI runs callbacks: a call that blocks must poll and run them itself.
inline constexpr std::uint64_t no_hook_runs = std::uint64_t{1} << 48;

// What slow_path_reasons is while calls of the program are counted for the helper thread (plain_operations.hpp), and
// nothing else is to be done in them. Else a value that it never has.
extern THENCE_INTERNAL std::atomic<std::uint64_t> reasons_to_count;
inline bool calls_only_count() noexcept {
    return slow_path_reasons.load(std::memory_order_relaxed) == reasons_to_count.load(std::memory_order_relaxed);
}
// Whether counting asks for nothing else. Any thread may call it.
THENCE_INTERNAL void allow_only_to_count(bool allowed) noexcept;

// Set own_communicators from the first call of add to the last of remove.
void add_own_communicators() noexcept;
void remove_own_communicators() noexcept;

// The same for way_to_wait_added.
void add_way_to_wait() noexcept;
void remove_way_to_wait() noexcept;

// Whether MPI's calls come to libthence first.
struct interposition {
    bool calls;                        // those on requests, and blocking ones
    bool communicators;                // these and all others with a communicator
    bool finalize;                     // MPI_Finalize: then we are called before it begins
    const char *why_not;               // null if `calls` is true; else what to do
    const char *communicators_why_not; // the same for `communicators`
    const char *fortran;               // whether calls of Fortran come to libthence, and if not, why
};
// Set when libthence is loaded; null without it.
extern THENCE_INTERNAL interposition (*look_where_calls_lead)() noexcept;
// With the first use of the library asks it, once. If it is loaded and MPI's calls do not come to it, says so on
// stderr.
void find_interposition() noexcept;
// What was found.
extern interposition interposed;

} // namespace thence::progress
