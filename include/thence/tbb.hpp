// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_TBB_HPP
#define THENCE_TBB_HPP

/** @file tbb.hpp
 *  @brief oneTBB: suspend a task until MPI operations are complete, and a task group that counts them. C++20.
 *
 *  - `thence::onetbb::suspend(requests, cr)` blocks the task, not its worker, which goes on with other tasks.
 *  - `thence::onetbb::task_group` runs tasks after operations (`run_after`) and makes progress by itself: while
 *    operations are outstanding one small task of the arena polls, between other tasks. Its `wait()` ends when all
 *    tasks and all operations are complete.
 *
 *  Workers call MPI, so initialize it with `MPI_THREAD_MULTIPLE`. Needs oneTBB 2021.6 or later; link `TBB::tbb`.
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", sections 3
 *  (listing 3: block and unblock) and 3.4 (progress as a recurring task). */

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <thence/continuation.hpp>

namespace thence::onetbb {

namespace detail {

/** Two parties meet here, the task that suspends and the callback: whoever comes second resumes the task. After its
 *  exchange the first one touches nothing any more, since the task and this object on its stack may be gone. */
struct suspended {
    ::tbb::task::suspend_point point{};
    std::atomic<bool> met{false};
    int error = MPI_SUCCESS;

    void arrive() {
        if (met.exchange(true, std::memory_order_acq_rel))
            ::tbb::task::resume(point);
    }
    static int callback(int error, MPI_Status *, void *data) noexcept {
        auto *self = static_cast<suspended *>(data);
        self->error = error;
        self->arrive();
        return MPI_SUCCESS;
    }
};

inline int suspend(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr) {
    suspended self;
    int error = MPI_SUCCESS;
    if (thence::detail::attach(requests, statuses, cr, &suspended::callback, &self, error))
        return error;
    ::tbb::task::suspend([&self](::tbb::task::suspend_point point) {
        self.point = point;
        self.arrive();
    });
    return self.error;
}

/** Polls MPI from tasks of one arena while operations are outstanding: at most one polling task at a time, enqueued
 *  anew after each round so that other tasks get their turn. Invariant: `outstanding > 0` implies `polling`, or
 *  that the thread that raised it is about to set it. */
class poller : public std::enable_shared_from_this<poller> {
public:
    poller() {
        ::tbb::task_group().run_and_wait(
            [] {}); // makes the thread's implicit arena exist, so that there is one to attach to
        arena_ = std::make_unique<::tbb::task_arena>(::tbb::task_arena::attach{});
    }
    ::tbb::task_arena &arena() { return *arena_; }

    void begin() {
        outstanding_.fetch_add(1);
        ensure_polling();
    }
    void end() noexcept { outstanding_.fetch_sub(1); }

private:
    void ensure_polling() {
        if (!polling_.exchange(true))
            enqueue();
    }
    void enqueue() {
        arena_->enqueue([self = shared_from_this()] { self->poll(); });
    }
    void poll() {
        using clock = std::chrono::steady_clock;
        if (clock::now() - left_ > std::chrono::microseconds(20)) // other tasks have run since: not idle
            backoff_.reset();
        const long before = outstanding_.load();
        for (int i = 0; i < 8 && outstanding_.load() == before; ++i)
            thence_progress();
        if (outstanding_.load() != before)
            backoff_.reset();
        else
            backoff_.pause();
        left_ = clock::now();
        if (outstanding_.load() > 0) {
            enqueue();
            return;
        }
        polling_.store(false);
        if (outstanding_.load() > 0) // raised before the store: its begin() has relied on this round
            ensure_polling();
    }

    std::unique_ptr<::tbb::task_arena> arena_;
    std::atomic<long> outstanding_{0};
    std::atomic<bool> polling_{false};
    thence::detail::backoff backoff_;
    std::chrono::steady_clock::time_point left_{};
};

/** Counts as an outstanding operation for as long as it lives. */
class outstanding {
public:
    explicit outstanding(poller &counts) : counts_(counts) { counts_.begin(); }
    ~outstanding() { counts_.end(); }
    outstanding(const outstanding &) = delete;
    outstanding &operator=(const outstanding &) = delete;

private:
    poller &counts_;
};

/** A task that waits for operations. The task owns this object and, until it is released, this object the task; so
 *  both live until the task has run or was cancelled. */
struct waiting_task {
    waiting_task(std::size_t count, std::shared_ptr<poller> counts) : statuses(count), progress(std::move(counts)) {}
    waiting_task(const waiting_task &) = delete;

    ::tbb::task_handle task;
    std::vector<MPI_Status> statuses;
    int error = MPI_SUCCESS;
    std::shared_ptr<poller> progress;

