// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/workers/worker_stacks.hpp"
#include "tbb/workers/repeat_without_memory.hpp"
#include "tbb/workers/sanitizer.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace thence::workers {

namespace {

// More than the frames of oneTBB between those functions, and less than any stack.
constexpr std::uintptr_t near = 16384;

} // namespace

first_stacks::first_stacks(::tbb::task_arena &arena, int slots)
    : ::tbb::task_scheduler_observer(arena), slots_(slots),
      addresses_(std::make_unique<std::atomic<std::uintptr_t>[]>(static_cast<std::size_t>(slots))) {
    observe(true);
}

void first_stacks::on_scheduler_entry(bool is_worker) {
    const int slot = ::tbb::this_task_arena::current_thread_index();
    if (is_worker && slot < slots_) {
        addresses_[static_cast<std::size_t>(slot)].store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                                                         std::memory_order_relaxed);
    }
}

void first_stacks::on_scheduler_exit(bool is_worker) {
    const int slot = ::tbb::this_task_arena::current_thread_index();
    if (is_worker && slot < slots_) {
        addresses_[static_cast<std::size_t>(slot)].store(0, std::memory_order_relaxed);
    }
}

bool first_stacks::is_one() const noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return std::any_of(addresses_.get(), addresses_.get() + slots_, [&](const auto &each) {
        const std::uintptr_t address = each.load(std::memory_order_relaxed);
        return address != 0 && (here < address ? address - here : here - address) < near;
    });
}

worker_stacks::worker_stacks(::tbb::task_arena &arena, int slots)
    : arena_(arena), most_(slots), first_stacks_(std::in_place, arena, slots) {}

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
    if (first_stacks_->is_one()) {
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
    first_stacks_.reset();
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
