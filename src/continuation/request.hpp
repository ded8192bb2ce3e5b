// SPDX-License-Identifier: BSD-3-Clause
// The continuation request (CR): a set of continuations with one state.
//
// `references_` holds the whole state: 1 for the handle while it is not freed, 2 per registered continuation.
//   1: Initialized, Inactive, Active Idle or Complete; these differ for nobody but thence_start()
//   3 and more: Active Referenced        even: freed, goes with its last continuation
// Invariant: the object is recycled by whoever takes `references_` to zero, and by nobody else. A continuation that is
// registered holds its reference until its callback has returned. Objects are constructed once and only reset for
// reuse, so a thread that is late in became_idle() finds a valid object, at worst another CR's, and notifies waiters of
// that one only if it is idle, which is right.
#pragma once

#include "base/ready_queue.hpp"
#include "continuation/continuation.hpp"
#include "continuation/handle.hpp"

#include <thence/thence.h>

#include <mutex>
#include <vector>

namespace thence::continuation {

struct cr_options {
    unsigned flags = 0;
    int max_poll = -1;
};

class alignas(64) continuation_request {
public:
    // Null when all max_crs are in use.
    static continuation_request *create(const cr_options &options);
    // The live CR behind a handle, or null.
    static continuation_request *from(MPI_Request request) noexcept {
        continuation_request *cr = object_of(request);
        return cr != nullptr && cr->live_.load(std::memory_order_acquire) ? cr : nullptr;
    }
    // The same, but null also if MPI does not push completions: for attach_single().
    static continuation_request *pushing_from(MPI_Request request) noexcept {
        continuation_request *cr = object_of(request);
        return cr != nullptr && cr->pushing_.load(std::memory_order_acquire) ? cr : nullptr;
    }
    // Continuations registered with any CR.
    static long registered_in_all() noexcept;
    // Whether there are any. While there are, this mostly looks at one CR, however many exist.
    static bool any_registered() noexcept;

    MPI_Request handle() const noexcept { return handle_of(this); }
    unsigned flags() const noexcept { return flags_; }
    int max_poll() const noexcept { return max_poll_; }
    bool has(unsigned flag) const noexcept { return (flags_ & flag) != 0; }

    void acquire() noexcept { references_.fetch_add(2, std::memory_order_seq_cst); }
    void release(long n = 1) noexcept { drop(2 * n); }
    bool idle() const noexcept { return references_.load(std::memory_order_acquire) < 2; }
    long registered() const noexcept { return references_.load(std::memory_order_acquire) / 2; }

    // The handle is given up: no further registration; the object goes with its last continuation.
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

    // A continuation of this CR is complete: into the queue it may run from. `c` may be gone on return.
    void enqueue(continuation *c) noexcept {
        base::ready_queue<continuation> *queue = queue_.load(std::memory_order_relaxed);
        queue->push(c);
        if (queue == &own_) [[unlikely]] {
            // A start or a free may have emptied own_ just before the push; then nobody else would move it on.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            move_on();
        }
    }
    base::ready_queue<continuation> &own_queue() noexcept { return own_; }

    // Registers `op` to complete when this CR becomes idle. False if it is idle now.
    bool add_waiter(engine::operation &op);

    void add_failed(void *data, int error);
    int take_failed(int capacity, void **data);
    // The error of the oldest failed continuation since the last call, or MPI_SUCCESS.
    int take_error() noexcept;

private:
    friend struct cr_slots;
    void reset(const cr_options &options) noexcept;
    void drop(long n) noexcept {
        const long left = references_.fetch_sub(n, std::memory_order_seq_cst) - n;
        if (left < 2 && (left == 0 || has_waiters_.load(std::memory_order_seq_cst))) [[unlikely]] {
            became_idle(left);
        }
    }
    void became_idle(long left) noexcept;
    void move_on() noexcept;
    base::ready_queue<continuation> *queue_while_active() noexcept;
    void notify_waiters() noexcept;

    // Hot: touched once per registration and once per completion.
    std::atomic<long> references_{0};
    std::atomic<base::ready_queue<continuation> *> queue_; // where ready continuations go now
    unsigned flags_ = 0;
    int max_poll_ = -1;
    std::atomic<bool> pushing_{false}; // live, and the engine pushes
    std::atomic<bool> live_{false};
    std::atomic<bool> active_{false};
    std::atomic<bool> has_waiters_{false};
    base::ready_queue<continuation> own_; // poll-only, or parked until started

    std::mutex mutex_; // guards what follows
    std::vector<engine::operation *> waiters_;
    std::vector<void *> failed_;
    int error_ = MPI_SUCCESS;
};
static_assert(sizeof(continuation_request) <= cr_bytes);

// Ready continuations that run wherever the library is entered: by application threads, or by any thread.
extern base::ready_queue<continuation> application_queue;
extern base::ready_queue<continuation> any_thread_queue;

} // namespace thence::continuation
