// SPDX-License-Identifier: BSD-3-Clause
// The queue of a stream, and what is enqueued on it (thence/enqueue.h).
//
// Each enqueued call is an item. It has a number, in the order of the queue. When the queue reaches it, the queue
// stores that number in the trigger word (or launches a function that does). A thread that makes progress sees the word
// and begins all items up to it: it starts the operation (enqueued_operation.hpp), or notes that the queue waits. If
// the queue waits behind the item, it waits until the done word has reached the number of that wait. Words are compared
// modulo 2^32.
//
// Invariants:
//  - Items begin in their order, one after the other: one thread at a time holds `beginning_`. A thread that finds it
//    held leaves, since the other one looks at the trigger word once more after it has given it up.
//    tests/model/enqueued_items.pml checks this. If the functions that a queue calls begin the items, it has no trigger
//    word to look at: each call begins the first item, and the queue makes one call at a time.
//  - The queue is at no more than one wait, since it passes none before the done word says so. So the done word is set
//    to the number of the wait that ends.
//  - A status is written after the queue has reached the wait, and before the done word is set.
//  - An item is in use until it has begun, its operation is complete, nobody can wait for it any more, and its own wait
//    has ended. `references` counts these.
//  - A queue exists until its stream is freed and MPI has freed the requests of all its items. `users_` counts these.
#pragma once

#include "core/base/free_list.hpp"
#include "core/base/spin_lock.hpp"
#include "mpix/queues/enqueued_operation.hpp"
#include "mpix/queues/owned_queue.hpp"

#include <thence/enqueue.h>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thence::queues {

class queue;

// How a call that enqueues ends.
enum class enqueuing {
    done,
    no_memory,    // nothing has changed
    refused,      // by the queue; nothing has changed
    refused_rest, // the queue has taken the call, and refused the wait or a copy that belongs behind it
    not_copyable, // the operation has a buffer that MPI does not take and that is not copied; nothing has changed
};

// A copy from memory of the host into the buffer of the user, in the order of the queue.
struct copy_back {
    void *to;
    const void *from;
    std::size_t bytes;
};

struct item {
    static constexpr std::size_t most_inside = 128;

    item *next = nullptr;
    queue *owner = nullptr;
    std::uint32_t number = 0;
    int references = 0;

    // An operation, if `op.start` is not null. `op.arguments`: `inside`, or memory of its own.
    enqueued_operation op;
    MPI_Request request = MPI_REQUEST_NULL;      // of MPI
    MPI_Request user_request = MPI_REQUEST_NULL; // what the program waits for, of a call that does not wait
    bool in_table = false;                       // of enqueued_requests.cpp
    MPI_Status status{};
    int error = MPI_SUCCESS;
    bool complete = false;
    item *waiter = nullptr;
    std::size_t status_index = 0;  // among the statuses of the waiter
    std::vector<copy_back> copies; // to enqueue behind the wait

    // A wait, if `waits` is true.
    bool waits = false;
    bool reached = false;
    std::uint32_t wait_number = 0;
    int pending = 0; // operations that are not complete
    std::vector<item *> waited_for;
    std::vector<std::size_t> null_indices; // of null requests
    MPI_Status *statuses = MPI_STATUSES_IGNORE;

    // Memory to give back when the queue reaches it.
    void *memory = nullptr;

    // Resets what an operation that the queue waits for sets before it begins.
    void reset_operation() noexcept;

    alignas(std::max_align_t) unsigned char inside[most_inside];
};

// The item whose operation this thread starts now, else null.
extern thread_local constinit const item *item_being_started;

class queue {
public:
    // Returns null if memory is exhausted or the queue refuses.
    static owned_queue create(const thence_queue &which) noexcept;
    queue &operator=(queue &&) = delete;
    // The stream is freed: no function of the queue is called any more. The queue is idle, but the program may still
    // have requests of operations that are complete.
    void close() noexcept;
    bool is_closed() const noexcept { return words_ == nullptr; }

    const thence_queue &handle() const noexcept { return handle_; }
    bool is_idle() const noexcept { return outstanding_.load() == 0; }
    // Takes the error of the first operation that has failed.
    int take_error() noexcept {
        return kept_error_.load(std::memory_order_relaxed) == MPI_SUCCESS ? int{MPI_SUCCESS}
                                                                          : kept_error_.exchange(MPI_SUCCESS);
    }

