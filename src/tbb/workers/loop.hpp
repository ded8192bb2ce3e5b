// SPDX-License-Identifier: BSD-3-Clause
// The loop in which threads run the tasks of a queue. Pools and the data-flow layer derive their queues from it.
//
// A *runner* is a thread in the loop: it searches for a task, runs it, and searches again. A *worker* is a runner that
// the queue has called. One task of oneTBB is a worker, and it runs many tasks of the queue, so that not each of them
// costs one of oneTBB. It leaves when there is nothing to do.
//
// Invariants, under the lock:
//  - While a task is ready, a runner that may take it searches, or a worker is on its way (`called_`). So no task waits
//    until another one has ended: a runner that takes a task and leaves others calls a worker.
//  - A runner counts as searching unless it is in a task or in pause_search().
//  - The queue is not destroyed while a runner is inside, a worker is on its way, or a thread is about to return from a
//    call of one (`calling_`). The destructor of `Queue` calls wait_until_all_left().
//
// `Queue` has these members. All functions but run() and send() are called with the lock held.
//   runner             state of one runner, on its stack; derives from runner_base; constructed from the queue
//   goes_on(runner)    whether the runner searches once more
//   take(runner)       removes the task that this runner runs next and returns it. Null: none
//   run(runner, task)  runs it
//   ran(runner)        follows run(). False: the runner leaves
//   search(runner)     what a runner without a task does: a pause, a poll. False: the runner leaves
//   leaves(runner)     the runner searches no more. True: a worker must come, also if no task is ready. It may release
//                      the lock meanwhile, by call_if_needed_and_unlock()
//   needs_worker()     whether a task is ready that no searching runner takes
//   send()             has a thread call run_as_worker(). False: there is none now. Then the next push or runner calls
//                      again, and the owner of the queue must if there may be neither
#pragma once

#include <thence/detail/atomic.hpp>

#include <atomic>
#include <mutex>

namespace thence::workers {

// The state of this thread. A task may change threads where it is suspended, so call this again after that. It is never
// inlined or assumed to return the same address twice: a compiler would keep the address of a thread-local variable.
template <class State>
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noipa]]
#endif
State &
state_of_this_thread() noexcept {
    static constinit thread_local State state;
    asm volatile("");
    return state;
}

template <class Queue> class loop {
public:
    loop &operator=(loop &&) = delete;

    // What a thread that send() has sent does. Returns when there is nothing to do.
    void run_as_worker() noexcept {
        lock_.lock();
        --called_;
        ++arrived_;
        typename Queue::runner self(queue());
        run_and_unlock(self);
    }

    // While such an object exists, wait_until_all_left() waits.
    class keep_alive {
    public:
        explicit keep_alive(loop &kept) noexcept : kept_(kept) {
            kept.calling_.fetch_add(1, std::memory_order_relaxed);
        }
        ~keep_alive() { kept_.calling_.fetch_sub(1, std::memory_order_release); }
        keep_alive &operator=(keep_alive &&) = delete;

    private:
        loop &kept_;
    };

protected:
    struct runner_base {
        bool worker = true;
    };

    // `has_workers`: false if send() never finds a thread.
    explicit loop(bool has_workers = true) noexcept : has_workers_(has_workers) {}
    ~loop() = default;

    void wait_until_all_left() noexcept {
        for (detail::spin_wait wait;; wait()) {
            const std::scoped_lock guard(lock_);
            if (inside_ == 0 && called_ == 0 && calling_.load(std::memory_order_acquire) == 0) {
                return;
            }
        }
    }

    // Called with the lock held; unlocks it.
    template <class Runner> void run_and_unlock(Runner &self) noexcept {
        ++inside_;
        change_searching(self, 1);
        while (queue().goes_on(self)) {
            auto *const task = queue().take(self);
            if (task == nullptr) {
                if (!queue().search(self)) {
                    break;
                }
                continue;
            }
            pause_search(self, [&] { queue().run(self, *task); });
            if (!queue().ran(self)) {
                break;
            }
        }
        change_searching(self, -1);
        const bool wanted = queue().leaves(self);
        --inside_;
        call_and_unlock_if(wanted || queue().needs_worker());
    }

    // Called with the lock held. Runs `action` without it; the runner does not search meanwhile.
    template <class Runner, class Action> void pause_search(Runner &self, Action &&action) noexcept {
        change_searching(self, -1);
        call_if_needed_and_unlock();
        action();
        lock_.lock();
        change_searching(self, 1);
    }

    // Called with the lock held; unlock it. They call a worker if one must come and none is on its way.
    void call_if_needed_and_unlock() noexcept { call_and_unlock_if(queue().needs_worker()); }
    void call_and_unlock_if(bool needed) noexcept {
        if (!needed || called_ != 0 || !has_workers_) {
            return lock_.unlock();
        }
        ++called_;
        const keep_alive calling(*this);
        lock_.unlock();
        if (!queue().send()) {
            const std::scoped_lock guard(lock_);
            --called_; // the next push or runner calls again
        }
    }

    const bool has_workers_;
    detail::spin_lock lock_;
    int inside_ = 0;            // runners
    int searching_ = 0;         // runners that search
    int searching_workers_ = 0; // workers that search
    int called_ = 0;            // workers that were called and have not arrived; one at most
    unsigned arrived_ = 0;      // workers that were called and have arrived

private:
    Queue &queue() noexcept { return static_cast<Queue &>(*this); }
    template <class Runner> void change_searching(const Runner &self, int by) noexcept {
        searching_ += by;
        if (self.worker) {
            searching_workers_ += by;
        }
    }

    std::atomic<int> calling_{0}; // threads that call a worker, and keep_alive objects
};

} // namespace thence::workers
