// SPDX-License-Identifier: BSD-3-Clause
// Memory is exhausted, on this thread, for the allocation functions that return null. A program that uses it also has
// scarce_memory.cpp, which replaces them.
#pragma once

namespace thence::fake {

struct scarcity {
    scarcity() noexcept;
    ~scarcity();
    scarcity(const scarcity &) = delete;
    scarcity &operator=(const scarcity &) = delete;
};

// The same on all threads.
struct scarcity_everywhere {
    scarcity_everywhere() noexcept;
    ~scarcity_everywhere();
    scarcity_everywhere(const scarcity_everywhere &) = delete;
    scarcity_everywhere &operator=(const scarcity_everywhere &) = delete;
};

} // namespace thence::fake
