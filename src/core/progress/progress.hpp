// SPDX-License-Identifier: BSD-3-Clause
// The two that make progress besides calls of the application: MPI's own hook and the library's helper thread. Both
// rest while no source has anything outstanding. A task of a runtime may stand in for the helper: polling_task.hpp.
//
// Protocol of resting, for hook and helper: clear `awake`, then check whether anything is outstanding. A thread that
// makes something outstanding first registers it, then reads `awake`. Both sides are sequentially consistent, so at
// least one of them sees the other: hook and helper never both rest while something is outstanding. `awake` stands for
// both, so the thread that sets it wakes both. If there is neither hook nor helper, `awake` stays set from the first
// wake() on.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/writer_first_mutex.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace thence::progress {

// Called once, after MPI_Init. Chooses the hook. `interposed`: leave_before_finalize() will be called.
// MPICH's MPI_Finalize first waits for everything that MPIX_Async_start started, and would wait for ever for a hook
// that does not end. So without interposition that hook is not used. There is no helper thread then either, since it
// would be inside MPI when MPI ends.
void set_up(bool interposed);
// MPI_Finalize is about to begin, and delete callbacks of the user will be called in it. Where MPI requires that, hook
// and helper leave MPI for good. Then only calls of the program make progress.
void leave_before_finalize() noexcept;
// True from then on where MPI requires it: only the thread in MPI_Finalize may call MPI, from the delete callbacks.
bool other_threads_forbidden() noexcept;
// Removes hook and helper. Until the next set_up() neither starts again, whatever becomes outstanding: MPI is in
// MPI_Finalize or past it. Called there, and by tests.
void tear_down() noexcept;

// Starts the helper thread if it is not running. False if it cannot run: helper_state() says why.
bool require_helper();
// Returns `running`, `not started` (with the reason if the system has refused the thread), or `not possible: ` and the
// reason.
const char *helper_state() noexcept;
bool helper_possible() noexcept;
bool helper_running() noexcept;
unsigned long long helper_wakeups() noexcept;
// In nanoseconds; 0 if it does not run.
std::int64_t helper_processor_time() noexcept;

// True on the helper thread itself, and on a thread while it polls in its place.
extern thread_local constinit bool on_helper_thread;

// This thread polls in place of the helper while this exists. So MPI's progress runs no callback on it, which could
// want `helper_in_progress` again, for example to cancel.
class in_place_of_helper {
public:
    in_place_of_helper() noexcept : before_(std::exchange(on_helper_thread, true)) {}
    ~in_place_of_helper() { on_helper_thread = before_; }
    in_place_of_helper(const in_place_of_helper &) = delete;
    in_place_of_helper &operator=(const in_place_of_helper &) = delete;

private:
    const bool before_; // true: a callback of the helper itself does the work of an idle worker
};

// The helper, and who polls in its place, share it while they let MPI make progress. A thread that cancels has it
// alone. Open MPI (4.1, 5.0) may complete a receive twice, and crash, if one thread cancels a receive that another
// thread matches. The helper must not cause that in a program with one thread.
extern writer_first_mutex helper_in_progress;

// What an idle worker of a task runtime does in place of the helper, which pauses longer meanwhile. `ended`: there is
// nothing to wait for, or no helper: then other threads may not call MPI, or nobody wants it. `may_last`: no other
// thread waits for a processor, so one worker may go on as long as the helper would. No worker is in here when
// helper_tear_down() returns.
enum class idle_help { ended, goes_on, may_last };
idle_help help_while_idle() noexcept;
// The same, now and then between two tasks of a worker. To the helper this is a poll of the application: it may sleep
// meanwhile.
bool help_between_tasks() noexcept;

// A thread of the application polls: while it does so often, the helper pauses longer. False: known already.
extern THENCE_HIDDEN std::atomic<bool> nobody_polled;
inline void note_poll_of_application() noexcept {
    if (nobody_polled.load(std::memory_order_relaxed)) {
        nobody_polled.store(false, std::memory_order_relaxed);
    }
}

// The function of MPI that registers the hook, or `none`.
const char *hook_name() noexcept;
bool has_hook() noexcept;

// Between two tests of a call that waits: lets MPI make progress, where the tests do not, and runs a bounded number of
// callbacks.
void poll_and_run_some() noexcept;
// True if continuations run from the hook. MPICH holds a lock while it calls its hook, and a callback that made
// progress there would abort. So that hook only finds completions. Their continuations run outside MPI: in interposed
// calls and in the library's own.
bool hook_runs() noexcept;

// False while the hook is unregistered or the helper sleeps.
extern THENCE_HIDDEN std::atomic<bool> awake;
void wake() noexcept;

// Call it after something has become outstanding. It wakes hook and helper if they rest.
inline void engage() noexcept {
    if (!awake.load(std::memory_order_seq_cst)) [[unlikely]] {
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
