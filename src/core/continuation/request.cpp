// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/request.hpp"

#include "core/continuation/complete.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/owned_data.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/openmpi_layout.hpp"
#include "core/mpi/calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace thence::continuation {

alignas(64) unsigned char cr_arena[max_crs * cr_bytes];

base::ready_queue<continuation> application_queue;
base::ready_queue<continuation> any_thread_queue;

// Allocates the slots of the arena. A slot that has held a CR without THENCE_CR_REPORT_FAILED is used for one with it
// only when no other is left: thence_cr_create() promises that, since the Fortran binding keeps which CRs have it.
struct cr_slots {
    using reusable_slots =
        std::array<std::vector<std::uint32_t>, 2>; // [1]: the last CR there had THENCE_CR_REPORT_FAILED
    static reusable_slots &reusable() {
        static auto &made = *new reusable_slots; // threads free CRs while the process exits
        return made;
    }
    static inline std::mutex mutex;
    static inline std::atomic<std::uint32_t> used{0}; // slots that ever held one

    static continuation_request *at(std::uint32_t index) noexcept {
        return reinterpret_cast<continuation_request *>(cr_arena + std::size_t{index} * cr_bytes);
    }
    static continuation_request *create(const cr_options &options) {
        std::scoped_lock guard(mutex);
        continuation_request *cr = nullptr;
        const std::uint32_t fresh = used.load(std::memory_order_relaxed);
        const unsigned kind = (options.flags & THENCE_CR_REPORT_FAILED) != 0 ? 1 : 0;
        const bool of_other_kind = fresh == max_crs && reusable()[kind].empty();
        if (std::vector<std::uint32_t> &freed = reusable()[of_other_kind ? 1 - kind : kind]; !freed.empty()) {
            cr = at(freed.back());
            freed.pop_back();
        } else if (fresh < max_crs) {
            for (std::vector<std::uint32_t> &each : reusable()) {
                each.reserve(fresh + 1); // so that recycling never allocates
            }
            cr = new (at(fresh)) continuation_request;
            used.store(fresh + 1, std::memory_order_seq_cst);
        } else {
            return nullptr;
        }
        cr->reset(options);
        return cr;
    }
    static void recycle(continuation_request *cr) noexcept {
        std::scoped_lock guard(mutex);
        const auto offset = reinterpret_cast<unsigned char *>(cr) - cr_arena;
        reusable()[cr->has(THENCE_CR_REPORT_FAILED) ? 1 : 0].push_back(
            static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / cr_bytes));
    }
};

void set_empty_results(engine::operation &op, int error) noexcept {
    op.error = error;
    if (engine::wanted(op.status)) {
        *op.status = mpi::empty_status();
        op.status->MPI_ERROR = error;
    }
}

void continuation_request::reset(const cr_options &options) noexcept {
    static_assert(offsetof(continuation_request, fortran_handle_) == engine::openmpi::fortran_handle_offset + 1);
    const int in_fortran = to_fortran(handle());
    std::memcpy(fortran_handle_, &in_fortran, sizeof fortran_handle_);
    flags_ = options.flags;
    max_poll_ = options.max_poll;
    if (has(THENCE_CR_IN_COMPLETION) && (has(THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START) || max_poll_ >= 0 ||
                                         observing != nullptr || !engine::current->runs_in_completion())) {
        flags_ &= ~THENCE_CR_IN_COMPLETION;
    }
    failed_.clear();
    first_failure_ = {};
    active_.store(!has(THENCE_CR_NEEDS_START), std::memory_order_relaxed);
    queue_.store(active() ? queue_while_active() : &own_, std::memory_order_relaxed);
    set_reported(true);
    references_.store(1, std::memory_order_relaxed);
    may_park_ = has(THENCE_CR_NEEDS_START | THENCE_CR_POLL_ONLY);
    is_special_ = may_park_ || has(THENCE_CR_IN_COMPLETION);
    pushes_ = engine::push_enabled && observing == nullptr;
    polls_ = !engine::push_enabled && observing == nullptr;
    live_.store(true, std::memory_order_release);
}

continuation_request *continuation_request::create(const cr_options &options) {
    return cr_slots::create(options);
}

// A slot that was used once holds an object for ever, so both functions read it without a lock. Their loads are
// sequentially consistent, as the protocol of resting requires (see progress.hpp).
long continuation_request::registered_in_all() noexcept {
    long sum = 0;
    const std::uint32_t used = cr_slots::used.load(std::memory_order_seq_cst);
    for (std::uint32_t i = 0; i < used; ++i) {
        sum += cr_slots::at(i)->references_.load(std::memory_order_seq_cst) / 2;
    }
    return sum;
}

void continuation_request::close_all() noexcept {
    const std::uint32_t used = cr_slots::used.load(std::memory_order_seq_cst);
    for (std::uint32_t i = 0; i < used; ++i) {
        cr_slots::at(i)->pushes_ = cr_slots::at(i)->polls_ = false; // the common case of attach.hpp does not apply
    }
}

