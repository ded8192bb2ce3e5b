// SPDX-License-Identifier: BSD-3-Clause
// Whether a call comes to libthence, from wherever its name leads: it is made once, and the interposed call says so
// where it is not on its fast path.
#pragma once

#include "core/base/visibility.hpp"

#include <atomic>

namespace thence::progress {

// Calls `make(function, arguments)`, which makes an interposed call. True if that came to us. One thread at a time.
THENCE_INTERNAL bool comes_to_us(void (*make)(void *function, void *arguments), void *function,
                                 void *arguments) noexcept;

extern THENCE_INTERNAL std::atomic<bool> asks_who_comes;
THENCE_INTERNAL void note_that_it_came() noexcept;

// Each interposed call, but those that no feature depends on, calls this where it is slow anyway.
inline void has_come() noexcept {
    if (asks_who_comes.load(std::memory_order_relaxed)) [[unlikely]] {
        note_that_it_came();
    }
}

} // namespace thence::progress
