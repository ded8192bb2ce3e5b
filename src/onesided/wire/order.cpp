// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/order.hpp"

#include "core/mpi/calls.hpp"
#include "onesided/wire/transport.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace thence::wire {

namespace {

bool overlap(const unsigned char *a, std::uint64_t bytes_of_a, const unsigned char *b,
             std::uint64_t bytes_of_b) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(a);
    const auto second = reinterpret_cast<std::uintptr_t>(b);
    return first < second + bytes_of_b && second < first + bytes_of_a;
}

std::uint64_t do_atomic(std::uint64_t &word, const header &h) noexcept {
    const std::atomic_ref<std::uint64_t> at(word);
    if (h.what == kind::fetch_add) {
        return at.fetch_add(h.operands[0]);
    }
    std::uint64_t expected = h.operands[0];
    at.compare_exchange_strong(expected, h.operands[1]);
    return expected; // what it was, in both cases
}

} // namespace

order::~order() {
    for (std::size_t i = 0; i < number_of_streams_; ++i) {
        while (packet *const each = streams_[i].packets.pop()) {
            give_packet(each);
        }
    }
}

bool order::begin(transport &from, int processes, int queues) noexcept {
    from_ = &from;
    queues_ = static_cast<std::size_t>(queues);
    number_of_streams_ = static_cast<std::size_t>(processes) * queues_;
    streams_.reset(new (std::nothrow) stream[number_of_streams_]);
    return streams_ != nullptr;
}

order::stream &order::stream_of(const packet &p) noexcept {
    return streams_[static_cast<std::size_t>(p.process) * queues_ + p.head.queue];
}

// The sender has checked this before, so null means that the segment was deleted meanwhile.
const local_part *order::part_for(const header &h) noexcept {
    const local_part *const part = parts_.find(h.segment);
    return part != nullptr && h.offset <= part->bytes && h.bytes <= part->bytes - h.offset ? part : nullptr;
}

void order::put_inside(packet &p) noexcept {
    if (p.head.bytes == 0) {
        return;
    }
    if (const local_part *const part = part_for(p.head); part != nullptr) {
        std::memcpy(part->memory + p.head.offset, p.data, p.head.bytes);
    } else {
        p.has_failed = true;
    }
}

// False: there is no such notification.
bool order::notify(const header &h) noexcept {
    if (h.value == 0) {
        return true;
    }
    // A list may have its notification in another segment than its last piece.
    const local_part *const part = parts_.find(h.what == kind::put ? static_cast<int>(h.operands[0]) : h.segment);
    if (part != nullptr && h.notification < part->notifications.count()) {
        notification::slots(part->notifications).set(h.notification, h.value);
        return true;
    }
    return false;
}

// Of a put of a list, when all before are done: whether it, or what it ends, has failed.
bool order::fails_with_list(stream &in, const packet &p) noexcept {
    const std::uint64_t list = p.head.operands[1];
    const bool is_last = p.head.value != 0;
    const bool is_known = list == in.failed_list || list <= in.failed_lists_before;
    if (is_last && list == in.failed_list) {
        in.failed_list = 0;
    } else if (!is_last && p.has_failed && !is_known) {
        in.failed_lists_before = std::max(in.failed_lists_before, in.failed_list);
        in.failed_list = list;
    }
    return p.has_failed || (is_last && is_known);
}

void order::finish(packet &p) noexcept {
    if (p.head.what == kind::put && p.head.operands[1] != 0) {
        p.has_failed = fails_with_list(stream_of(p), p);
    }
    const bool has_effect = !p.has_failed && notify(p.head);
    parts_.done(p.process, is_operation(p.head.what));
    if (has_effect || (p.head.what != kind::put && !p.is_unmoved)) [[likely]] { // a reply has told of any other
        give_packet(&p);
    } else {
        parts_.refuse(p);
    }
}

void order::arrived(packet &p) noexcept {
    if (!is_counted(p.head.what)) [[unlikely]] {
        if (p.head.what == kind::credit) {
            parts_.credit(p.process, p.head.operands[0]);
            give_packet(&p);
        } else {
            parts_.refused(p);
        }
        return;
    }
    stream &in = stream_of(p);
    p.has_failed = p.is_unmoved = false;
    if (in.packets.empty() && p.head.what == kind::put && p.head.serial == 0) [[likely]] {
        put_inside(p);
        finish(p);
        return;
    }
    p.moving = MPI_REQUEST_NULL;
    p.to = nullptr;
    p.room = nullptr;
    p.is_done = false;
    in.packets.add(p);
    in.next = in.next != nullptr ? in.next : &p;
    advance(in);
}

