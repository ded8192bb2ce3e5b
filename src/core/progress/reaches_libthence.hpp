// SPDX-License-Identifier: BSD-3-Clause
// Whether a call reaches libthence, from wherever its name leads: it is made once, and the interposed call says so
// where it is not on its fast path.
#pragma once

#include "core/base/visibility.hpp"

#include <atomic>

namespace thence::progress {

// Calls `make(function, arguments)`, which makes an interposed call. True if that reached libthence. One thread at a
// time.
THENCE_INTERNAL bool reaches_libthence(void (*make)(void *function, void *arguments), void *function,
                                       void *arguments) noexcept;

extern THENCE_INTERNAL std::atomic<bool> is_probing;
THENCE_INTERNAL void note_interposed() noexcept;

// Each interposed call, but those that no feature depends on, calls this where it is slow anyway.
inline void note_if_probing() noexcept {
    if (is_probing.load(std::memory_order_relaxed)) [[unlikely]] {
        note_interposed();
    }
}

} // namespace thence::progress
