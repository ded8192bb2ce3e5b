// SPDX-License-Identifier: BSD-3-Clause
// The helper thread makes progress also when no application thread does. While nothing is outstanding it sleeps on a
// futex, so it never wakes an idle process. While something is outstanding it polls, and pauses after polls that find
// nothing (helper_pauses.hpp). Idle workers of a task runtime poll in its place, which needs no change of threads.
#include "core/progress/progress.hpp"

#include "core/base/processors.hpp"
#include "core/base/settings.hpp"
#include "core/base/short_slices.hpp"
#include "core/base/spin_lock.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/helper_log.hpp"
#include "core/progress/helper_pauses.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/source.hpp"
#include "core/progress/threads.hpp"

#include <thence/detail/start_thread.hpp>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <shared_mutex>
#include <sys/prctl.h>
#include <thread>
#include <time.h>

namespace thence::progress {

writer_first_mutex helper_in_progress;
thread_local constinit bool on_helper_thread = false;
constinit std::atomic<bool> nobody_polled{true};

namespace {

std::mutex mutex_; // guards starting and stopping
// Never destroyed: a process that exits without MPI_Finalize leaves it running.
std::thread &thread_ = *new std::thread;
std::atomic<bool> running_{false};
std::atomic<bool> stop_{false};
std::atomic<const char *> obstacle_{nullptr}; // the reason why there can be no helper
std::atomic<bool> refused_{false};            // the last attempt to start the thread has failed
std::atomic<unsigned> epoch_{0};              // the futex: changes with every wake
std::atomic<unsigned long long> wakeups_{0};
std::atomic<bool> has_ended_{true}; // the thread calls no function of a user any more

// Workers of task runtimes that do the helper's work now. Invariant: a worker counts itself, then reads `stop_`;
// helper_tear_down() sets `stop_`, then reads the count. Both are sequentially consistent, so one of them sees the
// other.
std::atomic<int> workers_inside_{0};
std::mutex worker_polls_;                      // one worker at a time: more would only wait for each other inside MPI
std::atomic<bool> idle_workers_helped_{false}; // since the helper last asked
std::atomic<long> polls_of_workers_{0};        // since the helper last asked

// A sleep that a worker can end.
std::mutex sleep_mutex_;
std::condition_variable &sleep_ends_ = *new std::condition_variable;
std::atomic<bool> sleeps_{false}; // becomes true under the mutex

void timed_sleep(nanoseconds time) noexcept {
    std::unique_lock guard(sleep_mutex_);
    sleeps_.store(true, std::memory_order_relaxed);
    sleep_ends_.wait_for(guard, std::chrono::nanoseconds(time),
                         [] { return !sleeps_.load(std::memory_order_relaxed); });
    sleeps_.store(false, std::memory_order_relaxed);
}

void end_sleep() noexcept {
    if (sleeps_.load(std::memory_order_relaxed)) {
        const std::scoped_lock guard(sleep_mutex_);
        sleeps_.store(false, std::memory_order_relaxed);
        sleep_ends_.notify_one();
    }
}

// @return whether it slept.
bool pause_for(nanoseconds time) noexcept {
    if (time > sleep_adjustment::longest) {
        timed_sleep(time);
    } else if (time > 0) {
        const timespec pause{0, time};
        nanosleep(&pause, nullptr);
    } else {
        base::cpu_relax();
    }
    return time > 0;
}

// After a poll that found nothing. @return whether it slept.
bool pause_after_miss(helper_pauses &pauses) noexcept {
    if (idle_workers_helped_.exchange(false, std::memory_order_relaxed)) {
        // They find the next completion sooner, and want the processor. They do not end this sleep.
        const timespec pause{0, pauses.beside_idle_workers()};
        nanosleep(&pause, nullptr);
        return true;
    }
    return pause_for(pauses.next(nobody_polled));
}

void rest() noexcept {
    const unsigned seen = epoch_.load(std::memory_order_seq_cst);
    awake.store(false, std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_seq_cst)) {
        return;
    }
    if (any_outstanding()) {
        wake(); // the hook may have gone to rest while `awake` was false
        return;
    }
    if (begin_helper_rest()) {
        epoch_.wait(seen, std::memory_order_seq_cst);
        wakeups_.fetch_add(1, std::memory_order_relaxed);
        end_helper_rest();
    }
}

// Polls and runs what is ready. Returns true if anything ran. `for_program`: only for plain operations of the program.
bool help(bool has_slept, bool for_program = false) noexcept {
    serve_started_streams(&stream_service::begin);
    {
        const std::shared_lock guard(helper_in_progress);
        if (for_program && helper_is_kept_out()) {
            return false;
        }
        if (has_slept) {
            catch_up_after_sleep();
        }
        serve_started_streams(&stream_service::poll);
        poll_sources(polled_from::outside);
    }
    return run_sources(LONG_MAX) != 0;
}

// The program computes, and nothing is known to be outstanding: only other ranks may want something, since it has
// windows, or it has started something that is not counted. @return whether it slept.
bool look_for_others(access_pauses &pauses, bool has_slept) noexcept {
    if (const nanoseconds left = pauses.left(); left > 0) {
        return pause_for(std::min(left, access_pauses::longest_sleep));
    }
    const nanoseconds begun = read_clock();
    const nanoseconds used = read_clock(CLOCK_THREAD_CPUTIME_ID);
    help(has_slept, true);
    log_help(begun);
    const nanoseconds worked = read_clock(CLOCK_THREAD_CPUTIME_ID) - used;
    const nanoseconds pause = pauses.next(worked, read_clock() - begun, has_slept);
    return pause_for(std::min(pause, access_pauses::longest_sleep));
}

// Nothing but operations of the program is outstanding, or may be soon. @return whether it slept.
bool help_program(const program_watch &program, helper_pauses &pauses, poll_lengths &lengths, access_pauses &for_others,
                  bool has_slept) noexcept {
    if (helper_is_kept_out()) {
        for_others.begin();
        return pause_for(pauses.small_share());
    }
    if (program.must_look() && !program.outstanding() && program.computes()) {
        return look_for_others(for_others, has_slept);
    }
    for_others.begin();
    if (!program.outstanding() || !program.computes()) {
        if (program.has_just_called()) {
            pauses.found(); // when it computes again, the pauses begin anew
        }
        return pause_for(pauses.next_look(program.may_compute(), counts_operations()));
    }
    pauses.program_needs_help();
    const nanoseconds begun = read_clock();
    const nanoseconds used = read_clock(CLOCK_THREAD_CPUTIME_ID);
    help(has_slept, true);
    log_help(begun);
    if (lengths.moved_data(read_clock(CLOCK_THREAD_CPUTIME_ID) - used, has_slept)) {
        pauses.moved_data();
    }
    return pause_for(pauses.next(nobody_polled, true));
}

// As THENCE_PROGRESS_CPU says.
void bind_this_thread() noexcept {
    const base::settings &chosen = base::current_settings();
    if (chosen.progress_cpus.empty()) {
        return;
    }
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int each : chosen.progress_cpus) {
        CPU_SET(each, &wanted);
    }
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted); error != 0) {
        std::fprintf(stderr, "thence: THENCE_PROGRESS_CPU=%s: the helper thread cannot be bound to it: %s\n",
                     chosen.state_of(base::setting::progress_cpu).in_force.c_str(), std::strerror(error));
    }
}

