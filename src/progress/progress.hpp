// SPDX-License-Identifier: BSD-3-Clause
// Who makes progress when: the MPI's own hook, and the library's helper thread. Both rest while nothing is outstanding.
//
// Protocol of resting (hook and helper alike): clear `ready`, then look whether anything is outstanding; attaching
// registers first, then looks at `ready`. Both are sequentially consistent, so at least one of the two sides sees the
// other: nothing is ever outstanding with everyone at rest. `ready` speaks for both, so whoever sets it wakes both.
// Where there is neither, nobody rests, and `ready` says since the first continuation that something may be attached.
#pragma once

#include "base/visibility.hpp"

#include <atomic>
#include <mutex>

namespace thence::progress {

struct duties {
    int (*on_progress)();  // Open MPI's hook: finds completions and runs what may run; returns how many ran
    void (*find)();        // MPICH's hook: only finds completions
    bool (*help)();        // run by the helper thread: lets MPI progress, runs what it may; true if it found anything
    bool (*outstanding)(); // is anything registered?
};

// Called once, MPI being initialized. Chooses the hook. `told_first`: tear_down() will be called before MPI_Finalize
// begins. MPICH's first waits for what MPIX_Async_start started, and would wait for ever for a hook that nobody told:
// so without this that hook is not used; nor is there a helper thread, which would be in MPI when it ends.
void set_up(const duties &what, bool told_first);
// Removes hook and helper. Called at MPI_Finalize, and by tests.
void tear_down() noexcept;

// Starts the helper thread if it is not running. False if it cannot run: helper_state() says why.
bool require_helper();
// `running`, `not started`, or `not possible: ` and why.
const char *helper_state() noexcept;
bool helper_running() noexcept;
unsigned long long helper_wakeups() noexcept;

// Held by the helper while it lets MPI progress, and by who cancels. Open MPI (4.1, 5.0) may complete a receive twice,
// and crash, if one thread cancels what another matches: a program with one thread must not meet that because of ours.
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

// After registering a continuation: makes sure that somebody looks.
inline void engage() noexcept {
    if (!ready.load(std::memory_order_seq_cst)) [[unlikely]] {
        wake();
    }
}

// How often the hook found nothing on this thread. Every poll of MPI's calls the hook, so this is short, and no cache
// line is shared for it.
extern thread_local constinit unsigned idle_calls;
inline constexpr unsigned rest_after = 1024;
void hook_may_rest() noexcept;

// From the hook, when it found nothing to do: after a while with nothing outstanding it unregisters itself.
inline void hook_found_nothing() noexcept {
    if (++idle_calls % rest_after == 0) [[unlikely]] {
        hook_may_rest();
    }
}

// Internal to this folder.
const duties &current_duties() noexcept;
void hook_set_up(bool told_first);
void hook_tear_down() noexcept;
void helper_set_up(bool told_first);
void hook_arm() noexcept;
void helper_tear_down() noexcept;
void helper_wake() noexcept;

} // namespace thence::progress
