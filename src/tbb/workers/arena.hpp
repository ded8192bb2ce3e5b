// SPDX-License-Identifier: BSD-3-Clause
// The threads of an arena of oneTBB, and stacks that are suspended and resumed on them. This header does not include
// oneTBB: the libraries' own sources above it are checked with the thread sanitizer, and oneTBB is not.
#pragma once

#include <atomic>
#include <memory>

namespace thence::workers {

// A suspended stack. The object is on that stack.
struct suspended {
    void *point = nullptr;
    suspended *next = nullptr;                 // in a list of waiters
    std::atomic<int> *resuming = nullptr;      // how many are to be resumed and do not run yet, of all stacks that
                                               // count here; null: the first stack of its thread
    std::atomic<bool> resume_requested{false}; // resume() has been called
};

// What suspend_stack() calls just before the thread leaves the stack. It must have the stack resumed once, at once or
// later; oneTBB waits until the thread has left it.
struct after_suspend {
    void (*call)(suspended &stack, void *data);
    void *data;
};

// Suspends the calling stack, inside an arena. The thread runs other work of the arena.
void suspend_stack(suspended &stack, const after_suspend &after);
// Resumes a stack on any thread of its arena, or on its own thread if it is the first one of that. The stack must not
// be accessed afterwards.
void resume_stack(suspended &stack);
inline void resume(suspended &stack) noexcept {
    if (stack.resuming != nullptr) {
        stack.resuming->fetch_add(1, std::memory_order_relaxed);
    }
    stack.resume_requested.store(true, std::memory_order_release);
    resume_stack(stack);
}

// Suspends the stack of a worker and resumes it: its thread runs other work of the arena first.
void yield();

class arena {
public:
    // With arena_implementation.hpp: what oneTBB has of it.
    struct implementation;

    // `workers` of them run at a time, also if the machine has fewer processors, or other arenas have workers, beside
    // up to 8 threads of visit().
    explicit arena(int workers);
    explicit arena(std::unique_ptr<implementation> made) noexcept;
    ~arena();
    arena &operator=(arena &&) = delete;
    implementation &inside() noexcept { return *implementation_; }

    // Has a worker call `work(data)`. While there is no memory for that, this thread waits: nobody else would call
    // again.
    void call(void (*work)(void *) noexcept, void *data) noexcept;
    // Calls `work(data)` on this thread inside the arena. If the arena has no slot for this thread, a worker calls it,
    // and this thread sleeps meanwhile.
    void visit(void (*work)(void *), void *data);
    // On a thread that is in no arena: does what was passed to call() as a worker would, until oneTBB has nothing more
    // to do, or at least for a moment.
    void help();

private:
    // Workers that oneTBB must have threads for.
    class counted_workers {
    public:
        explicit counted_workers(int count);
        ~counted_workers();
        counted_workers &operator=(counted_workers &&) = delete;

    private:
        const int count_;
    };
    counted_workers workers_;
    std::unique_ptr<implementation> implementation_;
};

} // namespace thence::workers
