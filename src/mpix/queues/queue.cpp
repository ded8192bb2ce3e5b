// SPDX-License-Identifier: BSD-3-Clause
// The half that calls of the program run: what is enqueued. The other half is in queue_progress.cpp.
#include "mpix/queues/queue.hpp"

#include "core/base/spin_lock.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "mpix/queues/enqueued_requests.hpp"
#include "mpix/queues/source.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace thence::queues {

owned_queue queue::create(const thence_queue &which) noexcept {
    const thence_queue_table &table = *which.table;
    if (table.use != nullptr && table.use(which.handle, 1) != 0) {
        return nullptr;
    }
    queue *made = new (std::nothrow) queue(which);
    if (made != nullptr) {
        made->begins_itself_ = table.record == nullptr && (table.flags & THENCE_QUEUE_CALLS_MPI) != 0 &&
                               continuation::others_may_attach.load(std::memory_order_relaxed);
        made->words_ = static_cast<std::uint32_t *>(made->allocate(words_bytes));
        if (made->words_ != nullptr) {
            std::memset(made->words_, 0, words_bytes);
            if (add_queue(*made)) {
                return owned_queue(made);
            }
            made->release(std::exchange(made->words_, nullptr));
        }
        made->drop_user();
    }
    if (table.use != nullptr) {
        table.use(which.handle, 0);
    }
    return nullptr;
}

queue::~queue() {
    spare_.delete_all();
    unused_.delete_all();
}

void queue::close() noexcept {
    remove_queue(*this);
    for (base::spin_wait wait; inside_.load() != 0;) {
        wait();
    }
    release(std::exchange(words_, nullptr));
    if (handle_.table->use != nullptr) {
        handle_.table->use(handle_.handle, 0);
    }
    drop_user();
}

void queue_closer::operator()(queue *closed) const noexcept {
    closed->close();
}

void queue::drop_user() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete this;
    }
}

void *queue::allocate(std::size_t bytes) noexcept {
    bytes = (bytes + 63) / 64 * 64;
    return handle_.table->allocate != nullptr ? handle_.table->allocate(handle_.handle, bytes)
                                              : std::aligned_alloc(64, bytes);
}

void queue::release(void *memory) noexcept {
    if (handle_.table->allocate == nullptr) {
        std::free(memory);
    } else if (handle_.table->release != nullptr) {
        handle_.table->release(handle_.handle, memory);
    }
}

// Under mutex_.
void queue::keep(int error) noexcept {
    if (kept_error_.load(std::memory_order_relaxed) == MPI_SUCCESS) {
        kept_error_.store(error);
    }
}

// Items that have not ended are more by `n`, for progress.
void queue::count(long n) noexcept {
    if (!begins_itself_.load(std::memory_order_relaxed)) {
        count_outstanding(n);
    }
}

// The trigger word becomes what it would be if the launched functions had always added to it.
void queue::begin_by_progress() noexcept {
    std::atomic_ref(words_[0]).store(last_number_, std::memory_order_relaxed);
    begins_itself_.store(false, std::memory_order_relaxed);
}

// Null if memory is exhausted. Without `what` it is a wait or a release. `enqueueing_` is held.
item *queue::take_item(const enqueued_operation *what) noexcept {
    if (spare_.empty()) {
        const std::scoped_lock guard(mutex_);
        spare_ = unused_.take_all();
    }
    item *it = spare_.take_or_make();
    if (it == nullptr) {
        return nullptr;
    }
    it->next = nullptr;
    it->owner = this;
    if (what == nullptr) {
        return it;
    }
    void *copy = nullptr;
    if (what->size != 0) {
        copy = what->size <= item::most_inside ? static_cast<void *>(it->inside) : std::malloc(what->size);
        if (copy == nullptr) {
            give_item(*it);
            return nullptr;
        }
        std::memcpy(copy, what->arguments, what->size);
    }
    it->op = *what;
    it->op.arguments = copy;
    return it;
}

