// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_POOL_OPERATION_HPP
#define THENCE_POOLS_DETAIL_POOL_OPERATION_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/pool_operation.hpp needs C++20: compile with -std=c++20"
#else

// The way of one operation of transform_mpi through the pools, as its mode says:
//
//     begin -> [task of the polling pool] -> issue -> MPI -> completed -> [task] -> deliver
//
// Invariants.
//  - The operation belongs to one owner at a time: in a queue as a task, with MPI, or with the thread that runs one
//    of the functions below. So one link is enough, and what a function hands over it touches no more.
//  - It counts as one of the polling queue's from when MPI has it, unless it is complete at once, until before it is
//    delivered or handed over.
//  - suspend_resume: two meet, the callback and the task that waits; the second to come goes on with it.

#include <array>
#include <atomic>
#include <exception>
#include <stdexcept>

#include <oneapi/tbb/task.h>

#include <thence/pools/detail/library.hpp>
#include <thence/pools/detail/slow_task.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/error.hpp>

namespace thence::detail {

template <class Operation> class pool_operation;

/** The delivery of operations that pools handle; see senders/detail/delivery.hpp. */
struct pool_delivery {
    pools_state *state;
    thence::completion_mode how;
    template <class Operation> using operation_part = pool_operation<Operation>;
};

template <class Given> void take_completion_mode(thence::completion_mode &how, const Given &given) noexcept {
    if constexpr (std::is_same_v<Given, thence::completion_mode>)
        how = given;
}

template <class Operation> class pool_operation : pool_task {
public:
    explicit pool_operation(const pool_delivery &delivery) noexcept
        : state_(delivery.state), how_(delivery.how), point_() {}

    void begin(Operation &operation) noexcept {
        operation_ = &operation;
        if (const int code = make_shared_requests(); code != MPI_SUCCESS) [[unlikely]]
            return operation.send_error(make_start_error(code)); // also of those that do without them
        if (!libthence_pools::accepts(*state_, how_)) [[unlikely]]
            return operation.send_error(
                std::make_exception_ptr(std::invalid_argument(libthence_pools::refusal(*state_, how_))));
        if (how_.inline_request) [[likely]]
            return issue();
        if (libthence_pools::begin_part(*state_, polling_queue(how_))) {
            issue(); // it may be gone
            return libthence_pools::end_part();
        }
        run = [](pool_task *task) noexcept { static_cast<pool_operation *>(task)->issue(); };
        libthence_pools::push(*state_, polling_queue(how_), *this, urgent());
    }
    int prepare() noexcept { return how_.method != completion_method::mpix ? make_shared_requests() : MPI_SUCCESS; }
    /** Of what nobody can stop: it is registered there next. */
    MPI_Request continuation_request() noexcept {
        if (how_.method != completion_method::mpix) [[likely]]
            return shared_request();
        on_cr_ = true;
        return libthence_pools::poll_only_request(*state_, polling_queue(how_));
    }
    /** MPI has it, and it is not known to be complete. */
    void attaching() noexcept {
        outstanding_ = true;
        libthence_pools::begin_operation(*state_, polling_queue(how_));
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
            !operation_->can_be_stopped()) { // to cancel takes a continuation request
            if (operation_->begin_polled(requests_)) {
                attaching();
                look();
            }
        } else if (how_.method == completion_method::suspend_resume) {
            operation_->begin_here();
            if (met_.load(std::memory_order_acquire))
                hand_over(); // it was complete at once
            else
                libthence_pools::push_suspending(*state_, as_task(&wait));
        } else {
            operation_->begin_here();
        }
    }

    // yield_while
    void look() noexcept {
        pools_state &pools = *state_; // after a test that has found it complete the operation is gone
        const pool_queue polling = polling_queue(how_);
        if (operation_->test_polled(requests_))
            return;
        libthence_pools::push_again(pools, polling, as_task([](pool_task *task) noexcept {
                                        const completing_scope inside; // a poll: what follows must not wait here either
                                        static_cast<pool_operation *>(task)->look();
                                    }));
    }
    // suspend_resume
    static void wait(pool_task *task) noexcept {
        auto *self = static_cast<pool_operation *>(task);
        if (!self->met_.load(std::memory_order_acquire)) {
            libthence_pools::suspending(*self->state_);
            ::tbb::task::suspend([self](::tbb::task::suspend_point point) {
                self->point_ = point;
                if (self->met_.exchange(true, std::memory_order_acq_rel))
                    self->resume();
            });
            libthence_pools::resumed(*self->state_);
        }
        self->deliver();
    }

    void resume() noexcept {
        libthence_pools::resuming(*state_);
        ::tbb::task::resume(point_);
    }

    void completed(outcome what) noexcept {
        outcome_ = what;
        if (outstanding_) {
            if (on_cr_) [[unlikely]]
                libthence_pools::poll_only_completed(*state_, polling_queue(how_));
            libthence_pools::end_operation(*state_, polling_queue(how_));
        }
        if (how_.method == completion_method::suspend_resume) {
            if (met_.exchange(true, std::memory_order_acq_rel))
                resume();
        } else if (how_.method != completion_method::new_task) {
            hand_over();
        } else if (!go_on_in_task()) {
            libthence_pools::push(*state_, polling_queue(how_),
                                  as_task(how_.mpi_pool ? &hand_over_task : &deliver_task), urgent());
        }
    }
    /** Whether it went on at once, as a part of the task of a worker that this thread is in. */
    bool go_on_in_task() noexcept {
        if (completing || !libthence_pools::begin_part(*state_, pool_queue::workers))
            return false;
        deliver();
        libthence_pools::end_part();
        return true;
    }
    void hand_over() noexcept {
        if (how_.bypass)
            libthence_pools::bypass(*state_, as_task(&deliver_task), &deliver_in_arena);
        else if (how_.inline_completion)
            deliver();
        else if (!go_on_in_task())
            libthence_pools::push(*state_, pool_queue::workers, as_task(&deliver_task), urgent());
    }
    static void hand_over_task(pool_task *task) noexcept { static_cast<pool_operation *>(task)->hand_over(); }
    static void deliver_task(pool_task *task) noexcept { static_cast<pool_operation *>(task)->deliver(); }
    static void deliver_in_arena(pool_task *task) noexcept {
        auto *self = static_cast<pool_operation *>(task);
        self->state_->arena->execute([self] { self->deliver(); });
    }
    void deliver() noexcept {
        if (state_->slow_limit != 0 && keeps_poller()) [[unlikely]]
            return run_timed<Operation>(state_->slow_limit, [this] { send(); });
        send();
    }
    /** In a callback the library itself looks at the clock. */
    bool keeps_poller() const noexcept {
        return completing ? how_.method == completion_method::yield_while
                          : libthence_pools::is_here(*state_, pool_queue::mpi);
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
    bool on_cr_ = false; // the poll-only continuation request, which must be tested for it
    std::atomic<bool> met_{false};
    // Up to here what each needs at its end: it comes from memory, most of all after large messages. The rest is of
    // few.
    std::exception_ptr error_;
    union {
        ::tbb::task::suspend_point point_;           // suspend_resume
        typename Operation::requests_type requests_; // yield_while
    };
};

} // namespace thence::detail

#endif // C++20
#endif