bool order::may_start(const stream &in, const packet &next) noexcept {
    if (next.head.what != kind::put) {
        return in.started == 0;
    }
    if (in.started >= most_started) {
        return false;
    }
    const local_part *const part = in.started != 0 ? part_for(next.head) : nullptr;
    const unsigned char *const to = part != nullptr ? part->memory + next.head.offset : nullptr;
    for (const packet *before = in.packets.first(); before != &next; before = before->next) {
        if (!before->is_done &&
            (before->head.what != kind::put || (to != nullptr && before->to != nullptr &&
                                                overlap(before->to, before->head.bytes, to, next.head.bytes)))) {
            return false;
        }
    }
    return true;
}

void order::advance(stream &in) noexcept {
    for (;;) {
        for (; in.started != 0 && in.packets.first()->is_done; --in.started) {
            finish(*in.packets.pop());
        }
        if (in.next == nullptr || !may_start(in, *in.next)) {
            return;
        }
        packet &next = *in.next;
        in.next = next.next;
        ++in.started;
        start(next);
    }
}

// `code`: of the call that has started the request of this packet, which uses a part or none.
void order::move(packet &next, const local_part *part, int code) noexcept {
    if (code != MPI_SUCCESS) {
        next.moving = MPI_REQUEST_NULL;
        next.is_done = next.has_failed = next.is_unmoved = true;
        delete[] next.room;
        return;
    }
    next.uses = part != nullptr ? &part->uses : nullptr;
    if (part != nullptr) {
        part->uses.fetch_add(1, std::memory_order_relaxed);
    }
    next.next_moving = std::exchange(moving_, &next);
}

void order::start_put(packet &next) noexcept {
    const header &h = next.head;
    if (h.serial == 0) {
        put_inside(next);
        next.is_done = true;
        return;
    }
    std::uint64_t fits = h.bytes;
    const local_part *const part = part_for(h);
    if (part != nullptr) {
        next.to = part->memory + h.offset;
    } else {
        next.has_failed = true;
        next.room = new (std::nothrow) unsigned char[h.bytes];
        fits = next.room != nullptr ? h.bytes : 0; // then MPI drops the data
    }
    unsigned char *const to = next.to != nullptr ? next.to : next.room;
    move(next, part, from_->receive_data(to, fits, next.process, h.serial, next.moving));
}

void order::reply(packet &next, const void *from, std::uint64_t bytes, const local_part *part) noexcept {
    move(next, part, from_->send_reply(from, bytes, next.process, next.head.serial, next.moving));
}

void order::start_atomic(packet &next) noexcept {
    header &h = next.head;
    const local_part *const part = part_for(h);
    if (part == nullptr) {
        reply(next, nullptr, 0, nullptr);
        return;
    }
    h.operands[0] = do_atomic(*reinterpret_cast<std::uint64_t *>(part->memory + h.offset), h);
    reply(next, &h.operands[0], sizeof h.operands[0], nullptr);
}

void order::start(packet &next) noexcept {
    switch (next.head.what) {
    case kind::put:
        start_put(next);
        return;
    case kind::get:
        if (const local_part *const part = part_for(next.head); part != nullptr) {
            reply(next, part->memory + next.head.offset, next.head.bytes, part);
        } else {
            reply(next, nullptr, 0, nullptr);
        }
        return;
    case kind::fetch_add:
    case kind::compare_swap:
        start_atomic(next);
        return;
    case kind::other:
        parts_.other(next);
        next.is_done = true;
        return;
    case kind::credit:
    case kind::refused:
    case kind::no_reply: // never in a stream
        break;
    }
    next.is_done = true;
}

bool order::poll() noexcept {
    bool some = false;
    for (packet **link = &moving_; *link != nullptr;) {
        packet &each = **link;
        int code = MPI_SUCCESS;
        if (!may_be_complete(each.moving) || !mpi::has_ended(each.moving, code)) {
            link = &each.next_moving;
            continue;
        }
        *link = each.next_moving;
        each.is_unmoved = code != MPI_SUCCESS;
        each.has_failed = each.has_failed || each.is_unmoved;
        each.is_done = true;
        delete[] each.room;
        if (each.uses != nullptr) {
            each.uses->fetch_sub(1, std::memory_order_release);
        }
        advance(stream_of(each)); // may add others at the beginning
        some = true;
    }
    return some;
}

} // namespace thence::wire
