// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file tbb.hpp
 *  @brief oneTBB: suspend a task until MPI operations are complete, and a task group that counts them. C++20.
 *
 *  - `thence::onetbb::suspend(requests, cr)` blocks the task, not its worker, which runs other tasks.
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

#include <thence/adapter.hpp>
#include <thence/detail/atomic.hpp>

namespace thence::onetbb {

namespace detail {

/** A suspended task, on the stack of that task. The task and the callback both call arrive(); the second one resumes
 *  the task. After its exchange the first one accesses nothing of this object, which may be destroyed by then. */
struct suspended {
    ::tbb::task::suspend_point point{};
    std::atomic<bool> arrived{false}; // one of the two has called arrive()
    int error = MPI_SUCCESS;

    void arrive() {
        if (arrived.exchange(true, std::memory_order_acq_rel)) {
            ::tbb::task::resume(point);
        }
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
    if (thence::detail::attach(requests, statuses, cr, &suspended::callback, &self, error)) {
        return error;
    }
    ::tbb::task::suspend([&self](::tbb::task::suspend_point point) {
        self.point = point;
        self.arrive();
    });
    return self.error;
}

class poller;

/** A task that waits for operations. The task owns this object, and this object owns the task until oneTBB gets it. So
 *  both exist until the task has run or was cancelled. */
struct waiting_task {
    waiting_task(std::size_t count, poller &by) : statuses(count), progress(by) {}
    waiting_task(const waiting_task &) = delete;

    ::tbb::task_handle task;
    std::vector<MPI_Status> statuses;
    int error = MPI_SUCCESS;
    poller &progress;
    waiting_task *next = nullptr; // in the poller's list of ready tasks

    inline void attach(std::span<MPI_Request> requests, MPI_Request cr);
    static inline int callback(int error, MPI_Status *, void *data) noexcept;
};

/** Polls MPI in tasks of oneTBB while operations are outstanding, in one task at a time, and runs ready tasks in the
 *  group. A callback may run on any thread, also on one that is not oneTBB's, so it only puts its task into a list.
 *
 *  Each polling task begins by suspending and resuming itself, so that other tasks run first. A thread that has no
 *  other task takes resumed tasks, also in a nested wait, where oneTBB takes no enqueued tasks. A spawned task would
 *  run before the older tasks of its thread. The task never stays suspended, since the stack frames of a wait may lie
 *  below it.
 *
 *  Invariants: `outstanding_` counts every operation until its task is given to the group. While it is not 0 there is a
 *  polling task, or the thread that has increased it is about to start one. MPI is called only while `in_mpi_` is set,
 *  and only if `outstanding_` is seen above 0 after that. So when nothing is outstanding and leave_mpi() has seen
 *  `in_mpi_` false, no call of MPI is active and none will begin. */
class poller {
public:
    explicit poller(::tbb::task_group &group) : group_(group) {
        // Creates the implicit arena of this thread, to attach to, and binds the group to the context of this task. If
        // the group were bound when poll() runs its first task, a cancellation before that would be lost.
        group_.run_and_wait([] {});
        arena_ = std::make_unique<::tbb::task_arena>(::tbb::task_arena::attach{});
    }
    ~poller() { own_group_.wait(); }
    poller &operator=(poller &&) = delete;

    void begin() {
        if (outstanding_.fetch_add(1) == 0) {
            ensure_polling();
        }
    }
    void end() noexcept { outstanding_.fetch_sub(1); }