void run() noexcept {
    on_helper_thread = true;
    prctl(PR_SET_NAME, "thence-helper");
    bind_this_thread();
    prctl(PR_SET_TIMERSLACK, 1UL); // so that a sleep of a microsecond lasts about that long
    base::ask_for_short_slices();
    helper_pauses pauses;
    poll_lengths lengths;
    access_pauses for_others;
    program_watch program;
    bool has_slept = false;
    while (!stop_.load(std::memory_order_acquire)) {
        if (!any_outstanding()) {
            if (helps_program()) {
                program.look();
                if (!program.is_done()) {
                    has_slept = help_program(program, pauses, lengths, for_others, has_slept);
                    continue;
                }
            }
            pauses.found(); // before it rests, which is no time that it waits for something
            for_others.begin();
            rest();
            has_slept = true;
            continue;
        }
        for_others.begin(); // what this takes is not the cost of a look for others
        if (help(has_slept)) {
            pauses.found(polls_of_workers_.exchange(0, std::memory_order_relaxed));
            has_slept = false;
        } else {
            has_slept = pause_after_miss(pauses);
        }
    }
}

bool has_work() noexcept {
    return running_.load(std::memory_order_acquire) && any_outstanding();
}

// Returns false if another worker polls, or a thread cancels.
bool poll_on_worker(bool has_computed) noexcept {
    const std::unique_lock only_worker(worker_polls_, std::try_to_lock);
    std::shared_lock guard(helper_in_progress, std::defer_lock);
    if (!only_worker.owns_lock() || !guard.try_lock()) {
        return false;
    }
    const in_place_of_helper polling;
    if (has_computed) {
        catch_up_after_sleep();
    }
    poll_sources(polled_from::outside);
    polls_of_workers_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// A poll of the helper, on a worker. @return whether the helper still runs.
bool help_on_worker(bool has_computed) noexcept {
    workers_inside_.fetch_add(1, std::memory_order_seq_cst);
    const bool goes_on = !stop_.load(std::memory_order_seq_cst);
    if (goes_on && poll_on_worker(has_computed)) {
        run_sources(LONG_MAX);
    }
    workers_inside_.fetch_sub(1, std::memory_order_release);
    return goes_on;
}

} // namespace

