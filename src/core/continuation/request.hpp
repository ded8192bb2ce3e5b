// SPDX-License-Identifier: BSD-3-Clause
// The continuation request (CR): a set of continuations with one state.
//
// `references_` counts 1 for the handle until it is freed, and 2 for each registered continuation. Its value gives the
// state of the CR:
//   - 1: no continuation is registered. If `reported_` is true, the state is Initialized, Inactive or Complete, else it
//     is Active Idle. Only thence_start() and the any and some forms of MPI's completion calls, which ignore a CR that
//     is not active, treat these states differently.
//   - odd, 3 or more: Active Referenced.
//   - even, 2 or more: the handle is freed. The object is recycled after the last continuation.
// Invariant: only the thread that decrements `references_` to zero recycles the object. A registered continuation
// holds its reference until its callback has returned.
// Objects are constructed once and only reset for reuse, so a thread in became_idle() always has a valid object, also
// if another thread has recycled it meanwhile. If the object is another CR by then, its waiters are notified only if
// that CR is idle, which is correct.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/base/ready_queue.hpp"
#include "core/base/visibility.hpp"
#include "core/continuation/continuation.hpp"
#include "core/continuation/handle.hpp"

#include <thence/thence.h>

#include <mutex>
#include <vector>

namespace thence::continuation {

struct cr_options {
    unsigned flags = 0;
    int max_poll = -1;
};

// Sets the results of an operation for which MPI has no status: a null request, or a CR.
void set_empty_results(engine::operation &op, int error) noexcept;

class alignas(64) continuation_request {
public:
    // Null when all max_crs are in use.
    static continuation_request *create(const cr_options &options);
    // The live CR behind a handle, or null.
    static continuation_request *of_handle(MPI_Request request) noexcept {
        return is_live(request) ? object_of(request) : nullptr;
    }
    // True if `request` is the handle of a live CR. Another thread may free it at any moment, unless the program
    // prevents that.
    static bool is_live(MPI_Request request) noexcept { return names_object(request) && object_of(request)->live(); }
    // How the common case of attach.hpp finds completions for this CR: MPI pushes the operation, or the engine polls
    // it. Both are false if continuations are observed.
    bool pushes() const noexcept { return pushes_; }
    bool polls() const noexcept { return polls_; }
    // True if the handle is not freed.
    bool live() const noexcept { return base::load_plain(live_); } // saves one instruction per attach
    // The number of continuations that are registered with any CR.
    static long registered_in_all() noexcept;
    // True if there are any. If so, this usually reads one CR only, however many exist.
    static bool any_registered() noexcept;
    // The library ends: nothing can be attached to those that exist, and a test of one that is not idle fails.
    static void close_all() noexcept;

    MPI_Request handle() const noexcept { return handle_of(this); }
    unsigned flags() const noexcept { return flags_; }
    int max_poll() const noexcept { return max_poll_; }
    bool has(unsigned flag) const noexcept { return (flags_ & flag) != 0; }

    void acquire() noexcept { references_.fetch_add(2, std::memory_order_seq_cst); }
    // Returns true if that was the last continuation, the handle is not freed, and no other continuation waits for this
    // CR: it became idle.
    bool release() noexcept {
        set_reported(false); // before drop(), so that no thread can report the CR idle before
        return drop(2) == 1;
    }
    // For a continuation that will not run: the CR is as if it had not been registered.
    void unregister() noexcept { drop(2); }
    // True if a wait has nothing more to do once the CR is idle.
    bool waits_simply() const noexcept { return !has(THENCE_CR_NEEDS_START | THENCE_CR_REPORT_FAILED); }
    bool idle() const noexcept { return references_.load(std::memory_order_acquire) < 2; }
    long registered() const noexcept { return references_.load(std::memory_order_acquire) / 2; }
    // Has a meaning while the CR is idle. True if a completion call has reported it complete since the last
    // continuation ran, or if none was ever registered.
    bool reported() const noexcept { return reported_.load(std::memory_order_relaxed); }
    void set_reported(bool value) noexcept { reported_.store(value, std::memory_order_relaxed); }

