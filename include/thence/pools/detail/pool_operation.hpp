// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// One operation of transform_mpi that pools handle. The mode decides which of these steps are tasks:
//
//     begin -> [task of the polling pool] -> issue -> MPI -> completed -> [task] -> deliver
//
// Invariants.
//  - The operation has one owner at a time: a queue, as a task; MPI; or the thread that runs one of the functions
//    below. So one link is enough. A function does not access the operation after it has passed it to another owner.
//  - The operation counts as outstanding in the polling queue from attaching() until it is pushed as a task or
//    delivered. If a test finds it complete before it is attached, it never counts.
//  - suspend_resume: the callback and the task that waits both set `arrived_`. The second of them continues.

#include <array>
#include <atomic>
#include <exception>
#include <stdexcept>

#include <oneapi/tbb/task.h>

#include <thence/pools/detail/exports.hpp>
#include <thence/pools/detail/slow_task.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/error.hpp>

namespace thence::detail {

template <class Operation> class pool_operation;

/** The delivery of operations that pools handle; see senders/detail/delivery.hpp. */
struct pool_delivery {
    pools_state *state;
    thence::completion_mode how;
    template <class Operation> using per_operation = pool_operation<Operation>;
};

template <class Given> void take_completion_mode(thence::completion_mode &how, const Given &given) noexcept {
    if constexpr (std::is_same_v<Given, thence::completion_mode>) {
        how = given;
    }
}

template <class Operation> class pool_operation : pool_task {
public:
    explicit pool_operation(const pool_delivery &delivery) noexcept
        : state_(delivery.state), how_(delivery.how), point_() {}

    void begin(Operation &operation) noexcept {
        operation_ = &operation;
        if (const int code = make_shared_requests(); code != MPI_SUCCESS) [[unlikely]] {
            return operation.send_error(make_start_error(code)); // every method reports so that MPI is not active
        }
        if (!libthence_pools::accepts(*state_, how_)) [[unlikely]] {
            return operation.send_error(
                std::make_exception_ptr(std::invalid_argument(libthence_pools::refusal(*state_, how_))));
        }
        if (how_.inline_request) [[likely]] {
            return issue();
        }
        if (libthence_pools::begin_nested(*state_, polling_queue(how_))) {
            issue(); // *this may be destroyed after it
            return libthence_pools::end_nested();
        }
        run = [](pool_task *task) noexcept { static_cast<pool_operation *>(task)->issue(); };
        libthence_pools::push(*state_, polling_queue(how_), *this, urgent());
    }
    int prepare() noexcept { return how_.method != completion_method::mpix ? make_shared_requests() : MPI_SUCCESS; }
    /** @return the continuation request with which to register an operation that cannot be stopped. */
    MPI_Request continuation_request() noexcept {
        if (how_.method != completion_method::mpix) [[likely]] {
            return shared_request();
        }
        on_poll_only_request_ = true;
        return libthence_pools::poll_only_request(*state_, polling_queue(how_));
    }
    /** MPI has started the operation, and it is not known to be complete. */
    void attaching() noexcept {
        outstanding_ = true;
        libthence_pools::begin_operation(*state_, polling_queue(how_), urgent());
    }

    void succeeded(Operation &) noexcept { completed(outcome::values); }
    void failed(Operation &, std::exception_ptr error) noexcept {
        error_ = static_cast<std::exception_ptr &&>(error);
        completed(outcome::error);
    }
    void stopped(Operation &) noexcept { completed(outcome::stopped); }

private:
    enum class outcome : unsigned char { values, error, stopped };

    urgency urgent() const noexcept { return how_.high_priority ? urgency::high : urgency::normal; }
    pool_task &as_task(void (*what)(pool_task *) noexcept) noexcept {
        run = what;
        return *this;
    }

    void issue() noexcept {
        if (how_.method == completion_method::yield_while &&
            !operation_->can_be_stopped()) { // only a continuation request can cancel
            if (operation_->begin_polled(requests_)) {
                attaching();
                test_request();
            }
        } else if (how_.method == completion_method::suspend_resume) {
            operation_->begin_here();
            if (arrived_.load(std::memory_order_acquire)) {
                hand_over(); // it was complete at once
            } else {
                libthence_pools::push_suspending(*state_, as_task(&wait));
            }
        } else {
            operation_->begin_here();
        }
    }

    // yield_while
    void test_request() noexcept {
        pools_state &pools = *state_; // a test that finds it complete may destroy the operation
        const pool_queue polling = polling_queue(how_);
        const urgency how = urgent();
        if (operation_->test_polled(requests_)) {
            return;
        }
        libthence_pools::push_polling_task(
            pools, polling, as_task([](pool_task *task) noexcept {
                const completing_scope inside; // the work that follows must not wait in a poll
                static_cast<pool_operation *>(task)->test_request();
            }),
            how);
    }
    // suspend_resume
    static void wait(pool_task *task) noexcept {
        auto *self = static_cast<pool_operation *>(task);
        if (!self->arrived_.load(std::memory_order_acquire)) {
            libthence_pools::suspending(*self->state_);
            ::tbb::task::suspend([self](::tbb::task::suspend_point point) {
                self->point_ = point;
                if (self->arrived_.exchange(true, std::memory_order_acq_rel)) {
                    self->resume();
                }
            });
            libthence_pools::resumed(*self->state_, self->urgent());
        }
        self->deliver();
    }

    void resume() noexcept {
        libthence_pools::resuming(*state_, urgent());
        ::tbb::task::resume(point_);
    }

    void completed(outcome what) noexcept {
        outcome_ = what;
        if (outstanding_) {
            if (on_poll_only_request_) [[unlikely]] {
                libthence_pools::poll_only_completed(*state_, polling_queue(how_));
            }
            libthence_pools::end_operation(*state_, polling_queue(how_), urgent());
        }
        if (how_.method == completion_method::suspend_resume) {
            if (arrived_.exchange(true, std::memory_order_acq_rel)) {
                resume();
            }
        } else if (how_.method != completion_method::new_task) {
            hand_over();
        } else if (!deliver_nested()) {
            libthence_pools::push(*state_, polling_queue(how_),
                                  as_task(how_.mpi_pool ? &hand_over_task : &deliver_task), urgent());
        }
    }
    /** If this thread is in a task of a worker, and not in a callback (`completing`), delivers inside that task and
     *  returns true. Else returns false. */
    bool deliver_nested() noexcept {
        if (completing || !libthence_pools::begin_nested(*state_, pool_queue::workers)) {
            return false;
        }
        deliver();
        libthence_pools::end_nested();
        return true;
    }
    void hand_over() noexcept {
        if (how_.bypass) {
            libthence_pools::bypass(*state_, as_task(&deliver_task), &deliver_in_arena);
        } else if (how_.inline_completion) {
            deliver();
        } else if (!deliver_nested()) {
            libthence_pools::push(*state_, pool_queue::workers, as_task(&deliver_task), urgent());
        }
    }
    static void hand_over_task(pool_task *task) noexcept { static_cast<pool_operation *>(task)->hand_over(); }
    static void deliver_task(pool_task *task) noexcept { static_cast<pool_operation *>(task)->deliver(); }
    static void deliver_in_arena(pool_task *task) noexcept {
        auto *self = static_cast<pool_operation *>(task);
        self->state_->arena->execute([self] { self->deliver(); });
    }
    void deliver() noexcept {
        if (state_->slow_limit != 0 && blocks_polling()) [[unlikely]] {
            return run_timed<Operation>(state_->slow_limit, [this] { send(); });
        }
        send();
    }
    /** @return whether the delivery keeps a thread from polling, and is not in a callback, whose time the library
     *          itself measures. */
    bool blocks_polling() const noexcept {
        return completing ? how_.method == completion_method::yield_while
                          : libthence_pools::is_runner(*state_, pool_queue::mpi);
    }
    void send() noexcept {
        switch (outcome_) {
        case outcome::values:
            return operation_->send_values();
        case outcome::error:
            return operation_->send_error(static_cast<std::exception_ptr &&>(error_));
        case outcome::stopped:
            return operation_->send_stopped();
        }
    }

    pools_state *state_;
    Operation *operation_ = nullptr;
    thence::completion_mode how_;
    outcome outcome_ = outcome::values;
    bool outstanding_ = false;
    bool on_poll_only_request_ = false; // it is registered with the poll-only continuation request
    std::atomic<bool> arrived_{false};
    // Every completion reads the fields above, which are together in few cache lines. Few read those below.
    std::exception_ptr error_;
    union {
        ::tbb::task::suspend_point point_;           // suspend_resume
        typename Operation::requests_type requests_; // yield_while
    };
};

} // namespace thence::detail
