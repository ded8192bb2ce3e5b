// SPDX-License-Identifier: BSD-3-Clause
// A segment: the part of this process, and what it knows of those of the others. How a part is reached is decided when
// it becomes known, and does not change.
#pragma once

#include "onesided/memory/shared_block.hpp"
#include "onesided/notification/waiters.hpp"
#include "onesided/wire/order.hpp"

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
    memory::shared_block block;      // mapped; of another process
    // What was mapped before the part was told anew: a thread may be at the end of a put to it, behind its
    // notification.
    memory::shared_block previous;
    const char *why = nullptr;
};

class THENCE_INTERNAL segment {
public:
    // Null if memory is exhausted. `memory`: of the program, or null: new memory.
    static std::unique_ptr<segment> make(space &of, int number, void *memory, std::size_t bytes,
                                         unsigned notifications) noexcept;
    segment &operator=(segment &&) = delete;

    // For a user of the space whose parts are made one by one (gaspi): a segment without a part of this process.
    static std::unique_ptr<segment> make_view(space &of, int number) noexcept;
    // The part of this process, which has none or an empty one, gets memory. False if memory is exhausted.
    bool give_own(void *memory, std::size_t bytes, unsigned notifications) noexcept;
    // It loses it. False, and nothing has changed: somebody waits for its notifications.
    bool drop_own() noexcept;

    part_description describe() const noexcept;
    // A process tells of its part. Maps it where possible.
    void learn(int rank, const part_description &said) noexcept;

    space &in;
    const int number;
    wire::local_part own{};
    notification::waiters waiting;
    std::vector<part> parts; // of each process

private:
    segment(space &of, int its_number, memory::shared_block &&block, void *memory, std::size_t bytes,
            unsigned notifications);
    void take_own(void *memory, std::size_t bytes, unsigned notifications) noexcept;

    memory::shared_block block_;
    bool of_program_;
};

} // namespace thence::onesided