idle_help help_while_idle() noexcept {
    if (!has_work()) {
        return idle_help::ended;
    }
    const bool may_last = base::processors_are_mostly_free(read_clock());
    idle_workers_helped_.store(true, std::memory_order_relaxed);
    if (!may_last) {
        end_sleep(); // of a millisecond, perhaps: the worker leaves before that
    }
    const bool goes_on = help_on_worker(false);
    return !goes_on ? idle_help::ended : may_last ? idle_help::may_last : idle_help::goes_on;
}

bool help_between_tasks() noexcept {
    if (!has_work()) {
        return false;
    }
    note_poll_of_application();
    return help_on_worker(true);
}

void helper_set_up(bool told_of_finalize) {
    std::scoped_lock guard(mutex_);
    refused_ = false;
    obstacle_ = !mpi::thread_multiple() ? "not possible: MPI was initialized without MPI_THREAD_MULTIPLE"
                : !told_of_finalize && mpi::finalize_forbids_other_threads()
                    ? "not possible: on this MPI it must leave MPI before MPI_Finalize begins, which only a program "
                      "linked with libthence (-lthence) tells it"
                    : nullptr;
}

bool require_helper() {
    std::scoped_lock guard(mutex_);
    if (running_.load(std::memory_order_relaxed)) {
        return true;
    }
    if (obstacle_.load() != nullptr) {
        return false;
    }
    stop_.store(false);
    // Before the thread can rest: a thread that attaches then must see that it has to wake the helper.
    running_.store(true, std::memory_order_seq_cst);
    try {
        has_ended_.store(false);
        thread_ = detail::start_thread([] {
            run();
            has_ended_.store(true);
            has_ended_.notify_all();
        });
        refused_ = false;
    } catch (const std::exception &) { // no thread, or no memory
        has_ended_.store(true);
        running_.store(false, std::memory_order_release);
        refused_ = true; // at the next CR a thread may be available again
        return false;
    }
    return true;
}

const char *helper_state() noexcept {
    const char *obstacle = obstacle_.load();
    return running_.load()       ? "running"
           : obstacle != nullptr ? obstacle
           : refused_.load()     ? "not started: the system has refused one more thread"
                                 : "not started";
}

bool helper_possible() noexcept {
    return running_.load() || obstacle_.load() == nullptr;
}

bool helper_running() noexcept {
    return running_.load(std::memory_order_acquire);
}

unsigned long long helper_wakeups() noexcept {
    return wakeups_.load(std::memory_order_relaxed);
}

std::int64_t helper_processor_time() noexcept {
    const std::scoped_lock guard(mutex_);
    clockid_t clock{};
    return running_.load() && pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? read_clock(clock) : 0;
}

void helper_wake() noexcept {
    if (helper_running()) {
        epoch_.fetch_add(1, std::memory_order_seq_cst);
        epoch_.notify_one();
    }
}

// Waits without the mutex for the callbacks that run on the helper and on workers: they may start it, or ask about it.
// It still counts as running then.
void helper_tear_down() noexcept {
    {
        const std::scoped_lock guard(mutex_);
        obstacle_ = "not possible: MPI_Finalize has been called";
        if (!running_.load(std::memory_order_relaxed)) {
            return;
        }
        stop_.store(true, std::memory_order_seq_cst);
        epoch_.fetch_add(1, std::memory_order_seq_cst);
        epoch_.notify_one();
    }
    if (!on_helper_thread) { // there, the join below ends the process
        has_ended_.wait(false);
    }
    for (base::spin_wait wait; workers_inside_.load(std::memory_order_seq_cst) != 0;) {
        wait();
    }
    const std::scoped_lock guard(mutex_);
    if (thread_.joinable()) {
        thread_.join();
    }
    running_.store(false, std::memory_order_release);
}

} // namespace thence::progress
