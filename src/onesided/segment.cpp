// SPDX-License-Identifier: BSD-3-Clause
// The block of a part has the notifications and, in pages of their own behind them, the data.
#include "onesided/segment.hpp"

#include "onesided/space.hpp"

#include <exception>
#include <new>

namespace thence::onesided {

namespace {

constexpr std::size_t page = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + page - 1) / page * page;
}
std::size_t pages_of_notifications(unsigned count) noexcept {
    return whole_pages(notification::slots::bytes_for(count));
}

// The bytes of the block of a part; 0: more than the address space has.
std::size_t block_bytes_of(const void *memory, std::size_t bytes, unsigned notifications) noexcept {
    const std::size_t data = memory != nullptr ? 0 : whole_pages(bytes);
    const std::size_t all = data + pages_of_notifications(notifications);
    return (memory == nullptr && data < bytes) || all < data ? 0 : all;
}

} // namespace

segment::segment(space &of, int its_number, memory::shared_block &&block, void *memory, std::size_t bytes,
                 unsigned notifications)
    : in(of), number(its_number), waiting(notification::slots(block.data(), notifications)),
      parts(static_cast<std::size_t>(of.size())), block_(std::move(block)), of_program_(memory != nullptr) {
    take_own(memory, bytes, notifications);
}

void segment::take_own(void *memory, std::size_t bytes, unsigned notifications) noexcept {
    own.memory =
        of_program_ ? static_cast<unsigned char *>(memory) : block_.data() + pages_of_notifications(notifications);
    own.notifications = notification::slots(block_.data(), notifications);
    own.bytes = bytes;
    part &mine = parts[static_cast<std::size_t>(in.rank())];
    mine.how = in.only_messages() ? way::by_messages : way::by_memory;
    mine.why = in.only_messages() ? text::by_setting : text::own;
    mine.of_program = of_program_;
    mine.bytes = bytes;
    mine.address = reinterpret_cast<std::uintptr_t>(own.memory);
    mine.notifications = notifications;
    mine.memory = own.memory;
    mine.slots = own.notifications;
}

bool segment::give_own(void *memory, std::size_t bytes, unsigned notifications) noexcept {
    const std::size_t block_bytes = block_bytes_of(memory, bytes, notifications);
    memory::shared_block block = block_bytes != 0 ? memory::shared_block::make(block_bytes) : memory::shared_block();
    if (!block) {
        return false;
    }
    block_ = std::move(block);
    of_program_ = memory != nullptr;
    take_own(memory, bytes, notifications);
    waiting.watch(own.notifications);
    return true;
}

bool segment::drop_own() noexcept {
    if (!waiting.forget()) {
        return false;
    }
    own = {};
    parts[static_cast<std::size_t>(in.rank())] = {};
    if (in.has_messages()) { // a poll may be copying to it
        for (base::spin_wait wait; !in.wires().no_poll_is_under_way(); wait()) {
        }
    }
    block_ = {};
    return true;
}

std::unique_ptr<segment> segment::make(space &of, int number, void *memory, std::size_t bytes,
                                       unsigned notifications) noexcept {
    const std::size_t block_bytes = block_bytes_of(memory, bytes, notifications);
    if (block_bytes == 0) {
        return nullptr;
    }
    try {
        memory::shared_block block = memory::shared_block::make(block_bytes);
        return block ? std::unique_ptr<segment>(new segment(of, number, std::move(block), memory, bytes, notifications))
                     : nullptr;
    } catch (const std::exception &) {
        return nullptr;
    }
}

std::unique_ptr<segment> segment::make_view(space &of, int number) noexcept {
    std::unique_ptr<segment> made = make(of, number, nullptr, 0, 0);
    if (made != nullptr) {
        made->own = {};
        made->parts[static_cast<std::size_t>(of.rank())] = {};
    }
    return made;
}

part_description segment::describe() const noexcept {
    return {own.bytes,
            block_.bytes(),
            block_.cookie(),
            reinterpret_cast<std::uintptr_t>(own.memory),
            own.notifications.count(),
            block_.descriptor(),
            of_program_ ? 1 : 0,
            number};
}

void segment::learn(int rank, const part_description &said) noexcept {
    if (rank == in.rank()) {
        return;
    }
    const peer &other = in.peers[static_cast<std::size_t>(rank)];
    part now;
    now.how = way::by_messages;
    now.of_program = said.of_program != 0;
    now.bytes = said.bytes;
    now.address = said.address;
    now.notifications = said.notifications;
    now.why = other.why;
    if (other.is_here && (said.of_program == 0 || other.is_copied_to)) {
        now.block = memory::shared_block::open(other.process, said.descriptor, said.block_bytes, said.block_cookie);
        if (now.block) {
            now.slots = notification::slots(now.block.data(), said.notifications);
            now.how = now.of_program ? way::by_copy : way::by_memory;
            now.why = now.of_program ? text::copied : text::mapped;
            now.memory = now.of_program ? nullptr : now.block.data() + pages_of_notifications(said.notifications);
        } else {
            now.why = text::not_mapped;
        }
    } else if (other.is_here) {
        now.why = text::not_copied;
    }
    part &known = parts[static_cast<std::size_t>(rank)];
    now.previous = std::move(known.block);
    known = std::move(now);
}

} // namespace thence::onesided
