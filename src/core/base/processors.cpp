// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/processors.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace thence::base {

processors (*scripted_processors)() noexcept = nullptr;

namespace {

constexpr nanoseconds valid_for = 1'000'000;

std::atomic<nanoseconds> looked_at{0};
std::atomic<processors> seen{processors::unknown};

// The number of threads that are ready, this one included; 0: not known. The file has three averages, then this number
// and a slash. It is opened each time, since programs close descriptors that they do not know.
long ready_threads() noexcept {
    const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[64];
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = '\0';
    const char *at = text;
    for (int spaces = 0; spaces < 3 && *at != '\0'; ++at) {
        spaces += *at == ' ' ? 1 : 0;
    }
    return std::strtol(at, nullptr, 10);
}

processors look() noexcept {
    static const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const long ready = ready_threads();
    if (ready <= 0 || online <= 0) {
        return processors::unknown;
    }
    if (ready > online) {
        return processors::taken;
    }
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0) {
        return processors::unknown;
    }
    return ready <= CPU_COUNT(&own) ? processors::free : processors::unknown;
}

} // namespace

processors look_at_processors(nanoseconds time) noexcept {
    if (scripted_processors != nullptr) [[unlikely]] {
        return scripted_processors();
    }
    if (time - looked_at.load(std::memory_order_relaxed) >= valid_for) {
        looked_at.store(time, std::memory_order_relaxed);
        const int before = errno;
        seen.store(look(), std::memory_order_relaxed);
        errno = before;
    }
    return seen.load(std::memory_order_relaxed);
}

} // namespace thence::base