void item::reset_operation() noexcept {
    if (op.arguments != inside) {
        std::free(const_cast<void *>(op.arguments));
    }
    op = {};
    waiter = nullptr;
    waits = reached = false;
    references = pending = 0;
    statuses = MPI_STATUSES_IGNORE;
}

void queue::give_item(item &it) noexcept {
    it.reset_operation();
    it.request = it.user_request = MPI_REQUEST_NULL;
    it.error = MPI_SUCCESS;
    it.complete = false;
    it.status_index = 0;
    if (!it.waited_for.empty() || !it.null_indices.empty() || !it.copies.empty()) {
        it.waited_for.clear();
        it.null_indices.clear();
        it.copies.clear();
    }
    it.memory = nullptr;
    const std::scoped_lock guard(mutex_);
    unused_.give(it);
}

// One reference less. Returns the item if it was the last one. Under mutex_.
item *queue::drop(item &it) noexcept {
    return --it.references == 0 ? &it : nullptr;
}

void queue::drop_request(item &it) noexcept {
    item *last = nullptr;
    {
        const std::scoped_lock guard(mutex_);
        last = drop(it);
    }
    if (last != nullptr) {
        give_item(*last);
    }
    drop_user();
}

// Gives the item its number, and lets the queue say when it is there. False: the queue refused. `enqueueing_` is held.
bool queue::push(item &added, bool waits) noexcept {
    // In MPI_Finalize the threads of the queue may be forbidden to call MPI. No function of an earlier item is under
    // way.
    if (progress::other_threads_forbidden() && begins_itself_ && is_idle() && inside_.load() == 0) [[unlikely]] {
        begin_by_progress();
    }
    added.number = ++last_number_;
    {
        const std::scoped_lock guard(mutex_);
        if (first_ == nullptr) {
            first_ = &added;
            first_number_.store(added.number, std::memory_order_relaxed);
        } else {
            last_->next = &added;
        }
        last_ = &added;
        unbegun_.fetch_add(1);
        outstanding_.fetch_add(1);
    }
    count(1); // from here on a thread that makes progress looks at the trigger word
    const thence_queue_table &table = *handle_.table;
    const int refused =
        table.record != nullptr ? table.record(handle_.handle, words_, added.number)
        : waits ? table.launch_and_wait(handle_.handle, &triggered, this, words_ + done_word, added.wait_number)
                : table.launch(handle_.handle, &triggered, this);
    if (refused == 0) {
        return true;
    }
    // The queue does not know of it, so it has not begun, and it is the last.
    --last_number_;
    {
        const std::scoped_lock guard(mutex_);
        if (first_ == &added) {
            first_ = last_ = nullptr;
        } else {
            item *before = first_;
            while (before->next != &added) {
                before = before->next;
            }
            before->next = nullptr;
            last_ = before;
        }
        unbegun_.fetch_sub(1);
        outstanding_.fetch_sub(1);
    }
    count(-1);
    return false;
}

// The same for an item behind which the queue waits.
enqueuing queue::push_with_wait(item &added) noexcept {
    added.waits = true;
    added.wait_number = ++last_wait_;
    const std::uint32_t wait_number = added.wait_number; // the item may be gone once it is pushed
    const bool in_one_step = handle_.table->record == nullptr && handle_.table->launch_and_wait != nullptr;
    if (!push(added, in_one_step)) {
        --last_wait_;
        return enqueuing::refused;
    }
    return in_one_step || handle_.table->wait(handle_.handle, words_ + done_word, wait_number) == 0
               ? enqueuing::done
               : enqueuing::refused_rest;
}

enqueuing queue::enqueue(const enqueued_operation &what, MPI_Status *status) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(&what);
    if (it == nullptr) {
        return enqueuing::no_memory;
    }
    it->references = 2; // its operation, and its wait
    it->waiter = it;
    it->pending = 1;
    it->statuses = status;
    what.not_begun->fetch_add(1);
    const enqueuing how = push_with_wait(*it);
    if (how == enqueuing::refused) {
        what.not_begun->fetch_sub(1);
        give_item(*it);
    }
    return how;
}

