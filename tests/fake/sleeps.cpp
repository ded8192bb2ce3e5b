// SPDX-License-Identifier: BSD-3-Clause
#include "sleeps.hpp"

#include <cerrno>
#include <time.h>

static thread_local unsigned long sleeps = 0;

unsigned long thence::fake::sleeps_here() noexcept {
    return sleeps;
}

extern "C" int nanosleep(const timespec *time, timespec *left) {
    ++sleeps;
    const int code = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = code == 0 ? errno : code;
    return code == 0 ? 0 : -1;
}