    /** Passes `task` to the next poll. It is the last access of the caller to `task` and to this object: both may be
     *  destroyed at once. */
    void ready(waiting_task &task) noexcept {
        task.next = ready_.load(std::memory_order_relaxed);
        while (!ready_.compare_exchange_weak(task.next, &task, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }
    /** Call it when nothing is outstanding. When it returns, MPI may be finalized. */
    void leave_mpi() const noexcept {
        for (thence::detail::spin_wait wait; in_mpi_.load();) {
            wait();
        }
    }

private:
    using clock = std::chrono::steady_clock;

    void ensure_polling() {
        if (!polling_.exchange(true)) {
            spawn();
        }
    }
    void spawn() {
        if (::tbb::this_task_arena::current_thread_index() != ::tbb::task_arena::not_initialized) {
            own_group_.run([this] { poll(); });
        } else {
            arena_->enqueue(own_group_.defer([this] { poll(); }));
        }
    }
    void poll() {
        ::tbb::task::suspend([](::tbb::task::suspend_point point) { ::tbb::task::resume(point); });
        if (clock::now() - left_ > std::chrono::microseconds(20)) { // other tasks have run since
            thence_backoff_found(&backoff_);
        }
        const bool found = call_mpi();
        waiting_task *oldest = take_ready();
        if (found || oldest != nullptr) {
            thence_backoff_found(&backoff_);
        } else {
            thence_backoff_pause(&backoff_);
        }
        left_ = clock::now();

        // A thread runs the task that it spawned last first. So the ready tasks are spawned after the next polling
        // task.
        if (outstanding_.load() > 0) {
            spawn();
        } else {
            polling_.store(false);
            if (outstanding_.load() > 0) { // begin() saw `polling_` set, and relies on this thread
                ensure_polling();
            }
        }
        while (oldest != nullptr) {
            group_.run(std::move(std::exchange(oldest, oldest->next)->task));
        }
    }
    /** @return whether the number of outstanding operations has changed. */
    bool call_mpi() noexcept {
        in_mpi_.store(true);
        const long before = outstanding_.load();
        for (int i = 0;
             i < 8 && before > 0 && ready_.load(std::memory_order_relaxed) == nullptr && outstanding_.load() == before;
             ++i) {
            thence_progress();
        }
        in_mpi_.store(false);
        return outstanding_.load() != before;
    }
    /** @return the ready tasks, oldest first. They are not outstanding any more. The group's wait() still waits for
     *          them. */
    waiting_task *take_ready() noexcept {
        waiting_task *newest = ready_.exchange(nullptr, std::memory_order_acquire);
        waiting_task *oldest = nullptr;
        while (newest != nullptr) {
            waiting_task *const next = std::exchange(newest->next, oldest);
            oldest = std::exchange(newest, next);
            end();
        }
        return oldest;
    }

    ::tbb::task_group &group_;
    std::unique_ptr<::tbb::task_arena> arena_;
    std::atomic<long> outstanding_{0};
    std::atomic<waiting_task *> ready_{nullptr};
    std::atomic<bool> polling_{false};
    std::atomic<bool> in_mpi_{false};
    thence_backoff backoff_ = THENCE_BACKOFF_INIT;
    clock::time_point left_{};
    // Isolated, so that cancelling the tasks around the group does not stop progress.
    ::tbb::task_group_context context_{::tbb::task_group_context::isolated};
    ::tbb::task_group own_group_{context_};
};

/** Counts as an outstanding operation from construction to destruction. */
class outstanding {
public:
    explicit outstanding(poller &counts) : counts_(counts) { counts_.begin(); }
    ~outstanding() { counts_.end(); }
    outstanding &operator=(outstanding &&) = delete;

private:
    poller &counts_;
};

void waiting_task::attach(std::span<MPI_Request> requests, MPI_Request cr) {
    progress.begin();
    try {
        if (thence::detail::attach(requests, statuses.data(), cr, &waiting_task::callback, this, error)) {
            progress.ready(*this);
        }
    } catch (...) {
        progress.end();
        task = {};
        throw;
    }
}

int waiting_task::callback(int error, MPI_Status *, void *data) noexcept {
    auto *self = static_cast<waiting_task *>(data);
    self->error = error;
    self->progress.ready(*self);
    return MPI_SUCCESS;
}

/** The task that runs the user's `function` after its operations. oneTBB calls it once, as const. */
template <class F> struct task_body {
    std::shared_ptr<waiting_task> after;
    mutable F function;

    void operator()() const {
        const int code = thence::detail::first_error(after->error, after->statuses);
        if constexpr (std::is_invocable_v<F &, int, std::span<const MPI_Status>>) {
            function(code, std::span<const MPI_Status>(after->statuses));
        } else {
            if (code != MPI_SUCCESS) {
                throw error("an operation that a task waited for", code, after->statuses);
            }
            function();
        }
    }
};

} // namespace detail

/** @brief Suspend the current task until an operation is complete; its worker runs other tasks meanwhile.
 *  @param request an active request of any kind, `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cr      the continuation request to register with. If all tasks are suspended, no task makes progress: create
 *                 it with `THENCE_CR_ANY_THREAD`, or use task_group::suspend().
 *  @return the status.
 *  @throws thence::error if the operation failed, or if nothing could be attached: the request is unchanged then.
 *  @note Threads: any task or thread of oneTBB. The task may resume on another thread. If the operation is complete
 *        already, the task is not suspended. Do not hold a mutex, and do not call it in a callback. */
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
    /** @param cr the continuation request to register with; it has to outlive the group. Not poll-only and not one
     *            that needs a start: the group neither tests nor starts it.
     *  @throws thence::error `MPI_ERR_REQUEST` (no live CR), `MPI_ERR_ARG` (such options), `MPI_ERR_OTHER` (MPI was
     *          initialized below `MPI_THREAD_MULTIPLE`). */
    explicit task_group(MPI_Request cr) : cr_(cr) {
        thence_cr_info info{};
        int level = 0;
        check(thence_cr_query(cr, &info, sizeof info), "task group: the continuation request");
        if (info.flags & (THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START)) {
            throw error("task group: create the continuation request without poll-only and needs-start", MPI_ERR_ARG);
        }
        check(MPI_Query_thread(&level), "task group");
        if (level < MPI_THREAD_MULTIPLE) {
            throw error("task group: initialize MPI with MPI_THREAD_MULTIPLE", MPI_ERR_OTHER);
        }
    }
    /** Waits as wait(), and drops its exception. Call wait() before to get it. */
    ~task_group() {
        try {
            wait();
        } catch (...) {
        }
    }
    task_group &operator=(task_group &&) = delete;

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
        const detail::outstanding counted(poller_);
        return onetbb::suspend(request, cr_);
    }
    /** @brief As thence::onetbb::suspend() for all `requests`, and the group makes progress meanwhile. */
    std::vector<MPI_Status> suspend(std::span<MPI_Request> requests) {
        const detail::outstanding counted(poller_);
        return onetbb::suspend(requests, cr_);
    }

    /** @brief Wait until all tasks of the group, those of run_after() included, have run or were cancelled. A
     *         cancelled group waits for its MPI operations too, so their buffers are free again.
     *  @return `tbb::complete` or `tbb::canceled`. @throws the first exception that a task of the group threw.
     *  @note Threads: as `tbb::task_group::wait`. */
    ::tbb::task_group_status wait() {
        const struct leaving {
            detail::poller &poller;
            ~leaving() { poller.leave_mpi(); }
        } leaves_mpi{poller_};
        return group_.wait();
    }

    /** @brief Cancel the tasks of the group that have not started. MPI operations go on. */
    void cancel() { group_.cancel(); }

private:
    MPI_Request cr_;
    ::tbb::task_group group_;
    detail::poller poller_{group_}; // last: it uses the group
};

} // namespace thence::onetbb
