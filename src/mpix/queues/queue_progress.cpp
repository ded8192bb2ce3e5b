// SPDX-License-Identifier: BSD-3-Clause
// The half of a queue that runs while the queue does its work: items begin, operations are complete, waits end.
#include "mpix/queues/queue.hpp"

#include "core/continuation/attach.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "mpix/queues/source.hpp"

#include <utility>

namespace thence::queues {

thread_local constinit const item *item_being_started = nullptr;

namespace {

bool is_behind(std::uint32_t word, std::uint32_t number) noexcept {
    return static_cast<std::int32_t>(word - number) >= 0;
}

void write_status(const item &it, MPI_Status *to) noexcept {
    if (to != MPI_STATUS_IGNORE && to != nullptr) {
        *to = it.status;
        to->MPI_ERROR = it.error;
    }
}

} // namespace

// The queue calls it in place of a store to the trigger word.
void queue::triggered(void *self) noexcept {
    auto &q = *static_cast<queue *>(self);
    q.inside_.fetch_add(1); // an item is outstanding, so the queue exists
    if (!q.begins_itself_.load(std::memory_order_relaxed)) {
        std::atomic_ref(*q.words_).fetch_add(1, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    } else if (continuation::is_set_up.load(std::memory_order_acquire)) {
        q.begin(q.take_first());
    }
    q.inside_.fetch_sub(1);
}

bool queue::is_triggered() const noexcept {
    return !begins_itself_.load(std::memory_order_relaxed) && unbegun_.load() != 0 &&
           is_behind(std::atomic_ref(*words_).load(std::memory_order_acquire),
                     first_number_.load(std::memory_order_relaxed));
}

// Who leaves `beginning_` looks once more, since a thread that has found it taken leaves.
long queue::begin_triggered() noexcept {
    long begun = 0;
    while (is_triggered() && beginning_.try_lock()) {
        while (is_triggered()) {
            begin(take_first());
            ++begun;
        }
        beginning_.unlock();
        std::atomic_thread_fence(std::memory_order_seq_cst); // with the one in triggered(): one of both sees the other
    }
    return begun;
}

long queue::calls_not_begun() noexcept {
    const std::scoped_lock guard(mutex_);
    long calls = 0;
    for (const item *each = first_; each != nullptr; each = each->next) {
        calls += each->memory == nullptr ? 1 : 0; // the release of memory is no call of the program
    }
    return calls;
}

// It is triggered.
inline item &queue::take_first() noexcept {
    const std::scoped_lock guard(mutex_);
    item &it = *first_;
    first_ = it.next;
    if (first_ == nullptr) {
        last_ = nullptr;
    } else {
        first_number_.store(first_->number, std::memory_order_relaxed);
    }
    unbegun_.fetch_sub(1);
    it.reached = it.op.start != nullptr; // a wait: in begin(), where it may end
    return it;
}

void queue::begin(item &it) noexcept {
    if (it.op.start != nullptr) {
        MPI_Request request = MPI_REQUEST_NULL;
        const item *outer = std::exchange(item_being_started, &it); // the start may make progress, and begin others
        const int code = it.op.start(it.op.comm, const_cast<void *>(it.op.arguments), &request);
        item_being_started = outer;
        it.op.not_begun->fetch_sub(1);
        if (code != MPI_SUCCESS) {
            it.status = mpi::empty_status();
            complete(it, code);
            return;
        }
        it.request = request;
        attach(it);
        return;
    }
    if (it.memory != nullptr) {
        release(it.memory);
        end(it);
        return;
    }
    bool ended = false;
    {
        const std::scoped_lock guard(mutex_);
        it.reached = true;
        ended = wait_may_end(it); // else the last of its operations ends it
    }
    if (ended) {
        end(it);
    }
}

void queue::attach(item &it) noexcept {
    const continuation::user_callback callback{reinterpret_cast<continuation::any_function>(&completed), &it};
    const continuation::attach_options how{THENCE_INVOKE_FAILED, continuation::signature::own, it.op.call_site};
    const MPI_Request cr = completions();
    if (continuation::is_complete(&it.request) && continuation::take_complete(it.request, &it.status, cr)) {
        it.waiter == &it ? complete_at_once(it) : complete(it, MPI_SUCCESS);
        return;
    }
    int flag = 0;
    int code = MPI_SUCCESS;
    if (continuation::can_attach_single(&it.request, callback, cr, &flag)) [[likely]] {
        code = continuation::attach_single(it.request, callback, how, &it.status, cr, &flag);
    } else {
        code = continuation::attach(1, &it.request, callback, how, &it.status,
                                    *continuation::continuation_request::of_handle(cr), &flag);
    }
    if (code == continuation::out_of_memory) { // MPI has the operation, and only its completion lets the queue go on
        code = mpi::table.Wait(&it.request, &it.status);
        flag = 1;
    }
    if (flag != 0) {
        complete(it, code);
    }
}

int queue::completed(int error, MPI_Status *, void *data) noexcept {
    auto &it = *static_cast<item *>(data);
    it.owner->complete(it, error);
    return MPI_SUCCESS;
}

void queue::complete(item &it, int error) noexcept {
    inside_.fetch_add(1);
    it.op.not_begun.reset(); // before the program sees that it is complete, and may disconnect the communicator
    item *ended = nullptr;
    item *last = nullptr;
    MPI_Request request = MPI_REQUEST_NULL; // of the user
    {
        const std::scoped_lock guard(mutex_);
        it.complete = true;
        it.error = error;
        if (error != MPI_SUCCESS) {
            keep(error);
        }
        if (item *waiter = it.waiter; waiter != nullptr) {
            --waiter->pending;
            ended = wait_may_end(*waiter) ? waiter : nullptr;
        }
        request = it.user_request;
        last = request == MPI_REQUEST_NULL ? drop(it) : nullptr;
        if (request != MPI_REQUEST_NULL) {
            outstanding_.fetch_sub(1);
        }
    }
    if (request != MPI_REQUEST_NULL) {
        count(-1);
        mpi::table.Grequest_complete(request); // MPI may free it, but not the item: this reference is left
        const std::scoped_lock guard(mutex_);
        last = drop(it);
    }
    if (last != nullptr) {
        give_item(*last);
    }
    if (ended != nullptr) {
        end(*ended);
    }
    inside_.fetch_sub(1);
}

// An operation for which the queue waits was complete, without error, when it had begun. As complete() and end(), with
// one lock. A thread in begin_triggered() has a pin.
void queue::complete_at_once(item &it) noexcept {
    write_status(it, it.statuses);
    it.reset_operation();
    {
        const std::scoped_lock guard(mutex_);
        unused_.give(it);
        outstanding_.fetch_sub(1);
        std::atomic_ref(words_[done_word]).store(it.wait_number, std::memory_order_seq_cst); // no later wait has ended
    }
    count(-1);
    if (handle_.table->wake != nullptr) {
        handle_.table->wake(handle_.handle);
    }
}

// True if the queue has reached the wait and its operations are complete: then the statuses are set, and end() follows.
// Under mutex_.
bool queue::wait_may_end(item &it) noexcept {
    if (!it.reached || it.pending != 0) {
        return false;
    }
    if (it.op.start != nullptr) {
        write_status(it, it.statuses);
        return true;
    }
    if (it.statuses != MPI_STATUSES_IGNORE && it.statuses != nullptr) {
        for (const std::size_t index : it.null_indices) {
            it.statuses[index] = mpi::empty_status();
        }
        for (const item *each : it.waited_for) {
            write_status(*each, it.statuses + each->status_index);
        }
    }
    return true;
}

// The last act for a wait or a release: the queue goes on, and may come to an end.
void queue::end(item &it) noexcept {
    inside_.fetch_add(1);
    const bool waited = it.waits;
    const std::uint32_t wait_number = it.wait_number;
    item *unneeded = nullptr; // linked by `next`
    const auto drop_and_link = [&unneeded](item &each) {
        if (drop(each) != nullptr) {
            each.next = std::exchange(unneeded, &each);
        }
    };
    {
        const std::scoped_lock guard(mutex_);
        for (item *each : it.waited_for) {
            drop_and_link(*each);
        }
        drop_and_link(it);
        outstanding_.fetch_sub(1);
        if (std::atomic_ref done(words_[done_word]);
            waited && !is_behind(done.load(std::memory_order_relaxed), wait_number)) {
            done.store(wait_number, std::memory_order_seq_cst);
        }
    }
    while (unneeded != nullptr) {
        give_item(*std::exchange(unneeded, unneeded->next));
    }
    count(-1);
    if (waited && handle_.table->wake != nullptr) {
        handle_.table->wake(handle_.handle);
    }
    inside_.fetch_sub(1);
}

} // namespace thence::queues
