// SPDX-License-Identifier: BSD-3-Clause
// The half that calls of the program run: what is enqueued. The other half is in queue_progress.cpp.
#include "mpix/streams/queue.hpp"

#include "core/continuation/library.hpp"
#include "core/mpi/calls.hpp"
#include "mpix/streams/carriers.hpp"
#include "mpix/streams/communicator.hpp"
#include "mpix/streams/queues.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace thence::stream {

queue *queue::create(const thence_queue &which) noexcept {
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
                return made;
            }
            made->release(std::exchange(made->words_, nullptr));
        }
        delete made;
    }
    if (table.use != nullptr) {
        table.use(which.handle, 0);
    }
    return nullptr;
}

queue::~queue() {
    if (words_ != nullptr) {
        remove_queue(*this);
        while (inside_.load() != 0) {
            std::this_thread::yield();
        }
        release(words_);
        if (its_.table->use != nullptr) {
            its_.table->use(its_.handle, 0);
        }
    }
    for (item *list : {spare_, unused_}) {
        while (list != nullptr) {
            delete std::exchange(list, list->next);
        }
    }
}

void *queue::allocate(std::size_t bytes) noexcept {
    bytes = (bytes + 63) / 64 * 64;
    return its_.table->allocate != nullptr ? its_.table->allocate(its_.handle, bytes) : std::aligned_alloc(64, bytes);
}

