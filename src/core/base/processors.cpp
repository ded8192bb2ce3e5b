// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/processors.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace thence::base {

bool (*scripted_processors)() noexcept = nullptr;

namespace {

constexpr nanoseconds valid_for = 1'000'000;

std::atomic<nanoseconds> looked_at{0};
std::atomic<bool> are_taken{false};

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

bool look() noexcept {
    static const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && ready_threads() > online;
}

} // namespace

bool processors_are_taken(nanoseconds time) noexcept {
    if (scripted_processors != nullptr) [[unlikely]] {
        return scripted_processors();
    }
    if (time - looked_at.load(std::memory_order_relaxed) >= valid_for) {
        looked_at.store(time, std::memory_order_relaxed);
        const int before = errno;
        are_taken.store(look(), std::memory_order_relaxed);
        errno = before;
    }
    return are_taken.load(std::memory_order_relaxed);
}

} // namespace thence::base
