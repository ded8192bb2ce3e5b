// SPDX-License-Identifier: BSD-3-Clause
#include "am/outbox.hpp"

#include "am/outgoing_data.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

namespace thence::am {

bool outbox::begin(int ranks, int window, unsigned most_announced) noexcept {
    most_announced_ = most_announced;
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
                packet &p = *std::exchange(l.first, l.first->next);
                while (p.departures != nullptr) {
                    delete std::exchange(p.departures, p.departures->next);
                }
                while (p.announced != nullptr) {
                    delete_transfer(std::exchange(p.announced, p.announced->next));
                }
                pool_.give(p);
            }
        }
    }
}

namespace {

void attach(packet &to, attached told) noexcept {
    if (told.departure != nullptr) {
        told.departure->next = to.departures;
        to.departures = told.departure;
    }
    if (told.announced != nullptr) {
        told.announced->next = nullptr;
        (to.announced != nullptr ? to.last_announced->next : to.announced) = told.announced;
        to.last_announced = told.announced;
    }
}

} // namespace

bool outbox::has_room(packet &p, std::size_t bytes) const noexcept {
    return p.has_room(bytes, pool_.whole()) && (p.in != lane::control || p.head().messages < most_announced_);
}

// A packet is sent. Under the lock of its destination.
void outbox::count(destination &d) noexcept {
    ++d.packets;
    ++d.leaving;
}

// Those of all lanes, but not in a packet that may wait for a poll. Under the lock of its destination.
void outbox::add_credits(destination &d, packet &p) noexcept {
    for (unsigned i = 0; i < lanes && p.in != lane::handlers; ++i) {
        p.head().returned[i] = static_cast<std::uint16_t>(std::exchange(d.lines[i].owed, 0));
    }
}

int outbox::send(lane in, int rank, std::uint32_t number, piece a, piece b, attached told, bool more_follows) noexcept {
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
        count(d);
        p->begin(in, rank);
        add_credits(d, *p);
        d.lock.unlock();
        p->append(number, a, b);
        attach(*p, told);
        by_.send(*p);
        return MPI_SUCCESS;
    }
    const std::size_t bytes = a.bytes + b.bytes;
    if (l.last == nullptr || !has_room(*l.last, bytes)) {
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
    attach(*l.last, told);
    const std::size_t added = sizeof(message_header) + padded(bytes);
    d.queued.fetch_add(added, std::memory_order_relaxed);
    queued_.fetch_add(added, std::memory_order_relaxed);
    // A packet that is full need not wait for more. Without credits the next that come back flush.
    const bool is_full = !has_room(*l.last, 0) || l.first != l.last;
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
        if (flush(*d)) [[unlikely]] {  // after a packet was lost
            return_credits(*d, static_cast<int>(d - all_.data()));
        }
        d = next;
    }
}

bool outbox::flush(destination &d) noexcept {
    for (;;) {
        d.lock.lock();
        line *l = d.lines;
        while (l != d.lines + lanes && (l->first == nullptr || l->credits == 0)) {
            ++l;
        }
        if (l == d.lines + lanes) {
            const bool many = owes_many(d);
            d.lock.unlock();
            return many;
        }
        packet *const p = l->first;
        --l->credits;
        count(d);
        l->first = p->next;
        if (l->first == nullptr) {
            l->last = nullptr;
        }
        add_credits(d, *p);
        const std::size_t bytes = p->length - sizeof(packet_header);
        d.lock.unlock();
        d.queued.fetch_sub(bytes, std::memory_order_relaxed);
        queued_.fetch_sub(bytes, std::memory_order_relaxed);
        by_.send(*p);
    }
}

void outbox::handled(lane in, int source) noexcept {
    destination &d = all_[static_cast<std::size_t>(source)];
    d.lock.lock();
    ++d.lines[index_of(in)].owed;
    const bool many = owes_many(d);
    d.lock.unlock();
    if (many) {
        return_credits(d, source);
    }
}

bool outbox::owes_many(const destination &d) const noexcept {
    bool many = false;
    for (const line &l : d.lines) {
        many = many || l.owed >= window_ / 2;
    }
    return many && !ending_.load();
}

kept_credit *outbox::keep(kept_credit *&kept, lane in, int source) noexcept {
    if (kept == nullptr) {
        kept = new (std::nothrow) kept_credit{1, in, source};
    }
    if (kept != nullptr) {
        kept->references.fetch_add(1, std::memory_order_relaxed);
    }
    return kept;
}

void outbox::give_back(kept_credit *kept) noexcept {
    if (kept != nullptr && kept->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        handled(kept->in, kept->source);
        delete kept;
    }
}

void outbox::return_credits(destination &d, int rank) noexcept {
    packet *const p = pool_.take();
    if (p == nullptr) {
        return; // they go with the next message, or with the next attempt
    }
    p->begin(lane::control, rank);
    d.lock.lock();
    const bool still = owes_many(d); // another thread may have returned them, and end() forbids it
    if (still) {
        add_credits(d, *p);
        count(d);
    }
    d.lock.unlock();
    if (still) {
        by_.send(*p);
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

void outbox::lost(packet &p) noexcept {
    destination &d = all_[static_cast<std::size_t>(p.rank)];
    d.lock.lock();
    for (unsigned i = 0; i < lanes; ++i) {
        d.lines[i].owed += p.head().returned[i];
    }
    d.lines[index_of(p.in)].credits += p.head().messages != 0 ? 1 : 0;
    --d.packets;
    d.lock.unlock();
    touch(d);
}

void outbox::left(int rank) noexcept {
    destination &d = all_[static_cast<std::size_t>(rank)];
    const std::scoped_lock guard(d.lock);
    --d.leaving;
}

bool outbox::have_all_left() noexcept {
    return std::ranges::all_of(all_, [](destination &d) {
        const std::scoped_lock guard(d.lock);
        return d.leaving == 0;
    });
}

std::uint64_t outbox::packets() noexcept {
    std::uint64_t sum = 0;
    for (destination &d : all_) {
        const std::scoped_lock guard(d.lock);
        sum += d.packets;
    }
    return sum;
}

const std::uint64_t *outbox::packets_to() noexcept {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const std::scoped_lock guard(all_[i].lock);
        sent_to_[i] = all_[i].packets;
    }
    return sent_to_.data();
}

} // namespace thence::am
