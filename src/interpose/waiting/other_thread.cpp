// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/other_thread.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "interpose/waiting/blocking_tasks.hpp"
#include "tasks/blocked_task.hpp"
#include "tasks/polling_call.hpp"
#include "tasks/runtime.hpp"

#include <thence/detail/start_thread.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>

namespace thence::interpose {

namespace {

// It lies on the stack of the task.
struct waiting_call {
    const call_on_other_thread &made;
    task::blocked_task blocked;
    waiting_call *next = nullptr;
};

// Never destroyed: threads sleep in it when the process ends.
struct call_threads {
    std::mutex mutex; // guards what follows
    std::condition_variable comes;
    waiting_call *first = nullptr;
    waiting_call *last = nullptr;
    unsigned waiting = 0; // calls that no thread has taken
    unsigned free = 0;    // threads that make no call, or have just been started

    void run() noexcept {
        const continuation::busy_scope no_callback_here; // the thread belongs to one call
        std::unique_lock guard(mutex);
        for (;;) {
            comes.wait(guard, [this] { return first != nullptr; });
            waiting_call &taken = *first;
            first = taken.next;
            --waiting;
            --free;
            guard.unlock();
            taken.blocked.go_on(taken.made.make(taken.made.call)); // after that it is gone
            guard.lock();
            ++free;
        }
    }

    bool has_thread_for_one_more() {
        if (waiting < free) {
            return true;
        }
        try {
            detail::start_thread([this] { run(); }).detach();
            ++free;
            return true;
        } catch (const std::exception &) { // the system gives no more, or memory is exhausted
            return false;
        }
    }

    bool add(waiting_call &added) {
        const std::scoped_lock guard(mutex);
        if (!has_thread_for_one_more()) {
            return false;
        }
        (first == nullptr ? first : last->next) = &added;
        last = &added;
        ++waiting;
        comes.notify_one();
        return true;
    }
};

call_threads &threads() noexcept {
    alignas(call_threads) static unsigned char memory[sizeof(call_threads)];
    static auto *const all = new (memory) call_threads; // nothing is allocated
    return *all;
}

} // namespace

bool block_task_meanwhile(const call_on_other_thread &made, int &code) noexcept {
    if (!blocking_tasks.applies() || !mpi::thread_multiple()) {
        return false;
    }
    const thence_task self = task::current();
    task::polling_call for_reports(made.name, made.where);
    waiting_call call{made, task::blocked_task(self)};
    if (!threads().add(call)) {
        return false;
    }
    for_reports.list(self);
    task::polling_call::leave_mpi(); // this thread is not in MPI
    code = call.blocked.block();
    for_reports.enter_mpi();
    return true;
}

} // namespace thence::interpose
