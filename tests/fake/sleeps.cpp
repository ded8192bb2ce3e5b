// SPDX-License-Identifier: BSD-3-Clause
#include "sleeps.hpp"

#include <cerrno>
#include <time.h>

static thread_local unsigned long sleeps = 0;

bool (*thence::fake::sleep_in_place)(std::int64_t time) = nullptr;

unsigned long thence::fake::sleeps_here() noexcept {
    return sleeps;
}

extern "C" int nanosleep(const timespec *time, timespec *left) {
    ++sleeps;
    const auto in_place = thence::fake::sleep_in_place;
    if (in_place != nullptr && in_place(std::int64_t{time->tv_sec} * 1'000'000'000 + time->tv_nsec)) {
        return 0;
    }
    const int code = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = code == 0 ? errno : code;
    return code == 0 ? 0 : -1;
}
