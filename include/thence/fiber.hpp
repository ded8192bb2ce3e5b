// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file fiber.hpp
 *  @brief Boost.Fiber: block a fiber until MPI operations are complete; its thread runs other fibers. C++20.
 *
 *  Any thread may resume the fiber: one that polls MPI in a fiber, one inside an MPI call, or the library's helper
 *  thread (`THENCE_CR_ANY_THREAD`). Every scheduling algorithm of Boost.Fiber works, also those that move fibers
 *  between threads (`shared_work`, `work_stealing`). The callback never suspends the fiber in which it runs.
 *
 *  A thread whose fibers are all blocked sleeps and makes no progress. Choose one of these to make progress:
 *  - `thence::fibers::polling<Algorithm>` as the scheduling algorithm: it polls whenever no fiber of the thread is
 *    ready;
 *  - `thence::fibers::progress_fiber`: a fiber that polls between the others, under any algorithm;
 *  - a continuation request with `THENCE_CR_ANY_THREAD`.
 *
 *  Callbacks of your own must not block the fiber (no `boost::fibers::mutex`): until they return, no other continuation
 *  runs on that thread.
 *
 *  Link `Boost::fiber`. Source: Schuchart et al. 2021, "Callback-based completion notification using MPI
 *  Continuations", listing 3 (block and unblock) and section 3.4 (progress as a polling service). */

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fss.hpp>
#include <boost/fiber/operations.hpp>

#include <thence/adapter.hpp>
#include <thence/detail/atomic.hpp>
#include <thence/task_runtime.h>

namespace thence::fibers {

namespace detail {

inline int block(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr) {
    return thence::detail::blocked_caller<boost::fibers::condition_variable_any>().block(requests, statuses, cr);
}

} // namespace detail

/** @brief Block the calling fiber until an operation is complete.
 *  @param request an active request of any kind, `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cr      the continuation request to register with.
 *  @return the status.
 *  @throws thence::error if the operation failed, or if nothing could be attached: the request is unchanged then.
 *  @note Threads: any fiber of any thread, with the same `cr` too. Not in a callback. */
inline MPI_Status block(MPI_Request &request, MPI_Request cr) {
    return thence::detail::complete(request, "an operation of a blocked fiber",
                                    [cr](auto those, auto *statuses) { return detail::block(those, statuses, cr); });
}

/** @brief Block the calling fiber until all `requests` are complete. As block() for one.
 *  @return the statuses, in the order of `requests`. */
inline std::vector<MPI_Status> block(std::span<MPI_Request> requests, MPI_Request cr) {
    return thence::detail::complete(requests, "operations of a blocked fiber",
                                    [cr](auto those, auto *statuses) { return detail::block(those, statuses, cr); });
}

namespace detail {

/** A fiber as a task that can be blocked. Its lock is one of threads, as that of blocked_caller. */
struct fiber_task {
    thence::detail::spin_lock lock;
    boost::fibers::condition_variable_any changed;
    bool unblocked = false;
};

inline void *current_fiber() {
    static boost::fibers::fiber_specific_ptr<fiber_task> own;
    fiber_task *found = own.get(); // a search, of about 70 instructions
    if (found == nullptr) {
        found = new fiber_task;
        own.reset(found);
    }
    return found;
}
inline int block_fiber(void *task) {
    auto *self = static_cast<fiber_task *>(task);
    std::unique_lock lock(self->lock);
    self->changed.wait(lock, [self] { return self->unblocked; });
    self->unblocked = false;
    return 0;
}
inline int unblock_fiber(void *task) {
    auto *self = static_cast<fiber_task *>(task);
    const std::lock_guard lock(self->lock);
    self->unblocked = true;
    self->changed.notify_one();
    return 0;
}
inline int spawn_fiber(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
                       const char *) {
    try {
        boost::fibers::fiber([=] {
            body(argument);
            if (completed != nullptr) {
                completed(completed_argument);
            }
        }).detach();
        return 0;
    } catch (...) { // no memory for a stack
        return 1;
    }
}
inline int sleep_fiber(std::uint64_t nanoseconds, std::uint64_t *slept) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    boost::this_fiber::sleep_for(std::chrono::nanoseconds(nanoseconds));
    if (slept != nullptr) {
        *slept = static_cast<std::uint64_t>(std::chrono::nanoseconds(clock::now() - begun).count());
    }
    return 0;
}

} // namespace detail

