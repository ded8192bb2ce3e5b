// SPDX-License-Identifier: BSD-3-Clause
// The only file that calls oneTBB: the threads of an arena, and stacks that are suspended and resumed.
#pragma once

#include <atomic>
#include <memory>

namespace thence::dataflow {

// A suspended stack. The object is on that stack.
struct suspended {
    void *point = nullptr;
    suspended *next = nullptr;                 // in a list of waiters
    class task_scheduler *scheduler = nullptr; // null: the first stack of its thread
    std::atomic<bool> resume_requested{false}; // resume() has been called
};

// What suspend_stack() calls once the stack is suspended, on another stack. It must have the stack resumed once, at
// once or later.
struct after_suspend {
    void (*call)(suspended &stack, void *data);
    void *data;
};

// Suspends the calling stack, inside an arena. The thread runs other work of the arena.
void suspend_stack(suspended &stack, const after_suspend &after);
// Resumes a stack on any thread of its arena, or on its own thread if it is the first one of that. The stack must not
// be accessed afterwards.
void resume_stack(suspended &stack);

class arena {
public:
    explicit arena(int workers);
    ~arena();
    arena &operator=(arena &&) = delete;

    // Has a worker call `work(data)`. @return false if there is no memory.
    bool call(void (*work)(void *) noexcept, void *data) noexcept;
    // Calls `work(data)` on this thread inside the arena. If the arena has no slot for this thread, a worker calls it,
    // and this thread sleeps meanwhile.
    void visit(void (*work)(void *), void *data);

private:
    struct implementation;
    std::unique_ptr<implementation> implementation_;
};

} // namespace thence::dataflow
