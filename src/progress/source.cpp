// SPDX-License-Identifier: BSD-3-Clause
#include "progress/source.hpp"

#include "progress/progress.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace thence::progress {
namespace {

std::mutex mutex; // guards adding and removing
// Filled from the front without gaps, so the first null ends the table. A thread that reads the table while a source is
// removed may find that source once more, or miss another one. So remove_source() wakes hook and helper, one of which
// may have gone to rest because it missed a source.
std::atomic<const source *> table[most_sources + 1]{};

template <class Visit> void for_each_source(Visit visit) noexcept {
    for (int i = 0;; ++i) {
        const source *s = table[i].load(std::memory_order_seq_cst);
        if (s == nullptr || !visit(*s)) {
            return;
        }
    }
}

} // namespace

bool add_source(const source &added) noexcept {
    const std::scoped_lock guard(mutex);
    for (int i = 0; i < most_sources; ++i) {
        if (table[i].load(std::memory_order_relaxed) == nullptr) {
            table[i].store(&added, std::memory_order_seq_cst);
            return true;
        }
    }
    return false;
}

void remove_source(const source &removed) noexcept {
    const std::scoped_lock guard(mutex);
    bool found = false;
    for (int i = 0; i < most_sources; ++i) {
        found = found || table[i].load(std::memory_order_relaxed) == &removed;
        if (found) {
            table[i].store(table[i + 1].load(std::memory_order_relaxed), std::memory_order_seq_cst);
        }
    }
    if (table[0].load(std::memory_order_relaxed) != nullptr) {
        wake();
    }
}

bool any_outstanding() noexcept {
    bool some = false;
    for_each_source([&](const source &s) {
        some = s.outstanding();
        return !some;
    });
    return some;
}

bool poll_sources(from where) noexcept {
    bool some = false;
    for_each_source([&](const source &s) {
        some = s.poll(where) || some;
        return true;
    });
    return some;
}

long run_sources(long limit, const source *except) noexcept {
    long ran = 0;
    for_each_source([&](const source &s) {
        if (&s != except) {
            ran += s.run(std::max(limit - ran, 1L));
        }
        return true;
    });
    return ran;
}

} // namespace thence::progress
