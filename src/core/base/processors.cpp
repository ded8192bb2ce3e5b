// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/processors.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace thence::base {

std::atomic<bool (*)() noexcept> scripted_processors{nullptr};
std::atomic<bool (*)() noexcept> scripted_wait_for_processor{nullptr};

long processors() noexcept {
    static const long online = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    return online;
}

namespace {

constexpr nanoseconds valid_for = 1'000'000;
constexpr nanoseconds shortest_wait = 250'000;
constexpr nanoseconds looks_every = 20'000'000;

std::atomic<nanoseconds> looked_at{0};
std::atomic<unsigned> taken_at{0}; // a bit for each look, the last one is bit 0; 1: they were taken

// The number behind so many spaces in a file of the system; -1: there is none. The file is opened each time, since
// programs close descriptors that they do not know.
long long number_in(const char *path, int spaces) noexcept {
    const int before = errno;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    char text[96];
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    errno = before;
    text[length < 0 ? 0 : length] = '\0';
    const char *at = text;
    for (; spaces > 0 && *at != '\0'; ++at) {
        spaces -= *at == ' ' ? 1 : 0;
    }
    char *end = nullptr;
    const long long number = std::strtoll(at, &end, 10);
    return end == at ? -1 : number;
}

// How many threads are ready, this one included, stands behind three averages.
long long ready_threads() noexcept {
    return number_in("/proc/loadavg", 3);
}

// For how long this thread was ready without a processor stands behind its processor time. 0 where the system does not
// count it.
long long time_without_processor() noexcept {
    return number_in("/proc/thread-self/schedstat", 1);
}

bool look() noexcept {
    return ready_threads() > processors();
}

// The newest `looks` bits of taken_at. Two threads may look at once: then one of the two bits is lost.
unsigned last_looks(nanoseconds time, unsigned looks) noexcept {
    const unsigned all = (1U << looks) - 1;
    if (const auto scripted = scripted_processors.load(std::memory_order_relaxed); scripted != nullptr) [[unlikely]] {
        return scripted() ? all : 0;
    }
    if (time - looked_at.load(std::memory_order_relaxed) >= valid_for) {
        looked_at.store(time, std::memory_order_relaxed);
        taken_at.store(taken_at.load(std::memory_order_relaxed) << 1 | (look() ? 1U : 0U), std::memory_order_relaxed);
    }
    return taken_at.load(std::memory_order_relaxed) & all;
}

} // namespace

bool processors_are_taken(nanoseconds time) noexcept {
    return last_looks(time, 1) != 0;
}

bool processors_are_mostly_free(nanoseconds time) noexcept {
    constexpr unsigned looks = 4;
    return std::popcount(last_looks(time, looks)) <= static_cast<int>(looks / 2);
}

bool waits_for_processor::was_one(nanoseconds time) noexcept {
    if (const auto scripted = scripted_wait_for_processor.load(std::memory_order_relaxed); scripted != nullptr)
        [[unlikely]] {
        return scripted();
    }
    const nanoseconds without = time_without_processor();
    const nanoseconds waited = without - std::exchange(seen_, without);
    const nanoseconds passed = time - std::exchange(looked_, time);
    return without <= 0 || waited >= std::max(passed / 50, shortest_wait);
}

void waits_for_processor::look(nanoseconds time) noexcept {
    if (time - looked_ >= looks_every) {
        looked_ = time;
        seen_ = time_without_processor();
    }
}

} // namespace thence::base
