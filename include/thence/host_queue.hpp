// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file host_queue.hpp
 *  @brief Host queues (`host_queue.h`) for C++: an owner, functions with state, and a scheduler of senders.
 *
 *      thence::host_queue queue;
 *      queue.enqueue([&] { compute(); });
 *      thence::sync_wait(ex::schedule(queue.get_scheduler()) | ex::then([] { return 42; }));
 *
 *  What is scheduled takes its place in the queue between the functions and the MPI operations that are enqueued on it.
 *  */

#include <memory>
#include <utility>

#include <thence/error.hpp>
#include <thence/execution.hpp>
#include <thence/host_queue.h>
#include <thence/senders/detail/completions.hpp>

namespace thence {

/** @brief Schedules on a host queue. The queue must outlive it. Two are equal if they name the same queue. */
class host_queue_scheduler : public detail::scheduler_base<host_queue_scheduler, thence_host_queue *> {
    friend scheduler_base;
    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        thence_host_queue *queue;
        thence_host_queue_entry entry{};
        [[no_unique_address]] R receiver;

        operation(thence_host_queue *q, R r) : queue(q), receiver(static_cast<R &&>(r)) {}
        operation(operation &&) = delete;
        void start() &noexcept { thence_host_queue_enqueue_entry(queue, &entry, &complete, this); }
        static void complete(void *self) noexcept {
            detail::complete_scheduled(static_cast<operation *>(self)->receiver);
        }
    };

public:
    using scheduler_base::scheduler_base;
};

/** @brief A host queue that its destructor destroys, after all that is enqueued is done. */
class host_queue {
public:
    /** @throws thence::error without memory. */
    host_queue() { check(thence_host_queue_create(&queue_), "thence_host_queue_create"); }
    ~host_queue() { thence_host_queue_destroy(&queue_); }
    host_queue &operator=(host_queue &&) = delete;

    /** @brief Enqueues a call of `function()`, which must not throw.
     *  @throws std::bad_alloc; thence::error without memory. */
    template <class F> void enqueue(F &&function) {
        using function_type = std::decay_t<F>;
        auto kept = std::make_unique<function_type>(static_cast<F &&>(function));
        check(thence_host_queue_enqueue(
                  queue_,
                  [](void *data) {
                      const std::unique_ptr<function_type> call(static_cast<function_type *>(data));
                      (*call)();
                  },
                  kept.get()),
              "thence_host_queue_enqueue");
        kept.release(); // the call owns it
    }

    /** @brief As thence_host_queue_synchronize().
     *  @throws thence::error in a function of this queue. */
    void synchronize() { check(thence_host_queue_synchronize(queue_), "thence_host_queue_synchronize"); }
    /** @return true if all that is enqueued is done. */
    bool is_idle() const noexcept {
        int idle = 0;
        thence_host_queue_query(queue_, &idle);
        return idle != 0;
    }
    /** @return a scheduler whose work runs in the order of this queue. */
    host_queue_scheduler get_scheduler() const noexcept { return host_queue_scheduler(queue_); }
    /** @return the queue, for the C API. */
    thence_host_queue *get() const noexcept { return queue_; }
    /** @return what an info names, see thence_host_queue_handle(). */
    thence_queue handle() const noexcept { return thence_host_queue_handle(queue_); }

private:
    static void check(int code, const char *call) {
        if (code != MPI_SUCCESS) {
            throw error(call, code);
        }
    }
    thence_host_queue *queue_ = nullptr;
};

} // namespace thence
