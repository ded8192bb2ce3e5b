// SPDX-License-Identifier: BSD-3-Clause
// The helper thread: makes progress when no application thread does. It sleeps on a futex while nothing is outstanding,
// so an idle process is never woken; while something is, it backs off from spinning to short sleeps and returns to
// spinning as soon as it finds anything.
#include "progress/progress.hpp"

#include "mpi/calls.hpp"
#include "mpi/implementation.hpp"

#include <chrono>
#include <mutex>
#include <sched.h>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <time.h>

namespace thence::progress {

std::mutex helper_in_progress;

namespace {

std::mutex mutex_; // guards starting and stopping
// Never destroyed: a process that exits without MPI_Finalize leaves it running.
std::thread &thread_ = *new std::thread;
std::atomic<bool> running_{false};
std::atomic<bool> stop_{false};
std::atomic<const char *> obstacle_{nullptr}; // why there can be no helper
std::atomic<unsigned> epoch_{0};              // the futex: changes with every wake
std::atomic<unsigned long long> wakeups_{0};

// How long to keep away from MPI after `misses` polls without a find.
class back_off {
public:
    void found() noexcept { misses_ = 0; }
    void missed() noexcept {
        ++misses_;
        if (misses_ < spins) {
            return;
        }
        if (misses_ < spins + yields) {
            sched_yield();
            return;
        }
        const timespec pause{0, misses_ < spins + yields + short_sleeps ? short_sleep_ns : long_sleep_ns};
        nanosleep(&pause, nullptr);
    }

private:
    static constexpr unsigned spins = 200;
    static constexpr unsigned yields = 50;
    static constexpr unsigned short_sleeps = 200000; // about a second of them
    static constexpr long short_sleep_ns = 1000;
    static constexpr long long_sleep_ns = 50000;
    unsigned misses_ = 0;
};

void rest() noexcept {
    const unsigned seen = epoch_.load(std::memory_order_seq_cst);
    ready.store(false, std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_seq_cst)) {
        return;
    }
    if (current_duties().outstanding()) {
        wake(); // the hook may have gone to rest before us, and then `ready` said so
        return;
    }
    epoch_.wait(seen, std::memory_order_seq_cst);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
}

void run() noexcept {
    prctl(PR_SET_NAME, "thence-helper");
    prctl(PR_SET_TIMERSLACK, 1UL); // sleeps of a microsecond that last about that
    back_off pause;
    while (!stop_.load(std::memory_order_acquire)) {
        if (!current_duties().outstanding()) {
            rest();
            pause.found();
        } else if (current_duties().help()) {
            pause.found();
        } else {
            pause.missed();
        }
    }
}

} // namespace

void helper_set_up(bool told_first) {
    std::scoped_lock guard(mutex_);
    obstacle_ = !mpi::thread_multiple() ? "not possible: MPI was initialized without MPI_THREAD_MULTIPLE"
                : !told_first && mpi::finalizes_alone()
                    ? "not possible: on this MPI it needs libthence, to leave MPI before MPI_Finalize begins"
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
    running_.store(true, std::memory_order_seq_cst); // before it can rest: who attaches then must see whom to wake
    try {
        thread_ = std::thread(&run);
    } catch (const std::system_error &) {
        running_.store(false, std::memory_order_release);
        return false;
    }
    return true;
}

const char *helper_state() noexcept {
    const char *obstacle = obstacle_.load();
    return running_.load() ? "running" : obstacle != nullptr ? obstacle : "not started";
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
    if (!running_.load(std::memory_order_relaxed)) {
        return;
    }
    stop_.store(true, std::memory_order_seq_cst);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.notify_one();
    thread_.join();
    running_.store(false, std::memory_order_release);
}

} // namespace thence::progress
