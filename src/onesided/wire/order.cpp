// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/order.hpp"

#include "core/engine/is_complete.hpp"
#include "core/mpi/calls.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

namespace thence::wire {

namespace {

using mpi::table;

bool overlap(const header &a, const header &b) noexcept {
    return a.segment == b.segment && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
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
    for (const auto &each : streams_) {
        if (each != nullptr) {
            for (const entry &e : each->entries) {
                give_packet(e.p);
            }
        }
    }
}

bool order::begin(transport &from, int processes, int queues) noexcept {
    from_ = &from;
    queues_ = static_cast<std::size_t>(queues);
    try {
        streams_.resize(static_cast<std::size_t>(processes) * queues_);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

order::stream *order::stream_of(const packet &p) noexcept {
    auto &slot = streams_[static_cast<std::size_t>(p.process) * queues_ + p.head.queue];
    if (slot == nullptr) {
        slot = std::make_unique<stream>();
    }
    return slot.get();
}

// The sender has checked this before, so null means that the segment was deleted meanwhile.
const local_part *order::part_for(const header &h) noexcept {
    const local_part *const part = parts_.find(h.segment);
    return part != nullptr && h.offset <= part->bytes && h.bytes <= part->bytes - h.offset ? part : nullptr;
}

void order::put_inside(const packet &p) noexcept {
    if (const local_part *const part = part_for(p.head); part != nullptr && p.head.bytes != 0) {
        std::memcpy(part->memory + p.head.offset, p.data, p.head.bytes);
    }
}

void order::notify(const header &h) noexcept {
    if (h.value == 0) {
        return;
    }
    // A list may have its notification in another segment than its last piece.
    const local_part *const part = parts_.find(h.what == kind::put ? static_cast<int>(h.operands[0]) : h.segment);
    if (part != nullptr && h.notification < part->notifications.count()) {
        notification::slots(part->notifications).set(h.notification, h.value);
    }
}

void order::finish(packet &p) noexcept {
    notify(p.head);
    parts_.done(p.process);
    give_packet(&p);
}

void order::arrived(packet &p) noexcept {
    stream &in = *stream_of(p);
    if (in.entries.empty() && p.head.what == kind::put && p.head.serial == 0) [[likely]] {
        put_inside(p);
        finish(p);
        return;
    }
    in.entries.push_back({&p, MPI_REQUEST_NULL, false, nullptr});
    advance(in);
}

bool order::may_start(const stream &in, const entry &next) const noexcept {
    if (next.p->head.what != kind::put) {
        return in.started == 0;
    }
    if (in.started >= most_started) {
        return false;
    }
    for (std::size_t i = 0; i < in.started; ++i) {
        const entry &before = in.entries[i];
        if (!before.is_done && (before.p->head.what != kind::put || overlap(before.p->head, next.p->head))) {
            return false;
        }
    }
    return true;
}

void order::advance(stream &in) noexcept {
    for (;;) {
        for (; in.started != 0 && in.entries.front().is_done; --in.started) {
            finish(*in.entries.front().p);
            in.entries.pop_front();
        }
        if (in.started == in.entries.size() || !may_start(in, in.entries[in.started])) {
            return;
        }
        entry &next = in.entries[in.started++];
        start(in, next);
    }
}

// `code`: of the call that has started the request of this entry.
void order::move(stream &in, entry &next, int code) noexcept {
    if (code != MPI_SUCCESS) {
        next.moving = MPI_REQUEST_NULL;
        next.is_done = true;
        return;
    }
    moving_.push_back({&in, &next});
}

void order::start_put(stream &in, entry &next) noexcept {
    const header &h = next.p->head;
    if (h.serial == 0) {
        put_inside(*next.p);
        next.is_done = true;
        return;
    }
    const local_part *const part = part_for(h);
    unsigned char *to = part != nullptr ? part->memory + h.offset : nullptr;
    std::uint64_t fits = h.bytes;
    if (part == nullptr) {
        next.room.reset(new (std::nothrow) unsigned char[h.bytes]);
        to = next.room.get();
        fits = to != nullptr ? h.bytes : 0; // then MPI drops the data
    }
    move(in, next, from_->receive_data(to, fits, next.p->process, h.serial, next.moving));
}

void order::reply(stream &in, entry &next, const void *from, std::uint64_t bytes) noexcept {
    move(in, next, from_->send_reply(from, bytes, next.p->process, next.p->head.serial, next.moving));
}

void order::start_atomic(stream &in, entry &next) noexcept {
    header &h = next.p->head;
    const local_part *const part = part_for(h);
    if (part == nullptr) {
        reply(in, next, nullptr, 0);
        return;
    }
    h.operands[0] = do_atomic(*reinterpret_cast<std::uint64_t *>(part->memory + h.offset), h);
    reply(in, next, &h.operands[0], sizeof h.operands[0]);
}

void order::start(stream &in, entry &next) noexcept {
    switch (next.p->head.what) {
    case kind::put:
        start_put(in, next);
        return;
    case kind::get:
        if (const local_part *const part = part_for(next.p->head); part != nullptr) {
            reply(in, next, part->memory + next.p->head.offset, next.p->head.bytes);
        } else {
            reply(in, next, nullptr, 0);
        }
        return;
    case kind::fetch_add:
    case kind::compare_swap:
        start_atomic(in, next);
        return;
    case kind::other:
        parts_.other(*next.p);
        next.is_done = true;
        return;
    }
    next.is_done = true;
}

bool order::poll() noexcept {
    bool some = false;
    for (std::size_t i = 0; i < moving_.size();) {
        const movement each = moving_[i];
        int flag = 0;
        if ((engine::can_read_requests && !engine::read_complete(each.what->moving)) ||
            (table.Test(&each.what->moving, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0)) {
            ++i;
            continue;
        }
        moving_[i] = moving_.back();
        moving_.pop_back();
        each.what->is_done = true;
        advance(*each.of); // may add movements at the end
        some = true;
    }
    return some;
}

} // namespace thence::wire
