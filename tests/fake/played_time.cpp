// SPDX-License-Identifier: BSD-3-Clause
#include "played_time.hpp"
#include "sleeps.hpp"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace {

using namespace thence::fake;
using thence::base::nanoseconds;

constinit std::atomic<played_time *> playing{nullptr};
constinit std::atomic<pid_t> its_thread{0};

played_time *played_here() noexcept {
    played_time *const found = playing.load();
    return found != nullptr && its_thread.load() == static_cast<pid_t>(syscall(SYS_gettid)) ? found : nullptr;
}

} // namespace

namespace thence::fake {

// What was stored of the real clock, such as when a call may yield again, lies behind.
played_time::played_time() : now_(base::read_clock() + 1'000'000'000) {
    its_thread = static_cast<pid_t>(syscall(SYS_gettid));
    playing = this;
    sleep_in_place = [](nanoseconds time) {
        played_time *const here = played_here();
        if (here != nullptr) {
            here->sleep(time);
        }
        return here != nullptr;
    };
}

played_time::~played_time() {
    sleep_in_place = nullptr;
    playing = nullptr;
}

void played_time::after(nanoseconds time, std::function<void()> what) {
    due_ = now_ + time;
    what_ = std::move(what);
}

void played_time::yield() {
    ++yields;
    pass(of_a_yield);
}

void played_time::sleep(nanoseconds time) {
    ++sleeps;
    longest_sleep = std::max(longest_sleep, time);
    pass(time + sleeps_longer);
}

void played_time::pass(nanoseconds time) {
    now_ += time;
    if (what_ && now_ >= due_) {
        std::exchange(what_, nullptr)();
    }
}

} // namespace thence::fake

extern "C" int clock_gettime(clockid_t clock, timespec *time) {
    played_time *const here = clock == CLOCK_MONOTONIC ? played_here() : nullptr;
    if (here == nullptr) {
        return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    }
    here->look();
    time->tv_sec = here->now() / 1'000'000'000;
    time->tv_nsec = here->now() % 1'000'000'000;
    return 0;
}

extern "C" int sched_yield() {
    played_time *const here = played_here();
    if (here == nullptr) {
        return static_cast<int>(syscall(SYS_sched_yield));
    }
    here->yield();
    return 0;
}