    // Gives up the handle. Nothing more can be registered. The object is recycled after its last continuation.
    void free_handle() noexcept;

    // For CRs that need a start. Others are always active.
    bool active() const noexcept { return active_.load(std::memory_order_acquire); }
    bool start() noexcept;
    void deactivate() noexcept {
        if (has(THENCE_CR_NEEDS_START)) {
            active_.store(false, std::memory_order_relaxed);
            queue_.store(&own_, std::memory_order_seq_cst);
        }
    }

    // True if a ready continuation needs more than a push into a queue: it may have to wait for a test or a start, or
    // may run at once.
    bool is_special() const noexcept { return is_special_; }
    // True if a ready continuation may have to wait for a test or a start of this CR.
    bool may_park() const noexcept { return may_park_; }
    // Where ready continuations of this CR go now: by default application_queue.
    base::ready_queue<continuation> &current_queue() noexcept { return *queue_.load(std::memory_order_relaxed); }
    // Puts a ready continuation there, if may_park().
    void enqueue_or_park(continuation *c) noexcept;
    base::ready_queue<continuation> &own_queue() noexcept { return own_; }

    // Registers `op` to complete when this CR becomes idle. False if it is idle now. The results of `op` are then an
    // empty status and the error that a test would return.
    bool add_waiter(engine::operation &op);

    // If it owns its data (owned_data.hpp), these stay until the call of take_failed() after the one that has given
    // them, or until the CR goes.
    struct failed_data {
        void *data;
        bool owned;
    };
    // `handled`: the error is that of an operation, and MPI has called the error handler of its object.
    void add_failed(failed_data kept, int error, bool handled);
    int take_failed(int capacity, void **data);
    int failed() const noexcept; // how many take_failed() would give
    // The error of the oldest failed continuation since the last call of take_error().
    struct failure {
        int error = MPI_SUCCESS;
        bool handled = false;
    };
    failure take_error() noexcept;

private:
    friend struct cr_slots;
    void reset(const cr_options &options) noexcept;
    long drop(long n) noexcept {
        const long left = references_.fetch_sub(n, std::memory_order_seq_cst) - n;
        if (left < 2 && (left == 0 || has_waiters_.load(std::memory_order_seq_cst))) [[unlikely]] {
            became_idle(left);
            return 0;
        }
        return left;
    }
    void became_idle(long left) noexcept;
    void release_given() noexcept;
    void move_on() noexcept;
    base::ready_queue<continuation> *queue_while_active() noexcept;
    void notify_waiters() noexcept;

    // Hot: touched once per registration and once per completion.
    std::atomic<long> references_{0};
    std::atomic<base::ready_queue<continuation> *> queue_; // see current_queue()
    unsigned flags_ = 0;
    int max_poll_ = -1;
    std::atomic<bool> live_{false}; // created, and the handle is not freed
    bool pushes_ = false;
    bool polls_ = false;
    bool may_park_ = false; // the queue may be own_
    bool is_special_ = false;
    std::atomic<bool> active_{false};
    std::atomic<bool> reported_{true};
    std::atomic<bool> has_waiters_{false};
    base::ready_queue<continuation> own_; // poll-only, or parked until started

    mutable std::mutex mutex_; // guards what follows, but for the handle
    failure first_failure_;
    // The handle in Fortran. Open MPI's library for Fortran reads it where its own requests have theirs, and a handle
    // is the address of this object plus one. So it is not aligned.
    [[maybe_unused]] unsigned char unused_[9];
    unsigned char fortran_handle_[sizeof(int)];
    std::vector<engine::operation *> waiters_;
    std::vector<failed_data> failed_;
    std::vector<void *> given_; // owned data that take_failed() has given
};
static_assert(sizeof(continuation_request) <= cr_bytes);

// Ready continuations that may run outside a test of their CR: on application threads only, or on any thread.
extern THENCE_HIDDEN base::ready_queue<continuation> application_queue;
extern THENCE_HIDDEN base::ready_queue<continuation> any_thread_queue;

} // namespace thence::continuation