    // Enqueue an operation for which the queue waits, one for which it does not, and waits for such. `copies` are taken
    // if the operation is.
    enqueuing enqueue(const enqueued_operation &what, MPI_Status *status) noexcept;
    enqueuing enqueue(const enqueued_operation &what, std::vector<copy_back> &&copies, MPI_Request *request) noexcept;
    enqueuing enqueue_wait(int count, MPI_Request requests[], MPI_Status *statuses) noexcept;
    // Enqueues a copy in the order of the queue. False: the queue refused it.
    bool copy(void *to, const void *from, std::size_t bytes) noexcept;
    // Enqueues, behind an operation and its wait, the copies into buffers of the user and the release of their memory.
    enqueuing enqueue_copies(const std::vector<copy_back> &copies) noexcept;

    void *allocate(std::size_t bytes) noexcept;
    void release(void *memory) noexcept;

    // True if the trigger word names items that have not begun. Cheap.
    bool is_triggered() const noexcept;
    // Begins these. Returns how many.
    long begin_triggered() noexcept;
    // Calls that are enqueued and have not begun, for reports.
    long calls_not_begun() noexcept;

    // MPI has made the request of an operation, and has freed it.
    void add_request() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
    void drop_request(item &it) noexcept;
    // While a thread holds a pin, the queue exists.
    void pin() noexcept { inside_.fetch_add(1); }
    void unpin() noexcept { inside_.fetch_sub(1); }

    queue *next = nullptr; // of all queues (source.cpp)

private:
    static constexpr std::size_t done_word = 16; // in another cache line than the trigger word
    static constexpr std::size_t words_bytes = 2 * done_word * sizeof(std::uint32_t);

    explicit queue(const thence_queue &which) noexcept : handle_(which) {}
    ~queue();
    void drop_user() noexcept;
    static void triggered(void *self) noexcept;
    static int completed(int error, MPI_Status *status, void *data) noexcept;
    item *take_item(const enqueued_operation *what) noexcept;
    void give_item(item &it) noexcept;
    bool push(item &added, bool waits = false) noexcept;
    bool push_release(void *memory) noexcept;
    enqueuing push_with_wait(item &added) noexcept;
    enqueuing push_copies(const std::vector<copy_back> &copies) noexcept;
    item &take_first() noexcept;
    void begin(item &it) noexcept;
    void attach(item &it) noexcept;
    void complete(item &it, int error) noexcept;
    void complete_at_once(item &it) noexcept;
    bool wait_may_end(item &it) noexcept;
    void end(item &it) noexcept;
    static item *drop(item &it) noexcept;
    void keep(int error) noexcept;
    void count(long n) noexcept;
    void begin_by_progress() noexcept;

    thence_queue handle_;
    // Launched functions begin the items, and no other thread does. Becomes false in MPI_Finalize, see push().
    std::atomic<bool> begins_itself_{false};
    std::uint32_t *words_ = nullptr; // [0]: trigger, [done_word]: done
    base::spin_lock enqueueing_;     // held while a call enqueues, so numbers are in the order of the queue
    std::uint32_t last_number_ = 0;
    std::uint32_t last_wait_ = 0;
    base::free_list<item> spare_; // for the next calls, so that most of them need not lock mutex_ for that

    mutable base::spin_lock
        mutex_;             // guards what follows, and all items. Nothing of MPI or of the queue is called under it.
    item *first_ = nullptr; // not begun, in order
    item *last_ = nullptr;
    std::atomic<std::uint32_t> first_number_{0}; // of first_, if `unbegun_` is not 0
    std::atomic<long> unbegun_{0};
    base::spin_lock beginning_;                // held by the one thread that begins items; never waited for
    base::free_list<item> unused_;             // given back; take_item() takes all of them
    std::atomic<int> kept_error_{MPI_SUCCESS}; // changes under mutex_
    std::atomic<long> outstanding_{0};         // items that have not ended
    std::atomic<long> inside_{0};              // threads that still use the queue
    std::atomic<long> users_{1};               // the stream, and the requests that MPI has not freed
};

} // namespace thence::queues
