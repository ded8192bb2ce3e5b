// SPDX-License-Identifier: BSD-3-Clause
#include "am/outbox.hpp"

#include <exception>
#include <utility>

namespace thence::am {

bool outbox::begin(int ranks, int window) noexcept {
    try {
        all_ = std::vector<destination>(static_cast<std::size_t>(ranks));
        sent_to_.resize(static_cast<std::size_t>(ranks));
    } catch (const std::exception &) {
        return false;
    }
    window_ = static_cast<unsigned>(window);
    for (destination &each : all_) {
        for (line &l : each.lines) {
            l.credits = window_;
        }
    }
    return true;
}

outbox::~outbox() {
    for (destination &each : all_) {
        for (line &l : each.lines) {
            while (l.first != nullptr) {
                pool_.give(*std::exchange(l.first, l.first->next));
            }
        }
    }
}

void outbox::post(packet &p) noexcept {
    packets_.fetch_add(1, std::memory_order_relaxed);
    by_.send(p);
}

namespace {

void add_note(packet &to, leaving_note *note) noexcept {
    if (note != nullptr) {
        note->next = to.notes;
        to.notes = note;
    }
}

} // namespace

int outbox::send(lane in, int rank, std::uint32_t number, piece a, piece b, leaving_note *note,
                 bool more_follows) noexcept {
    destination &d = all_[static_cast<std::size_t>(rank)];
    line &l = d.lines[index_of(in)];
    const bool may_call = by_.may_call();
    d.lock.lock();
    if (may_call && l.first == nullptr && l.credits > 0 && (!more_follows || l.credits == window_)) [[likely]] {
        packet *const p = pool_.take();
        if (p == nullptr) {
            d.lock.unlock();
            return MPI_ERR_NO_MEM;
        }
        --l.credits;
        ++d.packets;
        p->begin(in, rank);
        p->head().returned[index_of(in)] = static_cast<std::uint16_t>(std::exchange(l.owed, 0));
        d.lock.unlock();
        p->append(number, a, b);
        add_note(*p, note);
        post(*p);
        return MPI_SUCCESS;
    }
    const std::size_t bytes = a.bytes + b.bytes;
    if (l.last == nullptr || !l.last->has_room(bytes, pool_.whole())) {
        packet *const p = pool_.take();
        if (p == nullptr) {
            d.lock.unlock();
            return MPI_ERR_NO_MEM;
        }
        p->begin(in, rank);
        p->next = nullptr;
        (l.last != nullptr ? l.last->next : l.first) = p;
        l.last = p;
    }
    l.last->append(number, a, b);
    add_note(*l.last, note);
    const std::size_t added = sizeof(message_header) + padded(bytes);
    d.queued.fetch_add(added, std::memory_order_relaxed);
    queued_.fetch_add(added, std::memory_order_relaxed);
    // A packet that is full need not wait for more. Without credits the next that come back flush.
    const bool is_full = !l.last->has_room(0, pool_.whole()) || l.first != l.last;
    const bool has_credits = l.credits > 0;
    d.lock.unlock();
    if (!may_call || (more_follows && !is_full)) {
        touch(d);
    } else if (has_credits) {
        flush(d);
    }
    return MPI_SUCCESS;
}

void outbox::touch(destination &d) noexcept {
    if (d.is_touched.exchange(true)) {
        return; // it is in the list
    }
    destination *first = touched_.load(std::memory_order_relaxed);
    do {
        d.next_touched = first;
    } while (!touched_.compare_exchange_weak(first, &d, std::memory_order_release, std::memory_order_relaxed));
}

void outbox::flush_touched() noexcept {
    if (!any_touched()) {
        return;
    }
    for (destination *d = touched_.exchange(nullptr, std::memory_order_acquire); d != nullptr;) {
        destination *const next = d->next_touched;
        d->is_touched.exchange(false); // before it is looked at: who appends from now on touches it again
        flush(*d);
        d = next;
    }
}

void outbox::flush(destination &d) noexcept {
    for (unsigned i = 0; i < lanes; ++i) {
        line &l = d.lines[i];
        while (true) {
            d.lock.lock();
            packet *const p = l.first;
            if (p == nullptr || l.credits == 0) {
                d.lock.unlock();
                break;
            }
            --l.credits;
            ++d.packets;
            l.first = p->next;
            if (l.first == nullptr) {
                l.last = nullptr;
            }
            p->head().returned[i] = static_cast<std::uint16_t>(std::exchange(l.owed, 0));
            const std::size_t bytes = p->length - sizeof(packet_header);
            d.lock.unlock();
            d.queued.fetch_sub(bytes, std::memory_order_relaxed);
            queued_.fetch_sub(bytes, std::memory_order_relaxed);
            post(*p);
        }
    }
}

void outbox::handled(lane in, int source) noexcept {
    destination &d = all_[static_cast<std::size_t>(source)];
    d.lock.lock();
    line &l = d.lines[index_of(in)];
    const bool many = ++l.owed >= window_ / 2;
    d.lock.unlock();
    if (many && !ending_.load(std::memory_order_relaxed)) {
        return_credits(d, source);
    }
}

void outbox::return_credits(destination &d, int rank) noexcept {
    packet *const p = pool_.take();
    if (p == nullptr) {
        return; // they go with the next message, or with the next attempt
    }
    p->begin(lane::internal, rank);
    d.lock.lock();
    unsigned some = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        some += d.lines[i].owed;
        p->head().returned[i] = static_cast<std::uint16_t>(std::exchange(d.lines[i].owed, 0));
    }
    d.packets += some != 0 ? 1 : 0;
    d.lock.unlock();
    if (some != 0) {
        post(*p);
    } else {
        pool_.give(*p);
    }
}

void outbox::returned(int from, const packet_header &head) noexcept {
    unsigned some = 0;
    for (const std::uint16_t each : head.returned) {
        some |= each;
    }
    if (some == 0) {
        return;
    }
    destination &d = all_[static_cast<std::size_t>(from)];
    bool any_waits = false;
    d.lock.lock();
    for (unsigned i = 0; i < lanes; ++i) {
        d.lines[i].credits += head.returned[i];
        any_waits = any_waits || d.lines[i].first != nullptr;
    }
    d.lock.unlock();
    if (any_waits) {
        flush(d);
    }
}

void outbox::lost(lane in, int rank) noexcept {
    destination &d = all_[static_cast<std::size_t>(rank)];
    d.lock.lock();
    ++d.lines[index_of(in)].credits;
    --d.packets;
    d.lock.unlock();
    touch(d);
}

const std::uint64_t *outbox::packets_to() noexcept {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const std::scoped_lock guard(all_[i].lock);
        sent_to_[i] = all_[i].packets;
    }
    return sent_to_.data();
}

} // namespace thence::am
