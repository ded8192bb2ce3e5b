// SPDX-License-Identifier: BSD-3-Clause
// Where oneTBB is called: threads of an arena, and stacks that are suspended and resumed.
#pragma once

#include <atomic>
#include <memory>

namespace thence::dataflow {

// A suspended stack. It lies on that stack.
struct suspended {
    void *point = nullptr;
    suspended *next = nullptr;         // in a list of waiters
    class crew *of = nullptr;          // null: the stack is the first one of its thread
    std::atomic<bool> recalled{false}; // resume() has been called
};

// Arranges that the suspended stack is resumed once, perhaps at once. Called on another stack.
struct arrangement {
    void (*arrange)(suspended &stack, void *data);
    void *data;
};

// Suspends the calling stack, inside an arena. The thread goes on with other work of its arena.
void suspend_stack(suspended &stack, const arrangement &resumed_by);
// Resumes a stack, on any thread of its arena, or on its own thread if it is the first one of that. The last access to it.
void resume_stack(suspended &stack);

class arena {
public:
    explicit arena(int workers);
    ~arena();
    arena(const arena &) = delete;
    arena &operator=(const arena &) = delete;

    // A worker will call `work(data)`. @return false if there is no memory.
    bool call(void (*work)(void *) noexcept, void *data) noexcept;
    // Calls `work(data)` on this thread, as one of the arena's, or on a worker while this thread sleeps.
    void visit(void (*work)(void *), void *data);

private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

} // namespace thence::dataflow
