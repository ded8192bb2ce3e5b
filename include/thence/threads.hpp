// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file threads.hpp
 *  @brief Threads of the C++ standard library or POSIX: put the calling thread to sleep until MPI operations are
 *         complete, and let the callback wake it. C++20.
 *
 *  - `thence::threads::block(requests, cr)` sleeps and does not call MPI meanwhile. Another thread has to make
 *    progress: one inside MPI, or the library's helper thread (`THENCE_CR_ANY_THREAD`). If none does, it never returns.
 *  - `thence::threads::wait(requests, cr)` makes progress itself. Of all threads that are in it, one polls and the
 *    others sleep. When the operations of the polling thread are complete, another thread polls.
 *
 *  With both, several threads call MPI. So initialize it with `MPI_THREAD_MULTIPLE`, unless the program has only one
 *  thread.
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", listing 3
 *  (block and unblock) and section 3.4 (progress). */

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <thence/adapter.hpp>

namespace thence::threads {

namespace detail {

/** A blocked thread. */
struct blocked : thence::detail::blocked_caller<std::condition_variable> {
    bool polls = false;      // this thread is the one that polls for all
    blocked *next = nullptr; // in the list of sleeping threads, under the mutex of poller_choice
};

/** Chooses the one thread in wait() that polls. Invariant: if any thread is in the list `sleeping_`, exactly one other
 *  thread polls, or is in leave() and will choose the next one. Lock order: this mutex, then that of a blocked
 *  thread. */
class poller_choice {
public:
    static poller_choice &instance() {
        static poller_choice only;
        return only;
    }
    /** @return true if `self` has to poll now. Else `self` is in the list. */
    bool enter(blocked &self) {
        const std::lock_guard lock(mutex_);
        if (taken_) {
            self.next = std::exchange(sleeping_, &self);
            return false;
        }
        return taken_ = true;
    }
    /** The operations of `self` are complete. If `self` polls, or has been chosen to poll, another thread is chosen. */
    void leave(blocked &self) {
        const std::lock_guard lock(mutex_);
        for (blocked **link = &sleeping_; *link != nullptr; link = &(*link)->next) {
            if (*link == &self) { // it was not chosen
                *link = self.next;
                return;
            }
        }
        if (sleeping_ == nullptr) {
            taken_ = false;
            return;
        }
        blocked &next = *std::exchange(sleeping_, sleeping_->next);
        const std::lock_guard lock_next(next.mutex);
        next.polls = true;
        next.changed.notify_one();
    }

private:
    std::mutex mutex_;
    bool taken_ = false;
    blocked *sleeping_ = nullptr;
};

inline int block(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr) {
    return blocked().block(requests, statuses, cr);
}

inline void poll_until_done(blocked &self) {
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    std::unique_lock lock(self.mutex);
    while (!self.done) {
        lock.unlock();
        long ran = 0;
        thence_progress_some(&ran);
        if (ran > 0) {
            thence_backoff_found(&backoff);
        }
        lock.lock();
        if (self.done) {
            break;
        }
        if (const std::chrono::nanoseconds time(thence_backoff_next(&backoff)); time.count() > 0) {
            self.changed.wait_for(lock, time, [&] { return self.done; });
        }
    }
}

inline int wait(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr) {
    thence_cr_info info{};
    check(thence_cr_query(cr, &info, sizeof info), "wait: the continuation request");
    if (info.flags & (THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START)) {
        throw error("wait: create the continuation request without poll-only and needs-start, or use block()",
                    MPI_ERR_ARG);
    }
    blocked self;
    int error = MPI_SUCCESS;
    if (thence::detail::attach(requests, statuses, cr, &blocked::unblock, &self, error)) {
        return error;
    }
    poller_choice &polling = poller_choice::instance();
    bool polls = polling.enter(self);
    if (!polls) {
        std::unique_lock lock(self.mutex);
        self.changed.wait(lock, [&] { return self.done || self.polls; });
        polls = self.polls;
    }
    if (polls) {
        poll_until_done(self);
    }
    polling.leave(self);
    return self.error;
}

} // namespace detail

/** @brief Sleep until an operation is complete.
 *  @param request an active request of any kind, `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cr      the continuation request to register with.
 *  @return the status.
 *  @throws thence::error if the operation failed, or if nothing could be attached: the request is unchanged then.
 *  @note Threads: any number at once, with the same `cr` too. Do not call it in a callback: no other callback
 *        runs on that thread, so the one that wakes it may never run. */
inline MPI_Status block(MPI_Request &request, MPI_Request cr) {
    return thence::detail::complete(request, "an operation of a blocked thread",
                                    [cr](auto those, auto *statuses) { return detail::block(those, statuses, cr); });
}

/** @brief Sleep until all `requests` are complete. As block() for one. @return the statuses, in the same order. */
inline std::vector<MPI_Status> block(std::span<MPI_Request> requests, MPI_Request cr) {
    return thence::detail::complete(requests, "operations of a blocked thread",
                                    [cr](auto those, auto *statuses) { return detail::block(those, statuses, cr); });
}

/** @brief Wait until an operation is complete. If no other thread in wait() polls, this thread polls for all of them.
 *  @param cr as for block(). If it is poll-only or needs a start, the error is `MPI_ERR_ARG`.
 *  @note Threads: any number at once, with the same `cr` too. The polling thread also runs other ready callbacks.
 *        Do not call it in a callback: no continuation runs there. */
inline MPI_Status wait(MPI_Request &request, MPI_Request cr) {
    return thence::detail::complete(request, "an operation of a waiting thread",
                                    [cr](auto those, auto *statuses) { return detail::wait(those, statuses, cr); });
}

/** @brief Wait until all `requests` are complete. As wait() for one. @return the statuses, in the same order. */
inline std::vector<MPI_Status> wait(std::span<MPI_Request> requests, MPI_Request cr) {
    return thence::detail::complete(requests, "operations of a waiting thread",
                                    [cr](auto those, auto *statuses) { return detail::wait(those, statuses, cr); });
}

} // namespace thence::threads
