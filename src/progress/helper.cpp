// SPDX-License-Identifier: BSD-3-Clause
// The helper thread makes progress also when no application thread does. While nothing is outstanding it sleeps on a
// futex, so it never wakes an idle process. While something is outstanding it polls, and
// pauses after polls that find nothing (backoff.hpp). After a poll that ran something it spins again. Idle workers of a
// task runtime poll in its place, which needs no change of threads.
#include "progress/progress.hpp"

#include "mpi/calls.hpp"
#include "mpi/implementation.hpp"
#include "progress/backoff.hpp"
#include "progress/catch_up.hpp"
#include "progress/clock.hpp"
#include "progress/source.hpp"

#include <algorithm>
#include <climits>
#include <mutex>
#include <sched.h>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <time.h>

namespace thence::progress {

std::mutex helper_in_progress;
thread_local constinit bool on_helper_thread = false;

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

// Workers of task runtimes that do the helper's work now. Invariant: a worker counts itself, then reads `stop_`;
// helper_tear_down() sets `stop_`, then reads the count. Both are sequentially consistent, so one of them sees the other.
std::atomic<int> workers_inside_{0};
std::atomic<bool> workers_helped_{false}; // since the helper last asked

// Adjusts the length of sleeps such that the helper uses a little less than half of a processor. The processor time of
// one sleep differs between machines by more than a factor of ten, so it is measured.
//
// To spin between the sleeps would not help. Let P be a period in which the helper spins for the time S and sleeps
// once, and C the processor time of that sleep and of the poll after it. Half of a processor means S + C = P / 2. A
// message that arrives during the spin is found at once. One that arrives later waits for the end of the period. So
// half of the messages wait for P / 2 - S = C at most: the median delay is C for every S. The mean delay is
// (P - S)^2 / 2P. It is least for S = 0, where it is C too.
//
// So if C is more than the latency of a blocked MPI_Wait, a helper that uses half of a processor has more than twice
// that latency.
class pace {
public:
    // Called before the first sleep of a series.
    void begin() noexcept { sleeps_ = 0; }
    nanoseconds next() noexcept {
        if (sleeps_ % window == 0) {
            const nanoseconds used = read_clock(CLOCK_THREAD_CPUTIME_ID);
            const nanoseconds now = read_clock(CLOCK_MONOTONIC);
            if (sleeps_ != 0) {
                const nanoseconds wanted = (used - used_) * 100 / target_percent;
                sleep_ = std::clamp(sleep_ + (wanted - (now - begun_)) / window / 2, shortest, longest);
            }
            used_ = used;
            begun_ = now;
        }
        ++sleeps_;
        return sleep_;
    }

    static constexpr nanoseconds shortest = 1000;
    static constexpr nanoseconds longest = 50000;

private:
    static constexpr nanoseconds window = 32;
    static constexpr nanoseconds target_percent = 46; // of one processor

    nanoseconds sleep_ = shortest;
    nanoseconds sleeps_ = 0;
    nanoseconds used_ = 0;
    nanoseconds begun_ = 0;
};

// The pauses of backoff.hpp with another bound for sleeps: for 25 ms it is the shortest sleep, then that of `pace`, and
// after ten seconds the longest sleep. It is the longest at once if other threads want this processor: then the time until
// this thread runs again does not depend on its sleep, and each sleep would take processor time from them.
class back_off {
public:
    void found() noexcept {
        progress::found(backoff_);
        sleeps_ = false;
    }
    // Pauses. @return whether it slept.
    bool missed() noexcept {
        if (workers_helped_.exchange(false, std::memory_order_relaxed)) {
            pause_for(pace::longest); // they find the next completion sooner, and want the processor
            return true;
        }
        const nanoseconds sleep = next_pause(backoff_);
        if (sleep == 0) {
            sched_yield();
        }
        if (sleep <= 0) {
            return false;
        }
        if (!sleeps_) {
            sleeps_ = true;
            pace_.begin();
        }
        const nanoseconds waited = read_clock(CLOCK_MONOTONIC) - backoff_.since;
        const nanoseconds bound = backoff_.shared != 0      ? pace::longest
                                  : waited < shortest_until ? pace::shortest
                                  : waited < adjusted_until ? pace_.next()
                                                            : pace::longest;
        pause_for(std::min(sleep, bound));
        return true;
    }

private:
    static void pause_for(nanoseconds time) noexcept {
        const timespec pause{0, time};
        nanosleep(&pause, nullptr);
    }

    static constexpr nanoseconds shortest_until = 25000000;    // 25 ms
    static constexpr nanoseconds adjusted_until = 10000000000; // 10 s

    thence_backoff backoff_ = backoff_with(pace::longest, 200);
    bool sleeps_ = false;
    pace pace_;
};

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
    epoch_.wait(seen, std::memory_order_seq_cst);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
}

// Polls and runs what is ready. Returns true if anything ran.
bool help(bool has_slept) noexcept {
    {
        const std::scoped_lock guard(helper_in_progress);
        if (has_slept) {
            catch_up_after_sleep();
        }
        poll_sources(from::outside);
    }
    return run_sources(LONG_MAX) != 0;
}

void run() noexcept {
    on_helper_thread = true;
    prctl(PR_SET_NAME, "thence-helper");
    prctl(PR_SET_TIMERSLACK, 1UL); // so that a sleep of a microsecond lasts about that long
    back_off pause;
    bool has_slept = false;
    while (!stop_.load(std::memory_order_acquire)) {
        if (!any_outstanding()) {
            pause.found(); // before it rests, which is no time that it waits for something
            rest();
            has_slept = true;
        } else if (help(has_slept)) {
            pause.found();
            has_slept = false;
        } else {
            has_slept = pause.missed();
        }
    }
}

} // namespace

bool help_while_idle() noexcept {
    if (!running_.load(std::memory_order_acquire) || !any_outstanding()) {
        return false;
    }
    workers_inside_.fetch_add(1, std::memory_order_seq_cst);
    const bool goes_on = !stop_.load(std::memory_order_seq_cst);
    if (std::unique_lock guard(helper_in_progress, std::defer_lock); goes_on && guard.try_lock()) {
        poll_sources(from::outside);
        guard.unlock();
        workers_helped_.store(true, std::memory_order_relaxed);
        run_sources(LONG_MAX);
    }
    workers_inside_.fetch_sub(1, std::memory_order_release);
    return goes_on;
}

void helper_set_up(bool interposed) {
    std::scoped_lock guard(mutex_);
    refused_ = false;
    obstacle_ = !mpi::thread_multiple() ? "not possible: MPI was initialized without MPI_THREAD_MULTIPLE"
                : !interposed && mpi::finalize_forbids_other_threads()
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
        thread_ = std::thread(&run);
        refused_ = false;
    } catch (const std::system_error &) {
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

void helper_wake() noexcept {
    if (helper_running()) {
        epoch_.fetch_add(1, std::memory_order_seq_cst);
        epoch_.notify_one();
    }
}

void helper_tear_down() noexcept {
    std::scoped_lock guard(mutex_);
    obstacle_ = "not possible: MPI_Finalize has been called";
    if (!running_.load(std::memory_order_relaxed)) {
        return;
    }
    stop_.store(true, std::memory_order_seq_cst);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.notify_one();
    thread_.join();
    while (workers_inside_.load(std::memory_order_seq_cst) != 0) {
        sched_yield();
    }
    running_.store(false, std::memory_order_release);
}

} // namespace thence::progress
