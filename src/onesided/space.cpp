// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/space.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/source.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <exception>

namespace thence::onesided {

using mpi::table;

space::space(MPI_Comm comm, MPI_Comm collective) noexcept : comm_(comm), collective_(collective), arriving_(*this) {
    table.Comm_rank(comm_, &rank_);
    table.Comm_size(comm_, &size_);
}

space::~space() {
    leave_list();
    wires_.reset();
    table.Comm_free(&comm_);
    table.Comm_free(&collective_);
}

// No poll looks at it afterwards.
void space::leave_list() noexcept {
    if (is_listed_) {
        if (has_messages()) {
            messages_end();
        }
        remove_space(*this);
        is_listed_ = false;
    }
}

void space::look_who_is_gone() noexcept {
    for (int i = 0; health_ != nullptr && i < size_; ++i) {
        health_of(i).look();
    }
}

bool space::any_is_gone() noexcept {
    for (int i = 0; health_ != nullptr && i < size_; ++i) { // null: the space could not be made
        if (is_gone(i)) {
            return true;
        }
    }
    return false;
}

// False: some thread has looked a short time ago.
bool space::look_if_due() noexcept {
    const std::uint32_t now = base::coarse_milliseconds();
    std::uint32_t last = last_look_.load(std::memory_order_relaxed);
    if (now - last < milliseconds_of_look ||
        !last_look_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
        return false;
    }
    look_who_is_gone();
    return true;
}

void space::look_now_and_then() noexcept {
    if (++polls_ < polls_of_look) {
        return;
    }
    polls_ = 0;
    if (!look_if_due()) {
        return;
    }
    if (auto *const function = hopeless_.load(std::memory_order_acquire);
        function != nullptr && (has_lost_.load(std::memory_order_acquire) || any_is_gone())) {
        function(*this);
    }
}

std::uint64_t space::done_by(int rank) const noexcept {
    if (rank == rank_) {
        return done_[rank_].load(std::memory_order_acquire);
    }
    const peer &to = peers[static_cast<std::size_t>(rank)];
    return (to.done != nullptr ? *to.done : credits_[static_cast<std::size_t>(rank)]).load(std::memory_order_acquire);
}

bool space::has_room_for(int rank) noexcept {
    const auto has_room = [&] { return wires_->sent_to(rank) - done_by(rank) < most_on_their_way; };
    return has_room() || (wires_->poll(), has_room());
}

// The other process may wait for this one in another space, or in a call of MPI that this thread must answer. So it
// polls all sources, which lets MPI make progress, as its requests do not where they can be read.
bool space::wait_for_room(int rank) noexcept {
    const continuation::busy_scope no_callback_here;
    thence_backoff backoff = progress::backoff_of_short_wait();
    for (unsigned turn = 1; !has_room_for(rank); ++turn) {
        if (turn % 1024 == 0) {
            health_of(rank).look();
        }
        if (is_gone(rank)) {
            return false;
        }
        progress::poll_sources(progress::polled_from::outside);
        progress::pause_and_catch_up(backoff);
    }
    return true;
}

int space::free_number() const noexcept {
    const std::scoped_lock guard(lock_);
    const auto free = std::ranges::find(segments_, nullptr);
    return static_cast<int>(free - segments_.begin());
}

bool space::add_segment(segment &added) noexcept {
    const std::scoped_lock guard(lock_);
    try {
        const auto number = static_cast<std::size_t>(added.number);
        if (segments_.size() <= number) {
            segments_.resize(number + 1, nullptr);
        }
        segments_[number] = &added;
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void space::remove_segment(const segment &removed) noexcept {
    const std::scoped_lock guard(lock_);
    segments_[static_cast<std::size_t>(removed.number)] = nullptr;
}

segment *space::segment_of(int number) noexcept {
    const std::scoped_lock guard(lock_);
    return number >= 0 && static_cast<std::size_t>(number) < segments_.size()
               ? segments_[static_cast<std::size_t>(number)]
               : nullptr;
}

bool space::poll() noexcept {
    if (!has_messages()) {
        return false;
    }
    const continuation::busy_scope no_callback_here; // it would wait for this poll, if it waits for this space
    look_now_and_then();
    const bool some = wires_->poll();
    look_at_lists();
    for (queue &each : queues) {
        if (each.has_ends()) { // others may wait for what they set
            each.look();
        }
    }
    return some;
}

void space::add_list(list_request &added) noexcept {
    lists_number_.fetch_add(1, std::memory_order_relaxed);
    one_more_waits();
    const std::scoped_lock guard(lists_lock_);
    lists_.add(added);
}

void space::look_at_lists() noexcept {
    if (lists_number_.load(std::memory_order_relaxed) == 0) {
        return;
    }
    base::linked_list<notification::waiter> looked_at;
    base::linked_list<notification::waiter> left;
    base::linked_list<notification::waiter> complete;
    {
        const std::scoped_lock guard(lists_lock_);
        looked_at.add_before(lists_);
    }
    while (notification::waiter *const each = looked_at.pop()) {
        auto &list = static_cast<list_request &>(*each);
        list.pending_pieces.look(false);
        if (list.pending_pieces.size() != 0) {
            left.add(list);
        } else {
            list.error = list.pending_pieces.take_error();
            complete.add(list);
        }
    }
    const std::scoped_lock guard(lists_lock_);
    lists_.add_before(left);
    complete_lists_.add_before(complete);
    any_list_is_complete_.store(!complete_lists_.empty(), std::memory_order_release);
}

bool space::may_have_arrived() noexcept {
    if (any_list_is_complete_.load(std::memory_order_acquire)) {
        return true;
    }
    const std::scoped_lock guard(lock_);
    return std::ranges::any_of(segments_,
                               [](segment *each) { return each != nullptr && each->waiting.may_have_arrived(); });
}

// The user of the request of a list may free the space as soon as the request is complete.
void space::look(notification::arrived_list &ready) noexcept {
    if (any_list_is_complete_.load(std::memory_order_acquire)) {
        const std::scoped_lock guard(lists_lock_);
        while (notification::waiter *const each = complete_lists_.pop()) {
            lists_number_.fetch_sub(1, std::memory_order_release);
            ready.add(*each);
        }
        any_list_is_complete_.store(false, std::memory_order_release);
    }
    const std::scoped_lock guard(lock_);
    for (segment *each : segments_) {
        if (each != nullptr && each->waiting.may_have_arrived()) {
            each->waiting.look(ready);
        }
    }
}

const wire::local_part *space::find(int number) noexcept {
    segment *const found = segment_of(number);
    return found != nullptr ? found->find_own() : nullptr;
}

void space::other(wire::packet &p) noexcept {
    if (other_ != nullptr) {
        other_(other_data_, p);
    }
}

void space::lost(wire::packet &p, bool was_told) noexcept {
    if (!wire::is_counted(p.head.what)) { // the next credit tells of these packets, too
        uncounted_sent_[static_cast<std::size_t>(p.process)].fetch_sub(1, std::memory_order_release);
    }
    health &target_health = health_of(p.process);
    target_health.failed.store(true, std::memory_order_relaxed);
    if (was_told || !wire::is_counted(p.head.what)) {
        wire::give_packet(&p);
    } else {
        lost_after_its_call(p, target_health);
    }
}

void space::lost_after_its_call(wire::packet &p, health &target_health) noexcept {
    if (p.head.what == wire::kind::other) {
        // It has no queue, and what it asks for never comes. Whoever waits for that process looks whether it is gone.
        target_health.gone.store(true, std::memory_order_release);
        wire::give_packet(&p);
        return;
    }
    if (p.head.what == wire::kind::put) { // it may be locally complete, also where its data are a message
        queue_of(static_cast<int>(p.head.queue)).add_error(MPI_ERR_OTHER);
    }
    will_not_complete(p);
}

// This process waits for a reply, or until its data have left, and neither happens. Owns the packet that says which.
void space::will_not_complete(wire::packet &p) noexcept {
    if (p.head.serial == 0) {
        wire::give_packet(&p);
        return;
    }
    health_of(p.process).keep_lost(p);
    has_lost_.store(true, std::memory_order_release);
}

void space::done(int process, bool is_operation) noexcept {
    if (is_operation) {
        operations_done_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_release);
    }
    const std::uint64_t all = done_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_release) + 1;
    if (all % packets_of_credit != 0 || process == rank_) [[likely]] {
        return;
    }
    if (wire::packet *const p = wire::take_packet(); p != nullptr) { // else the next one tells of these, too
        p->head = {};
        p->head.what = wire::kind::credit;
        p->head.operands[0] = all;
        p->length = sizeof p->head;
        send_uncounted(*p, process);
    }
}

void space::send_uncounted(wire::packet &p, int process) noexcept {
    uncounted_sent_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_relaxed);
    wires_->send(p, process);
}

void space::has_arrived_uncounted(int process) noexcept {
    uncounted_here_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_release);
}

void space::credit(int process, std::uint64_t packets) noexcept {
    credits_[static_cast<std::size_t>(process)].store(packets, std::memory_order_release);
    has_arrived_uncounted(process);
}

void space::refuse(wire::packet &p) noexcept {
    const wire::header refused = p.head;
    p.head = {};
    p.head.what = refused.what == wire::kind::put ? wire::kind::refused : wire::kind::no_reply;
    p.head.queue = refused.queue;
    p.head.serial = p.is_unmoved ? refused.serial : 0;
    p.length = sizeof p.head;
    send_uncounted(p, p.process);
}

// A put may have been locally complete for long: so its queue has the error, and the health of the process.
void space::refused(wire::packet &p) noexcept {
    const int process = p.process;
    health_of(process).failed.store(true, std::memory_order_relaxed);
    if (p.head.what == wire::kind::refused) {
        queue_of(static_cast<int>(p.head.queue)).add_error(MPI_ERR_OTHER);
    }
    will_not_complete(p);
    has_arrived_uncounted(process);
}

} // namespace thence::onesided