    void attach(std::span<MPI_Request> requests, MPI_Request cr) {
        progress->begin();
        try {
            if (thence::detail::attach(requests, statuses.data(), cr, &waiting_task::callback, this, error))
                release();
        } catch (...) {
            progress->end();
            task = {};
            throw;
        }
    }
    static int callback(int error, MPI_Status *, void *data) noexcept {
        auto *self = static_cast<waiting_task *>(data);
        self->error = error;
        self->release();
        return MPI_SUCCESS;
    }

private:
    void release() {
        const auto counts = progress; // outlives this object, which the task may destroy at once
        counts->arena().enqueue(std::move(task));
        counts->end();
    }
};

/** The task that runs the user's `function` after its operations. oneTBB calls it once, as const. */
template <class F> struct task_body {
    std::shared_ptr<waiting_task> after;
    mutable F function;

    void operator()() const {
        const int code = thence::detail::first_error(after->error, after->statuses);
        if constexpr (std::is_invocable_v<F &, int, std::span<const MPI_Status>>) {
            function(code, std::span<const MPI_Status>(after->statuses));
        } else {
            if (code != MPI_SUCCESS)
                throw error("an operation that a task waited for", code, after->statuses);
            function();
        }
    }
};

} // namespace detail

/** @brief Suspend the current task until an operation is complete; its worker runs other tasks meanwhile.
 *  @param request an active request of any kind, `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cr      the continuation request that keeps track. Somebody has to make progress while all tasks are
 *                 suspended: create it with `THENCE_CR_ANY_THREAD`, or use task_group::suspend().
 *  @return the status.
 *  @throws thence::error if the operation failed, or if nothing could be attached: the request is unchanged then.
 *  @note Threads: any task or thread of oneTBB; the task may go on on another thread. Complete already: it is not
 *        suspended. Do not hold a mutex, and do not call it in a callback. */
inline MPI_Status suspend(MPI_Request &request, MPI_Request cr) {
    return thence::detail::complete(request, "an operation of a suspended task", [cr](auto requests, auto *statuses) {
        return detail::suspend(requests, statuses, cr);
    });
}

/** @brief Suspend the current task until all `requests` are complete. As suspend() for one.
 *  @return the statuses, in the order of `requests`. */
inline std::vector<MPI_Status> suspend(std::span<MPI_Request> requests, MPI_Request cr) {
    return thence::detail::complete(requests, "operations of a suspended task",
                                    [cr](auto those, auto *statuses) { return detail::suspend(those, statuses, cr); });
}

/** @brief A `tbb::task_group` that counts MPI operations too: tasks run after them, and wait() waits for both.
 *
 *  While operations are outstanding it makes progress from a task of the arena in which the group was created. */
class task_group {
public:
    /** @param cr the continuation request that keeps track; it has to outlive the group. Not poll-only and not one
     *            that needs a start, since nobody would test or start it.
     *  @throws thence::error `MPI_ERR_REQUEST` (no live CR), `MPI_ERR_ARG` (such options), `MPI_ERR_OTHER` (MPI was
     *          initialized below `MPI_THREAD_MULTIPLE`). */
    explicit task_group(MPI_Request cr) : cr_(cr), poller_(std::make_shared<detail::poller>()) {
        thence_cr_info info{};
        int level = 0;
        check(thence_cr_query(cr, &info), "task group: the continuation request");
        if (info.flags & (THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START))
            throw error("task group: create the continuation request without poll-only and needs-start", MPI_ERR_ARG);
        check(MPI_Query_thread(&level), "task group");
        if (level < MPI_THREAD_MULTIPLE)
            throw error("task group: initialize MPI with MPI_THREAD_MULTIPLE", MPI_ERR_OTHER);
    }
    /** Waits; call wait() yourself to see exceptions. */
    ~task_group() {
        try {
            group_.wait();
        } catch (...) {
        }
    }
    task_group(const task_group &) = delete;
    task_group &operator=(const task_group &) = delete;

    /** @brief Run `f()` as a task, as `tbb::task_group::run`. */
    template <class F> void run(F &&f) { group_.run(std::forward<F>(f)); }

    /** @brief Run `f` as a task of the group once all `requests` are complete.
     *  @param requests active requests of any kind; non-persistent ones are `MPI_REQUEST_NULL` on return.
     *  @param f `f()`: runs if all succeed; else the group is cancelled and wait() throws the thence::error, as if
     *           `f` had thrown it. Or `f(int error, std::span<const MPI_Status> statuses)`: runs in either case,
     *           with the code of the first failed operation or `MPI_SUCCESS`; the statuses live as long as `f`
     *           runs.
     *  @throws thence::error if nothing could be attached: the requests are unchanged and `f` will not run.
     *  @note Threads: any, inside tasks of the group too. */
    template <class F> void run_after(std::span<MPI_Request> requests, F &&f) {
        auto after = std::make_shared<detail::waiting_task>(requests.size(), poller_);
        after->task = group_.defer(detail::task_body<std::decay_t<F>>{after, std::forward<F>(f)});
        after->attach(requests, cr_);
    }
    /** @brief Run `f` as a task of the group once `request` is complete. As for a group of requests. */
    template <class F> void run_after(MPI_Request &request, F &&f) {
        run_after(std::span<MPI_Request>(&request, 1), std::forward<F>(f));
    }

    /** @brief As thence::onetbb::suspend(), and the group makes progress meanwhile. Call it in a task of the group. */
    MPI_Status suspend(MPI_Request &request) {
        const detail::outstanding counted(*poller_);
        return onetbb::suspend(request, cr_);
    }
    /** @brief As thence::onetbb::suspend() for all `requests`, and the group makes progress meanwhile. */
    std::vector<MPI_Status> suspend(std::span<MPI_Request> requests) {
        const detail::outstanding counted(*poller_);
        return onetbb::suspend(requests, cr_);
    }

    /** @brief Wait until all tasks of the group, those of run_after() included, have run or were cancelled. A
     *         cancelled group waits for its MPI operations too, so their buffers are free again.
     *  @return `tbb::complete` or `tbb::canceled`. @throws the first exception that a task of the group threw.
     *  @note Threads: as `tbb::task_group::wait`. */
    ::tbb::task_group_status wait() { return group_.wait(); }

    /** @brief Cancel the tasks of the group that have not started. MPI operations go on. */
    void cancel() { group_.cancel(); }

private:
    MPI_Request cr_;
    std::shared_ptr<detail::poller> poller_;
    ::tbb::task_group group_;
};

} // namespace thence::onetbb

#endif