enqueuing queue::enqueue(const enqueued_operation &what, std::vector<copy_back> &&copies,
                         MPI_Request *request) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(&what);
    if (it == nullptr) {
        return enqueuing::no_memory;
    }
    it->references = 2; // its operation, and its request
    if (!start_request(*it)) {
        give_item(*it);
        return enqueuing::no_memory;
    }
    const MPI_Request made = it->user_request;
    what.not_begun->fetch_add(1);
    if (!push(*it)) {
        what.not_begun->fetch_sub(1);
        it->references = 1; // that of the request, whose end gives the item back
        abandon_request(made);
        return enqueuing::refused;
    }
    it->copies = std::move(copies); // only a wait for the request looks at them, and nobody has the request yet
    *request = made;
    return enqueuing::done;
}

// All requests are of operations of this queue, or null, and none is there twice.
enqueuing queue::enqueue_wait(int count, MPI_Request requests[], MPI_Status *statuses) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(nullptr);
    if (it == nullptr) {
        return enqueuing::no_memory;
    }
    try {
        it->waited_for.reserve(static_cast<std::size_t>(count));
        it->null_indices.reserve(static_cast<std::size_t>(count));
    } catch (const std::bad_alloc &) {
        give_item(*it);
        return enqueuing::no_memory;
    }
    it->references = 1;
    it->statuses = statuses;
    for (int i = 0; i < count; ++i) {
        const auto index = static_cast<std::size_t>(i);
        if (requests[i] == MPI_REQUEST_NULL) {
            it->null_indices.push_back(index);
        } else {
            item *operation = item_of(requests[i]);
            operation->status_index = index;
            it->waited_for.push_back(operation);
        }
    }
    {
        const std::scoped_lock inner(mutex_);
        for (item *operation : it->waited_for) {
            ++operation->references;
            operation->waiter = it;
            it->pending += operation->complete ? 0 : 1;
        }
    }
    enqueuing how = push_with_wait(*it);
    if (how == enqueuing::refused) {
        {
            const std::scoped_lock inner(mutex_);
            for (item *operation : it->waited_for) {
                --operation->references;
                operation->waiter = nullptr;
            }
        }
        give_item(*it);
        return how;
    }
    for (int i = 0; i < count; ++i) {
        if (requests[i] != MPI_REQUEST_NULL && push_copies(claim_request(requests[i])->copies) != enqueuing::done) {
            how = enqueuing::refused_rest;
        }
    }
    for (int i = 0; i < count; ++i) {
        if (requests[i] != MPI_REQUEST_NULL) {
            release_request(requests[i]);
            requests[i] = MPI_REQUEST_NULL;
        }
    }
    return how;
}

bool queue::copy(void *to, const void *from, std::size_t bytes) noexcept {
    return handle_.table->copy != nullptr && handle_.table->copy(handle_.handle, to, from, bytes) == 0;
}

enqueuing queue::enqueue_copies(const std::vector<copy_back> &copies) noexcept {
    const std::scoped_lock guard(enqueueing_);
    return push_copies(copies);
}

enqueuing queue::push_copies(const std::vector<copy_back> &copies) noexcept {
    bool all = true;
    for (const copy_back &each : copies) {
        all = (each.bytes == 0 || copy(each.to, each.from, each.bytes)) && all;
        all = push_release(const_cast<void *>(each.from)) && all; // if it is refused, the memory stays
    }
    return all ? enqueuing::done : enqueuing::refused_rest;
}

bool queue::push_release(void *memory) noexcept {
    item *it = take_item(nullptr);
    if (it == nullptr) {
        return false;
    }
    it->references = 1;
    it->memory = memory;
    const bool pushed = push(*it);
    if (!pushed) {
        give_item(*it);
    }
    return pushed;
}

} // namespace thence::queues
