// SPDX-License-Identifier: BSD-3-Clause
// The thread rests on a condition variable. Invariant: whoever raises `outstanding` reads `rests` afterwards; the
// thread sets `rests`, then reads `outstanding`. Both are sequentially consistent, so one of them sees the other. (A
// nap may miss an operation that starts just before: it then lasts as long as it would have.)
#include "poller.hpp"

#include "bridge.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <time.h>

#include <thence/backoff.h>
#include <thence/detail/start_thread.hpp>

namespace thence_python {
namespace {

std::atomic<std::int64_t> outstanding{0};
std::atomic<bool> rests{false};
std::atomic<bool> stops{false};
std::atomic<int> cancelling{0}; // threads that wait for `in_mpi`, which the thread must not take again before them
std::mutex in_mpi;              // held by the thread while it makes progress
std::mutex rest_mutex;
std::condition_variable wakes;
bool started = false; // an operation, since the thread began to nap; under the mutex
// Never destroyed: a process that exits without stopping it leaves it running.
std::thread &thread = *new std::thread;
bool runs = false;

constexpr std::int64_t milliseconds = 1000000;
// Programs that await one message after the other start the next soon. For this long the thread does not rest, since
// waking it takes longer than the message.
constexpr std::int64_t stays_awake = 2 * milliseconds;

// After so long without a completion the thread uses at most this share of a processor. A sleep costs 2 to 13
// microseconds of processor time, depending on the machine, and a poll a tenth of one. So the thread measures what a
// sleep costs it, and sleeps as long as the share needs.
constexpr std::int64_t waits_long = 20 * milliseconds;
constexpr std::int64_t one_in = 70;
constexpr std::int64_t longest_of_all = 2 * milliseconds;
constexpr int sleeps_measured = 32;

std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1000 * milliseconds + time.tv_nsec;
}

void rest() {
    std::unique_lock guard(rest_mutex);
    rests.store(true);
    wakes.wait(guard, [] { return outstanding.load() != 0 || stops.load(); });
    rests.store(false);
}

// A long sleep, which an operation that starts ends: its completion may come soon. Returns whether one has.
bool nap(std::int64_t time) {
    std::unique_lock guard(rest_mutex);
    started = false;
    rests.store(true);
    wakes.wait_for(guard, std::chrono::nanoseconds(time), [] { return started || stops.load(); });
    rests.store(false);
    return started;
}

class pauses {
public:
    explicit pauses(std::int64_t longest) : shortest_(longest) { backoff_.longest = longest; }

    void found() {
        thence_backoff_found(&backoff_);
        backoff_.longest = shortest_;
        since_ = now();
        sleeps_ = 0;
    }

    void pause() {
        const std::int64_t time = thence_backoff_next(&backoff_);
        if (time <= 0) {
            return;
        }
        if (time > shortest_) {
            if (nap(time)) {
                found();
                return;
            }
        } else {
            const timespec sleep{0, time};
            nanosleep(&sleep, nullptr);
        }
        if (now() - since_ > waits_long) {
            measure();
        }
    }

private:
    void measure() {
        if (sleeps_ == 0) {
            used_ = now(CLOCK_THREAD_CPUTIME_ID);
            backoff_.longest = resting_;
        } else if (sleeps_ == sleeps_measured) {
            const std::int64_t cost = (now(CLOCK_THREAD_CPUTIME_ID) - used_) / sleeps_measured;
            resting_ = std::clamp(cost * one_in, shortest_, std::max(shortest_, longest_of_all));
            sleeps_ = 0;
            return;
        }
        sleeps_++;
    }

    thence_backoff backoff_ = THENCE_BACKOFF_INIT;
    std::int64_t shortest_;               // the longest sleep while completions come
    std::int64_t resting_ = milliseconds; // the longest sleep after `waits_long`; measured
    std::int64_t since_ = now();          // of the last completion
    std::int64_t used_ = 0;               // processor time when the measurement began
    int sleeps_ = 0;                      // since then
};

void run(std::int64_t longest) {
    prctl(PR_SET_NAME, "thence-python");
    prctl(PR_SET_TIMERSLACK, 1UL);
    pauses between(longest);
    std::int64_t idle_since = 0; // 0: something is outstanding
    while (!stops.load()) {
        if (outstanding.load() == 0) {
            const std::int64_t time = now();
            if (idle_since == 0) {
                idle_since = time;
                between.found();
            } else if (time - idle_since > stays_awake) {
                rest();
                idle_since = 0;
                between.found();
            }
            between.pause();
            continue;
        }
        if (idle_since != 0) {
            idle_since = 0;
            between.found();
        }
        long ran = 0;
        if (cancelling.load() == 0) {
            const std::scoped_lock guard(in_mpi);
            if (thence_progress_some(&ran) != MPI_SUCCESS) {
                return; // MPI_Finalize was called behind our back
            }
        }
        if (ran > 0) {
            between.found();
        } else {
            between.pause();
        }
    }
}

} // namespace

void starts_one() {
    outstanding.fetch_add(1);
    if (rests.load()) {
        const std::scoped_lock guard(rest_mutex);
        started = true;
        wakes.notify_one();
    }
}

void completed_one() {
    outstanding.fetch_sub(1);
}

no_progress::no_progress() {
    cancelling.fetch_add(1);
    in_mpi.lock();
}

no_progress::~no_progress() {
    in_mpi.unlock();
    cancelling.fetch_sub(1);
}

bool test_until(bool (*test)(void *), void *data, std::int64_t longest) {
    const std::int64_t end = longest > 0 ? now() + longest : 0;
    do {
        // If the lock is not free, the thread makes progress at this moment.
        const std::unique_lock guard(in_mpi, std::try_to_lock);
        if (guard.owns_lock() && cancelling.load() == 0 && test(data)) {
            return true;
        }
    } while (longest > 0 && now() < end);
    return false;
}

} // namespace thence_python

int thence_python_start(std::int64_t longest) {
    using namespace thence_python;
    if (runs) {
        return 1;
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) {
        return 0;
    }
    stops = false;
    try {
        thread = thence::detail::start_thread([longest] { run(longest); });
    } catch (const std::system_error &) {
        return -1;
    }
    runs = true;
    return 1;
}

void thence_python_stop() {
    using namespace thence_python;
    if (!runs) {
        return;
    }
    {
        const std::scoped_lock guard(rest_mutex);
        stops = true;
        wakes.notify_one();
    }
    thread.join();
    runs = false;
}

std::int64_t thence_python_outstanding() {
    return thence_python::outstanding.load();
}
