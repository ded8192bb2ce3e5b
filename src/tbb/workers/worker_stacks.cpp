// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/workers/worker_stacks.hpp"
#include "tbb/workers/repeat_without_memory.hpp"
#include "tbb/workers/sanitizer.hpp"

#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <utility>

namespace thence::workers {

namespace {

struct address_range {
    std::uintptr_t begin = 0, end = 0;
    bool contains(std::uintptr_t address) const noexcept { return begin <= address && address < end; }
};

address_range first_stack_of_this_thread() noexcept {
    pthread_attr_t attributes;
    void *begin = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return {};
    }
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    return {address, address + bytes};
}

[[gnu::noipa]] bool on_first_stack() noexcept {
    static thread_local const address_range first = first_stack_of_this_thread();
    return first.contains(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

} // namespace

void worker_stacks::call(const job &next) {
    arena_.enqueue([stacks = user(*this), next] { stacks->begin(next); });
}

// On any stack of any thread of the arena. oneTBB resumes stacks before it begins enqueued tasks, so a worker has
// resumed all stacks that were to be resumed before it begins another job.
void worker_stacks::begin(const job &next) {
    if (waiting_stack *const found = take()) {
        found->todo = next;
        return ::tbb::task::resume(found->point);
    }
    if (on_first_stack()) {
        return leave_first_stack(next);
    }
    run(next);
}

// The thread gets a second stack, on which it searches for tasks and finds the one that is enqueued here. If another
// thread finds it, on its own first stack, all begins anew.
void worker_stacks::leave_first_stack(const job &next) {
    ::tbb::task::suspend([&](::tbb::task::suspend_point first) {
        repeat_without_memory([&] {
            arena_.enqueue([stacks = user(*this), next, first] {
                ::tbb::task::resume(first);
                stacks->begin(next);
            });
        });
    });
}

void worker_stacks::run(job next) {
    waiting_stack self;
    do {
        sanitizer::context::enter(next.data);
        next.work(next.data);
        sanitizer::context::leave();
        sanitizer::context::hand_over(&self);
        if (!wait_for_work(self)) {
            return;
        }
        sanitizer::context::take_over(&self);
        next = std::exchange(self.todo, {});
    } while (next.work != nullptr);
}

// @return false: this stack is not kept.
bool worker_stacks::wait_for_work(waiting_stack &self) {
    {
        const std::scoped_lock guard(lock_);
        if (closed_ || count_ == most_) {
            return false;
        }
        ++count_;
    }
    ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
        self.point = point;
        {
            const std::scoped_lock guard(lock_);
            if (!closed_) {
                self.next = std::exchange(list_, &self);
                return;
            }
        }
        ::tbb::task::resume(point);
    });
    return true;
}

worker_stacks::waiting_stack *worker_stacks::take() noexcept {
    const std::scoped_lock guard(lock_);
    if (list_ == nullptr) {
        return nullptr;
    }
    --count_;
    return std::exchange(list_, list_->next);
}

void worker_stacks::release() noexcept {
    sanitizer::context::hand_over(this);
    if (users_.fetch_sub(1) == 1) {
        sanitizer::context::take_over(this);
        delete this;
    }
}

void worker_stacks::close() noexcept {
    waiting_stack *list = nullptr;
    {
        const std::scoped_lock guard(lock_);
        closed_ = true;
        list = std::exchange(list_, nullptr);
    }
    while (list != nullptr) {
        ::tbb::task::resume(std::exchange(list, list->next)->point);
    }
    release();
}

} // namespace thence::workers
