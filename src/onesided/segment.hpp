// SPDX-License-Identifier: BSD-3-Clause
// A segment: the part of this process, and what it knows of those of the others. How a part is reached is decided when
// it becomes known.
//
// What is known of a part does not change: a process that tells of a new one is known by a new object, behind a
// pointer. So an operation sees the old or the new, also while a poll takes what is told. The old ones go when no
// operation is under way that may have seen them (space::use). An operation counts itself and then reads the pointer;
// a poll stores the pointer and then reads the count. All four are sequentially consistent, so that one of the two sees
// the other: an operation that is not counted yet reads the new object.
//
// The part of this process goes at once, with its memory. Invariant: it is not dropped while a call uses it
// (begin_use(), end_use()), MPI moves data to or from it (local_part::uses), or somebody waits for its notifications. A
// call counts itself before it looks whether there is a part, and stays counted until all that it leaves behind is in
// `uses`.
#pragma once

#include "core/base/spin_lock.hpp"
#include "onesided/memory/shared_block.hpp"
#include "onesided/notification/waiters.hpp"
#include "onesided/wire/order.hpp"

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace thence::onesided {

class space;

enum class way : std::uint8_t {
    unknown,   // the other process has no part, or has not told of it
    by_memory, // its memory is mapped here
    by_copy,   // the system copies; its notifications are mapped here
    by_messages
};

// What a process tells of its part.
struct part_description {
    std::uint64_t bytes;
    std::uint64_t block_bytes; // of the block with the notifications and, unless the memory is the program's, data
    std::uint64_t block_cookie;
    std::uint64_t address; // of the memory, in that process
    std::uint32_t notifications;
    std::int32_t descriptor; // of the block
    std::int32_t of_program; // 1: the memory is the program's
    std::int32_t number;     // of the segment
};

// The part of one process.
struct part {
    way how = way::unknown;
    bool of_program = false;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0; // in that process
    unsigned notifications = 0;
    unsigned char *memory = nullptr; // by_memory: here
    notification::slots slots;       // by_memory, by_copy
    memory::shared_block block;      // made, or mapped if it is of another process
    const char *why = nullptr;
    std::unique_ptr<const part> previous; // a thread may still be in an operation on it
};

class THENCE_INTERNAL segment {
public:
    // Null if memory is exhausted. `memory`: of the program, or null: new memory.
    static std::unique_ptr<segment> make(space &world, int number, void *memory, std::size_t bytes,
                                         unsigned notifications) noexcept;
    segment &operator=(segment &&) = delete;

    // For a user of the space whose parts are made one by one (gaspi): a segment without a part of this process.
    static std::unique_ptr<segment> make_view(space &world, int number) noexcept;
    // The part of this process, which has none or an empty one, gets memory. False if memory is exhausted.
    bool give_own(void *memory, std::size_t bytes, unsigned notifications) noexcept;
    // It loses it. `in_use`: nothing has changed. Calls of other threads that do not wait for anything end meanwhile.
    enum class dropped { yes, in_use, there_is_none };
    dropped drop_own() noexcept;
    // A call of any thread uses the part of this process, if there is one then. It waits while another thread drops it,
    // or gives up since a call does not end: so the same thread may begin again.
    void begin_use() noexcept {
        while (calls_.fetch_add(1, std::memory_order_acquire) < 0)
            [[unlikely]] {
                end_use();
                for (base::spin_wait wait; calls_.load(std::memory_order_relaxed) < 0; wait()) {
                }
            }
    }
    void end_use() noexcept { calls_.fetch_sub(1, std::memory_order_release); }

    part_description describe() const noexcept;
    // A process tells of its part. Maps it where possible. False if memory is exhausted. One thread at a time.
    bool learn(int rank, const part_description &said) noexcept;

    // The part of this process; without memory if it has none.
    const wire::local_part &own() const noexcept {
        const wire::local_part *const found = find_own();
        return found != nullptr ? *found : no_own;
    }
    const wire::local_part *find_own() const noexcept { return own_.load(std::memory_order_acquire); }
    const part &part_of(int rank) const noexcept {
        return *parts_[static_cast<std::size_t>(rank)].load(std::memory_order_seq_cst);
    }
    ~segment();

    space &in;
    const int number;
    notification::waiters waiting;

private:
    static const wire::local_part &no_own;
    static const part &unknown;

    segment(space &world, int segment_number);
    void set_part(int rank, std::unique_ptr<part> made) noexcept;
    dropped drop_unused() noexcept;

    static constexpr long being_dropped = LONG_MIN / 2;
    std::unique_ptr<wire::local_part> kept_own_; // what own_ points to, or pointed to last
    std::atomic<const wire::local_part *> own_{nullptr};
    std::vector<std::atomic<const part *>> parts_; // of each process
    std::atomic<long> calls_{0};                   // that use the part of this process; negative while it is dropped
};

} // namespace thence::onesided
