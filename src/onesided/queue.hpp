// SPDX-License-Identifier: BSD-3-Clause
// The operations of one queue that are not locally complete: requests of MPI that nobody else has, and ends of several
// operations (`is_end`), which are complete when these are.
//
// Invariants:
//   - a request is in the list of the queue, or in that of the one thread that tests requests of this queue. The
//     thread that finds it complete is the only one that reports it;
//   - both lists are in the order of their numbers;
//   - the room that is taken is that of operations that a call is about to start, that are not complete, or whose
//     completion nobody has been told of. Each entry is given back once, by what takes it out of these three.
// What an operation leaves behind is allocated before it is started, so that nothing can fail afterwards.
#pragma once

#include "core/base/linked_list.hpp"
#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "onesided/health.hpp"
#include "onesided/notification/slots.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::onesided {

// What an operation that was started leaves behind.
struct pending {
    pending *next = nullptr;
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t number = 0;      // in the order of the queue
    std::uint64_t expected = 0;    // bytes of a reply; fewer: the target has no such segment. 0: it is a send
    std::uint32_t serial = 0;      // of the reply, or of the message with the data; 0: there is neither
    std::uint64_t tag = 0;         // of a user of the space (gaspi)
    std::uint32_t completions = 0; // how often the tag is reported; 0: not
    std::uint32_t entries = 0;     // the room that it has taken; as many as completions, if there are any
    // The end of several operations: it is complete when all of its parts are, which are before it in the queue. If it
    // sets a notification here, it waits for all that is before it, and sets none if a part has failed.
    bool is_end = false;
    bool has_failed = false;
    std::uint32_t parts = 0; // of an end: those in the queue that are not complete. `lock_` guards it
    std::uint32_t value = 0; // 0: no notification
    unsigned notification = 0;
    notification::slots own_slots;
    pending *end = nullptr;                 // of what this is a part of
    std::atomic<long> *local_use = nullptr; // of the local part, counted down at completion
    health *of_target = nullptr;            // told if it fails. It fails if the target is gone
    bool is_reply() const noexcept { return expected != 0; }
    // Whether the target will not answer any more.
    bool is_hopeless() const noexcept { return of_target != nullptr && of_target->will_not_answer(serial); }

    // Null if memory is exhausted.
    THENCE_INTERNAL static pending *make() noexcept;
    THENCE_INTERNAL static void drop(pending *dropped) noexcept;
};

struct completed_tag {
    std::uint64_t tag;
    int error;
};

class THENCE_INTERNAL queue {
public:
    queue() noexcept = default;
    queue(queue &&) noexcept {} // before it is used
    queue &operator=(queue &&) = delete;
    ~queue();

    // Takes room for so many entries, of `most`; more than that only in an empty queue. False: it is full. An operation
    // that takes none always has room.
    bool take_room(std::uint32_t entries, std::uint32_t most) noexcept;
    // That of an operation that was not started.
    void give_room(std::uint32_t entries) noexcept { room_.fetch_sub(entries, std::memory_order_relaxed); }
    std::uint32_t room_taken() const noexcept { return room_.load(std::memory_order_relaxed); }

    // The queue owns it from now on.
    void add(pending &added) noexcept;
    // Those of another queue, at which nobody looks.
    void add_all_of(queue &other) noexcept;
    // The same for an operation with a tag that was complete at once.
    void add_complete(pending &added) noexcept;
    // An operation without a tag that was complete at once.
    void count_complete(std::uint32_t entries) noexcept { untold_.fetch_add(entries, std::memory_order_relaxed); }

    // Tests the requests. A poll, which makes progress anyway, tests those alone that are complete, where that can be
    // read.
    void look(bool makes_progress = true) noexcept;
    int size() const noexcept { return size_.load(std::memory_order_acquire); }
    // How many were added. reached() tells whether the first so many are complete.
    std::uint64_t added() noexcept;
    bool reached(std::uint64_t number) noexcept;
    // An operation of the queue has failed after it was complete.
    void add_error(int error) noexcept;
    // The error of an operation that has failed since the last call.
    int take_error() noexcept;
    // Takes up to `most` tags, and gives back their room and that of operations without a tag. Returns how many.
    unsigned take_tags(unsigned most, completed_tag *to) noexcept;
    // Gives back the room of all operations that are complete. Their tags stay.
    void give_room_of_complete() noexcept;
    // The same, and forgets their tags and errors.
    void forget_complete() noexcept;
    // Whether the end of several operations is not complete.
    bool has_ends() const noexcept { return ends_.load(std::memory_order_relaxed) != 0; }

private:
    bool is_complete(pending &each, bool is_oldest, bool makes_progress, int &error) noexcept;
    void completed(pending &done, int error) noexcept;
    void give_untold_room() noexcept { give_room(untold_.exchange(0, std::memory_order_relaxed)); }

    base::spin_lock looking_; // only tried
    base::spin_lock lock_;    // guards what follows. MPI is not called under it
    base::linked_list<pending> list_;
    std::uint64_t added_ = 0;
    std::uint64_t oldest_looked_at_ = UINT64_MAX; // the lowest number of those that a thread tests now
    base::linked_list<pending> tags_;             // complete, with tags; `has_failed` is their status
    int error_ = MPI_SUCCESS;
    std::atomic<int> size_{0};
    std::atomic<int> ends_{0};
    std::atomic<std::uint32_t> room_{0};
    std::atomic<std::uint32_t> untold_{0}; // of `room_`: entries that are complete, without a tag
};

} // namespace thence::onesided
