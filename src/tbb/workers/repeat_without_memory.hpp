// SPDX-License-Identifier: BSD-3-Clause
// What must succeed in the end, and fails only while there is no memory.
#pragma once

#include <thence/detail/atomic.hpp>

#include <new>

namespace thence::workers {

// Calls `action` until it does not throw std::bad_alloc, with pauses that leave the processor.
template <class Action> void repeat_without_memory(Action &&action) noexcept {
    for (detail::spin_wait wait;; wait()) {
        try {
            return action();
        } catch (const std::bad_alloc &) { // a pause, then once more
        }
    }
}

} // namespace thence::workers