void queue::release(void *memory) noexcept {
    if (its_.table->allocate == nullptr) {
        std::free(memory);
    } else if (its_.table->release != nullptr) {
        its_.table->release(its_.handle, memory);
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
    if (!begins_itself_) {
        count_outstanding(n);
    }
}

// Null if memory is exhausted. Without `what` it is a wait or a release. `enqueueing_` is held.
item *queue::take_item(const starting *what) noexcept {
    if (spare_ == nullptr) {
        const std::scoped_lock guard(mutex_);
        spare_ = std::exchange(unused_, nullptr);
    }
    item *it = spare_;
    if (it != nullptr) {
        spare_ = it->next;
    } else if (it = new (std::nothrow) item; it == nullptr) {
        return nullptr;
    }
    it->next = nullptr;
    it->owner = this;
    if (what == nullptr) {
        return it;
    }
    it->start = what->start;
    it->comm = what->comm;
    it->of = what->of;
    it->where = what->where;
    it->data = nullptr;
    if (what->size != 0) {
        it->data = what->size <= item::room ? static_cast<void *>(it->inside) : std::malloc(what->size);
        if (it->data == nullptr) {
            give_item(*it);
            return nullptr;
        }
        std::memcpy(it->data, what->data, what->size);
    }
    return it;
}

void queue::give_item(item &it) noexcept {
    if (it.data != nullptr && it.data != it.inside) {
        std::free(it.data);
    }
    it.start = nullptr;
    it.data = nullptr;
    it.of = nullptr;
    it.request = it.carrier = MPI_REQUEST_NULL;
    it.error = MPI_SUCCESS;
    it.waiter = nullptr;
    it.complete = it.waits = it.reached = false;
    it.references = it.pending = 0;
    it.place = 0;
    if (!it.waited_for.empty() || !it.nulls.empty() || !it.copies.empty()) {
        it.waited_for.clear();
        it.nulls.clear();
        it.copies.clear();
    }
    it.statuses = MPI_STATUSES_IGNORE;
    it.memory = nullptr;
    const std::scoped_lock guard(mutex_);
    it.next = unused_;
    unused_ = &it;
}

// One reference less. Returns the item if it was the last one. Under mutex_.
item *queue::drop(item &it) noexcept {
    return --it.references == 0 ? &it : nullptr;
}

void queue::drop_carrier(item &it) noexcept {
    item *last = nullptr;
    {
        const std::scoped_lock guard(mutex_);
        last = drop(it);
    }
    if (last != nullptr) {
        give_item(*last);
    }
}

// Gives the item its number, and lets the queue say when it is there. `enqueueing_` is held.
int queue::push(item &added, bool waits) noexcept {
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
    const thence_queue_table &table = *its_.table;
    const int refused =
        table.record != nullptr ? table.record(its_.handle, words_, added.number)
        : waits ? table.launch_and_wait(its_.handle, &triggered, this, words_ + done_word, added.wait_number)
                : table.launch(its_.handle, &triggered, this);
    if (refused == 0) {
        return MPI_SUCCESS;
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
    return MPI_ERR_OTHER;
}

// The same for an item behind which the queue waits. If the queue takes the item and refuses the wait, the operation takes
// place all the same.
int queue::push_with_wait(item &added) noexcept {
    added.waits = true;
    const std::uint32_t wait_number = ++last_wait_;
    added.wait_number = wait_number;
    const bool in_one_step = its_.table->record == nullptr && its_.table->launch_and_wait != nullptr;
    if (const int code = push(added, in_one_step); code != MPI_SUCCESS) {
        --last_wait_;
        return code;
    }
    return in_one_step || its_.table->wait(its_.handle, words_ + done_word, wait_number) == 0 ? MPI_SUCCESS
                                                                                              : MPI_ERR_OTHER;
}

int queue::enqueue(const starting &what, MPI_Status *status) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(&what);
    if (it == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    it->references = 2; // its operation, and its wait
    it->waiter = it;
    it->pending = 1;
    it->statuses = status;
    what.of->not_begun.fetch_add(1);
    const std::uint32_t before = last_number_;
    const int code = push_with_wait(*it);
    if (last_number_ == before) {
        what.of->not_begun.fetch_sub(1);
        give_item(*it);
    }
    return code;
}

int queue::enqueue(const starting &what, std::vector<copy_back> &&copies, MPI_Request *request) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(&what);
    if (it == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    it->references = 2; // its operation, and its carrier
    it->copies = std::move(copies);
    if (const int code = start_carrier(*it); code != MPI_SUCCESS) {
        give_item(*it);
        return code;
    }
    const MPI_Request carrier = it->carrier;
    what.of->not_begun.fetch_add(1);
    if (const int code = push(*it); code != MPI_SUCCESS) {
        what.of->not_begun.fetch_sub(1);
        it->references = 1; // that of the carrier, whose end gives the item back
        abandon_carrier(carrier);
        return code;
    }
    *request = carrier;
    return MPI_SUCCESS;
}

// All requests are carriers of this queue, or null, and none is there twice.
int queue::enqueue_wait(int count, MPI_Request requests[], MPI_Status *statuses) noexcept {
    const std::scoped_lock guard(enqueueing_);
    item *it = take_item(nullptr);
    if (it == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    try {
        it->waited_for.reserve(static_cast<std::size_t>(count));
        it->nulls.reserve(static_cast<std::size_t>(count));
    } catch (const std::bad_alloc &) {
        give_item(*it);
        return MPI_ERR_NO_MEM;
    }
    it->references = 1;
    it->statuses = statuses;
    for (int i = 0; i < count; ++i) {
        const auto place = static_cast<std::size_t>(i);
        if (requests[i] == MPI_REQUEST_NULL) {
            it->nulls.push_back(place);
        } else {
            item *operation = item_of(requests[i]);
            operation->place = place;
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
    const std::uint32_t before = last_number_;
    int code = push_with_wait(*it);
    if (last_number_ == before) {
        const std::scoped_lock inner(mutex_);
        for (item *operation : it->waited_for) {
            --operation->references;
            operation->waiter = nullptr;
        }
    }
    if (last_number_ == before) {
        give_item(*it);
        return code;
    }
    for (int i = 0; i < count; ++i) {
        if (requests[i] != MPI_REQUEST_NULL) {
            item *operation = claim_carrier(requests[i]);
            for (const copy_back &each : operation->copies) {
                if (each.bytes != 0 && copy(each.to, each.from, each.bytes) != MPI_SUCCESS) {
                    code = MPI_ERR_OTHER;
                }
                if (push_release(const_cast<void *>(each.from)) != MPI_SUCCESS) {
                    code = MPI_ERR_OTHER; // the memory stays
                }
            }
        }
    }
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        release_carrier(requests[i]);
        requests[i] = MPI_REQUEST_NULL;
    }
    return code;
}

int queue::copy(void *to, const void *from, std::size_t bytes) noexcept {
    return its_.table->copy != nullptr && its_.table->copy(its_.handle, to, from, bytes) == 0 ? MPI_SUCCESS
                                                                                              : MPI_ERR_OTHER;
}

int queue::enqueue_release(void *memory) noexcept {
    const std::scoped_lock guard(enqueueing_);
    return push_release(memory);
}

int queue::push_release(void *memory) noexcept {
    item *it = take_item(nullptr);
    if (it == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    it->references = 1;
    it->memory = memory;
    const int code = push(*it);
    if (code != MPI_SUCCESS) {
        give_item(*it);
    }
    return code;
}

} // namespace thence::stream
