// SPDX-License-Identifier: BSD-3-Clause
// Who makes progress when: MPI's own hook and the library's helper thread. Both rest while no source has anything
// outstanding.
//
// Protocol of resting, for hook and helper alike: clear `ready`, then ask whether anything is outstanding. Whoever
// makes something outstanding first registers it, then looks at `ready`. Both sides are sequentially consistent, so at
// least one of them sees the other: nothing is ever outstanding while everyone rests. `ready` speaks for hook and
// helper, so whoever sets it wakes both. Where there is neither, nobody rests, and `ready` stays set from the first
// wake() on.
#pragma once

#include "base/visibility.hpp"

#include <atomic>
#include <mutex>

namespace thence::progress {

// Called once, MPI being initialized. Chooses the hook. `interposed`: tear_down() will be called before MPI_Finalize
// begins. MPICH's MPI_Finalize first waits for what MPIX_Async_start started, and would wait for ever for a hook that
// was not told to end. So without interposition that hook is not used, and there is no helper thread, which would be
// inside MPI when MPI ends.
void set_up(bool interposed);
// Removes hook and helper. Called at MPI_Finalize, and by tests.
void tear_down() noexcept;

// Starts the helper thread if it is not running. False if it cannot run: helper_state() says why.
bool require_helper();
// `running`, `not started`, or `not possible: ` and why.
const char *helper_state() noexcept;
bool helper_running() noexcept;
unsigned long long helper_wakeups() noexcept;

// True on the helper thread itself.
extern thread_local constinit bool on_helper_thread;

// Held by the helper while it lets MPI progress, and by whoever cancels. Open MPI (4.1, 5.0) may complete a receive
// twice, and crash, if one thread cancels what another matches. A program with one thread must not meet that because of
// the helper.
extern std::mutex helper_in_progress;

// `opal_progress_register`, `MPIX_Async_start` or `none`.
const char *hook_name() noexcept;
bool has_hook() noexcept;
// True if continuations run from the hook. MPICH holds a lock while it calls us, and a callback that makes progress
// there would abort: its hook only finds completions, and they run where MPI is left: in interposed calls and in our
// own.
bool hook_runs() noexcept;

// False while the hook is unregistered or the helper sleeps.
extern THENCE_HIDDEN std::atomic<bool> ready;
void wake() noexcept;

// After making something outstanding: makes sure that somebody looks.
inline void engage() noexcept {
    if (!ready.load(std::memory_order_seq_cst)) [[unlikely]] {
        wake();
    }
}

// Internal to this folder.
void hook_set_up(bool interposed);
void hook_tear_down() noexcept;
void helper_set_up(bool interposed);
void hook_arm() noexcept;
void helper_tear_down() noexcept;
void helper_wake() noexcept;

} // namespace thence::progress
