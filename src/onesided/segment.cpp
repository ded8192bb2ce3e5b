// SPDX-License-Identifier: BSD-3-Clause
// The block of a part has the notifications and, in pages of their own behind them, the data.
#include "onesided/segment.hpp"

#include "core/base/clock.hpp"
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

// Never destroyed: threads may be in calls while the process exits.
const wire::local_part &segment::no_own = *new wire::local_part{};
const part &segment::unknown = *new part{};

segment::segment(space &world, int segment_number)
    : in(world), number(segment_number), waiting(notification::slots()),
      parts_(static_cast<std::size_t>(world.size())) {
    for (std::atomic<const part *> &each : parts_) {
        each.store(&unknown, std::memory_order_relaxed);
    }
}

segment::~segment() {
    for (std::atomic<const part *> &each : parts_) {
        if (const part *const known = each.load(std::memory_order_relaxed); known != &unknown) {
            delete known;
        }
    }
}

void segment::set_part(int rank, std::unique_ptr<part> made) noexcept {
    std::atomic<const part *> &known = parts_[static_cast<std::size_t>(rank)];
    const part *const before = known.load(std::memory_order_relaxed);
    if (before != &unknown) {
        made->previous.reset(before);
    }
    part &newest = *made.release();
    known.store(&newest, std::memory_order_seq_cst);
    if (!in.is_in_use()) { // who begins after that sees the newest
        newest.previous.reset();
    }
}

bool segment::give_own(void *memory, std::size_t bytes, unsigned notifications) noexcept {
    const std::size_t block_bytes = block_bytes_of(memory, bytes, notifications);
    memory::shared_block block = block_bytes != 0 ? memory::shared_block::make(block_bytes) : memory::shared_block();
    std::unique_ptr<wire::local_part> made_local(new (std::nothrow) wire::local_part);
    std::unique_ptr<part> mine(new (std::nothrow) part);
    if (!block || made_local == nullptr || mine == nullptr) {
        return false;
    }
    made_local->memory =
        memory != nullptr ? static_cast<unsigned char *>(memory) : block.data() + pages_of_notifications(notifications);
    made_local->notifications = notification::slots(block.data(), notifications);
    made_local->bytes = bytes;
    mine->how = in.only_messages() ? way::by_messages : way::by_memory;
    mine->why = in.only_messages() ? text::by_setting : text::own;
    mine->of_program = memory != nullptr;
    mine->bytes = bytes;
    mine->address = reinterpret_cast<std::uintptr_t>(made_local->memory);
    mine->notifications = notifications;
    mine->memory = made_local->memory;
    mine->slots = made_local->notifications;
    mine->block = std::move(block);
    kept_own_ = std::move(made_local);
    waiting.watch(kept_own_->notifications);
    own_.store(kept_own_.get(), std::memory_order_release);
    set_part(in.rank(), std::move(mine));
    return true;
}

segment::dropped segment::drop_own() noexcept {
    long calls = calls_.load(std::memory_order_relaxed);
    do {
        if (calls < 0) {
            return dropped::in_use; // another thread drops it
        }
    } while (!calls_.compare_exchange_weak(calls, calls + being_dropped, std::memory_order_relaxed));
    // Calls that begin now wait.
    constexpr std::uint32_t milliseconds = 2;
    const std::uint32_t begun = base::coarse_milliseconds();
    base::spin_wait wait;
    while ((calls = calls_.load(std::memory_order_acquire)) != being_dropped &&
           base::coarse_milliseconds() - begun <= milliseconds) {
        wait();
    }
    const dropped result = calls == being_dropped ? drop_unused() : dropped::in_use;
    calls_.fetch_sub(being_dropped, std::memory_order_release);
    return result;
}

segment::dropped segment::drop_unused() noexcept {
    if (find_own() == nullptr) {
        return dropped::there_is_none;
    }
    std::unique_ptr<part> none(new (std::nothrow) part);
    if (none == nullptr || kept_own_->uses.load(std::memory_order_acquire) != 0 || !waiting.forget()) {
        return dropped::in_use;
    }
    bool is_used = false;
    const auto take_away = [&] {
        is_used = kept_own_->uses.load(std::memory_order_acquire) != 0;
        if (!is_used) {
            own_.store(nullptr, std::memory_order_release);
        }
    };
    if (in.has_messages()) { // a poll may be copying to it, or begin to move data
        in.wires().between_polls(take_away);
    } else {
        take_away();
    }
    if (is_used) {
        waiting.watch(kept_own_->notifications);
        return dropped::in_use;
    }
    part_of(in.rank()).block.give_pages_back(); // other processes keep it mapped until they are told of another
    notification::slots(kept_own_->notifications).drop();
    set_part(in.rank(), std::move(none));
    return dropped::yes;
}

std::unique_ptr<segment> segment::make_view(space &world, int number) noexcept {
    try {
        return std::unique_ptr<segment>(new segment(world, number));
    } catch (const std::exception &) {
        return nullptr;
    }
}

std::unique_ptr<segment> segment::make(space &world, int number, void *memory, std::size_t bytes,
                                       unsigned notifications) noexcept {
    std::unique_ptr<segment> made = make_view(world, number);
    return made != nullptr && made->give_own(memory, bytes, notifications) ? std::move(made) : nullptr;
}

part_description segment::describe() const noexcept {
    const part &mine = part_of(in.rank());
    return {mine.bytes,         mine.block.bytes(),      mine.block.cookie(),     mine.address,
            mine.notifications, mine.block.descriptor(), mine.of_program ? 1 : 0, number};
}

bool segment::learn(int rank, const part_description &said) noexcept {
    if (rank == in.rank()) {
        return true;
    }
    std::unique_ptr<part> made(new (std::nothrow) part);
    if (made == nullptr) {
        return false;
    }
    const peer &other = in.peers[static_cast<std::size_t>(rank)];
    part &found = *made;
    found.how = way::by_messages;
    found.of_program = said.of_program != 0;
    found.bytes = said.bytes;
    found.address = said.address;
    found.notifications = said.notifications;
    found.why = other.why;
    if (other.is_here && (said.of_program == 0 || other.is_copied_to)) {
        found.block = memory::shared_block::open(other.process, said.descriptor, said.block_bytes, said.block_cookie);
        if (found.block) {
            found.slots = notification::slots(found.block.data(), said.notifications);
            found.how = found.of_program ? way::by_copy : way::by_memory;
            found.why = found.of_program ? text::copied : text::mapped;
            found.memory = found.of_program ? nullptr : found.block.data() + pages_of_notifications(said.notifications);
        } else {
            found.why = text::not_mapped;
        }
    } else if (other.is_here) {
        found.why = text::not_copied;
    }
    set_part(rank, std::move(made));
    return true;
}

} // namespace thence::onesided