bool continuation_request::any_registered() noexcept {
    static std::atomic<std::uint32_t> found{0};
    const auto has_some = [](std::uint32_t i) {
        return cr_slots::at(i)->references_.load(std::memory_order_seq_cst) >= 2;
    };
    const std::uint32_t used = cr_slots::used.load(std::memory_order_seq_cst);
    const std::uint32_t last = found.load(std::memory_order_relaxed);
    if (last < used && has_some(last)) {
        return true;
    }
    for (std::uint32_t i = 0; i < used; ++i) {
        if (has_some(i)) {
            found.store(i, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void continuation_request::free_handle() noexcept {
    live_.store(false, std::memory_order_release);
    // This CR can no longer be tested or started. So continuations that waited for that may now run like any other.
    queue_.store(has(THENCE_CR_ANY_THREAD) ? &any_thread_queue : &application_queue, std::memory_order_seq_cst);
    active_.store(true, std::memory_order_relaxed);
    move_on();
    drop(1);
}

bool continuation_request::start() noexcept {
    if (!has(THENCE_CR_NEEDS_START)) {
        return true;
    }
    if (active_.exchange(true, std::memory_order_seq_cst)) {
        return false;
    }
    queue_.store(queue_while_active(), std::memory_order_seq_cst);
    move_on();
    return true;
}

base::ready_queue<continuation> *continuation_request::queue_while_active() noexcept {
    return has(THENCE_CR_POLL_ONLY) ? &own_ : has(THENCE_CR_ANY_THREAD) ? &any_thread_queue : &application_queue;
}

void continuation_request::enqueue_or_park(continuation *c) noexcept {
    base::ready_queue<continuation> &queue = current_queue();
    queue.push(c);
    if (&queue == &own_) {
        // A start or a free may have emptied own_ just before the push. Then no other thread would move `c` on.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        move_on();
    }
}

// Moves parked continuations to the queue they may run from, if queue_ is no longer own_.
void continuation_request::move_on() noexcept {
    while (queue_.load(std::memory_order_seq_cst) != &own_ && !own_.empty()) {
        continuation *parked = own_.pop();
        if (parked == nullptr) {
            break;
        }
        queue_.load(std::memory_order_seq_cst)->push(parked);
    }
}

void continuation_request::became_idle(long left) noexcept {
    notify_waiters();
    if (left == 0) {
        take_failed(failed(), nullptr);
        release_given();
        cr_slots::recycle(this);
    }
}

// If a waiter is added during this function, add_waiter() itself sees that the CR is idle: it sets has_waiters_ first
// and then checks.
void continuation_request::notify_waiters() noexcept {
    std::vector<engine::operation *> ready;
    int error = MPI_SUCCESS;
    if (has_waiters_.load(std::memory_order_seq_cst)) {
        std::scoped_lock guard(mutex_);
        if (!idle()) {
            return; // a continuation was registered meanwhile; its release notifies
        }
        ready.swap(waiters_);
        error = std::exchange(first_failure_, {}).error; // the waiters receive the error that a test would return
        has_waiters_.store(false, std::memory_order_relaxed);
    }
    for (engine::operation *op : ready) {
        set_empty_results(*op, error);
        operation_complete(*op);
    }
}

bool continuation_request::add_waiter(engine::operation &op) {
    std::scoped_lock guard(mutex_);
    waiters_.push_back(&op);
    has_waiters_.store(true, std::memory_order_seq_cst);
    if (references_.load(std::memory_order_seq_cst) < 2) {
        waiters_.pop_back();
        has_waiters_.store(!waiters_.empty(), std::memory_order_relaxed);
        set_empty_results(op, std::exchange(first_failure_, {}).error);
        return false;
    }
    return true;
}

void continuation_request::add_failed(failed_data kept, int error, bool handled) {
    std::scoped_lock guard(mutex_);
    failed_.push_back(kept);
    if (first_failure_.error == MPI_SUCCESS) {
        first_failure_ = {error, handled};
    }
}

int continuation_request::take_failed(int capacity, void **data) {
    std::scoped_lock guard(mutex_);
    const int n = std::min(capacity, static_cast<int>(failed_.size()));
    release_given();
    for (int i = 0; i < n; ++i) {
        const failed_data &kept = failed_[static_cast<std::size_t>(i)];
        if (data != nullptr) {
            data[i] = kept.data;
        }
        if (kept.owned) {
            given_.push_back(kept.data);
        }
    }
    failed_.erase(failed_.begin(), failed_.begin() + n);
    return n;
}

void continuation_request::release_given() noexcept {
    std::for_each(given_.begin(), given_.end(), &release_data);
    given_.clear();
}

int continuation_request::failed() const noexcept {
    std::scoped_lock guard(mutex_);
    return static_cast<int>(failed_.size());
}

continuation_request::failure continuation_request::take_error() noexcept {
    std::scoped_lock guard(mutex_);
    return std::exchange(first_failure_, {});
}

} // namespace thence::continuation