/** @brief The table of fibers (task_runtime.h): a fiber is a task that can be blocked, so thence_task_wait(), and MPI's
 *         blocking calls under TAMPI, block the fiber and not its thread. Fibers have no events, since nothing depends
 *         on their end. On a thread without fibers the thread itself is blocked.
 *
 *      thence_task_runtime_add(&thence::fibers::task_runtime());
 *
 *  @return the table; the same each time in one shared object. It is not added yet.
 *  @note A thread makes progress as the top of this file says. */
inline const thence_task_runtime &task_runtime() noexcept {
    static const thence_task_runtime table{sizeof(thence_task_runtime),
                                           "Boost.Fiber",
                                           &detail::current_fiber,
                                           &detail::block_fiber,
                                           &detail::unblock_fiber,
                                           nullptr,
                                           nullptr,
                                           &detail::spawn_fiber,
                                           &detail::sleep_fiber,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr};
    return table;
}

/** @brief A scheduling algorithm that polls MPI when no fiber of its thread is ready, else behaves as `Algorithm`.
 *
 *      boost::fibers::use_scheduling_algorithm<thence::fibers::polling<boost::fibers::algo::round_robin>>();
 *
 *  @tparam Algorithm a class derived from `boost::fibers::algo::algorithm`; the constructor's arguments go to it.
 *  @note One instance per thread that calls `use_scheduling_algorithm`. Between polls the thread spins, then
 *        sleeps up to 64 microseconds. The sleep ends early if another thread makes a fiber ready. It polls between
 *        `MPI_Init` and `MPI_Finalize`. All threads with this algorithm must have ended when another thread calls
 *        `MPI_Finalize`. It does not run continuations of poll-only continuation requests. */
template <class Algorithm> class polling : public Algorithm {
public:
    using Algorithm::Algorithm;

    boost::fibers::context *pick_next() noexcept override {
        boost::fibers::context *next = Algorithm::pick_next();
        if (next != nullptr) {
            thence_backoff_found(&backoff_);
        }
        return next;
    }
    void suspend_until(std::chrono::steady_clock::time_point const &until) noexcept override {
        if (thence::detail::mpi_inactive_reason() != nullptr) {
            Algorithm::suspend_until(until);
            return;
        }
        thence_progress();
        if (this->has_ready_fibers()) {
            return;
        }
        if (const std::chrono::nanoseconds time(thence_backoff_next(&backoff_)); time.count() > 0) {
            Algorithm::suspend_until(std::min(until, std::chrono::steady_clock::now() + time));
        }
    }

private:
    thence_backoff backoff_ = THENCE_BACKOFF_INIT;
};

/** @brief A fiber of the calling thread that makes progress between the other fibers, from construction to
 *         destruction. If it finds nothing and no other fiber runs, it sleeps, up to 64 microseconds. The destructor
 *         joins it: destroy it in a fiber, before `MPI_Finalize`. It does not run continuations of poll-only
 *         continuation requests. */
class progress_fiber {
public:
    progress_fiber() : fiber_([this] { poll(); }) {}
    ~progress_fiber() {
        stop_.store(true);
        fiber_.join();
    }
    progress_fiber &operator=(progress_fiber &&) = delete;

private:
    void poll() {
        using clock = std::chrono::steady_clock;
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        while (!stop_.load()) {
            long ran = 0;
            thence_progress_some(&ran);
            if (ran > 0) {
                thence_backoff_found(&backoff);
            }
            if (const std::chrono::nanoseconds time(thence_backoff_next(&backoff)); time.count() > 0) {
                boost::this_fiber::sleep_for(time);
                continue;
            }
            const auto left = clock::now();
            boost::this_fiber::yield();
            if (clock::now() - left > std::chrono::microseconds(10)) { // other fibers have run
                thence_backoff_found(&backoff);
            }
        }
    }

    std::atomic<bool> stop_{false};
    boost::fibers::fiber fiber_; // last: it runs poll() as soon as it exists
};

} // namespace thence::fibers
