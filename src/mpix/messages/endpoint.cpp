// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/endpoint.hpp"

#include "core/continuation/thread_state.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace thence::messages {

// The endpoints that requests have needed. An endpoint leaves when it is destroyed.
class registry {
public:
    // What is called while this thread drives may append to the list that drive() goes through.
    void add(endpoint &added) noexcept {
        const bool mine = driving;
        if (!mine) {
            lock_.lock();
        }
        if (!added.registered_.exchange(true)) {
            all_.push_back(&added);
        }
        if (!mine) {
            lock_.unlock();
        }
    }
    void remove(endpoint &removed) noexcept {
        const std::scoped_lock guard(lock_);
        all_.erase(std::remove(all_.begin(), all_.end(), &removed), all_.end());
    }
    // A thread that finds the lock taken does nothing: another thread drives them.
    bool drive() noexcept {
        if (!lock_.try_lock()) {
            return false;
        }
        const continuation::busy_scope busy; // a callback could wait for a thread that waits for this lock
        driving = true;
        bool some = false;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            some = (all_[i]->is_needed() && all_[i]->any_arrived() && all_[i]->drive()) || some;
        }
        driving = false;
        lock_.unlock();
        return some;
    }

    static thread_local constinit bool driving; // this thread has the lock, in drive()

private:
    base::spin_lock lock_;
    std::vector<endpoint *> all_;
};

thread_local constinit bool registry::driving = false;

namespace {

registry &needed() noexcept {
    static auto *const all = new registry; // threads may be here while the process ends
    return *all;
}

outcome outcome_of(const envelope &message) noexcept {
    outcome result;
    result.source = message.source;
    result.index = message.index;
    result.tag = message.tag;
    result.bytes = message.bytes;
    return result;
}

void drop(envelope &message) noexcept {
    if (message.data_is == form::in_block) {
        give_block(message.copy);
    }
}

} // namespace

bool drive_needed() noexcept {
    return needed().drive();
}

bool is_driving() noexcept {
    return registry::driving;
}

endpoint::~endpoint() {
    if (registered_.load()) {
        needed().remove(*this);
    }
    while (envelope *message = queue_.front()) {
        drop(*message);
        queue_.pop();
    }
    for (unexpected *each = unexpected_; each != nullptr;) {
        drop(each->message);
        delete std::exchange(each, each->next);
    }
    free_.delete_all();
}

void endpoint::needed_by_request() noexcept {
    needed_.fetch_add(1, std::memory_order_relaxed);
    if (!registered_.load(std::memory_order_relaxed)) {
        needed().add(*this);
    }
}

void endpoint::assign(p2p_operation &op) noexcept {
    op.at = this;
    if (op.has_request) {
        op.needs_endpoint = &needed_;
        needed_by_request();
    }
}

void endpoint::deferred_work::finish() noexcept {
    while (to_start != nullptr) {
        p2p_operation &receive = *std::exchange(to_start, to_start->next);
        receive.remote->start_receive(receive);
    }
    completed.tell();
}

void endpoint::deferred_work::take(deferred_work &other) noexcept {
    while (p2p_operation *const each = other.completed.first) {
        other.completed.first = each->next;
        completed.add(*each);
    }
    while (p2p_operation *const each = other.to_start) {
        other.to_start = each->next;
        each->next = std::exchange(to_start, each);
    }
}

// Gives the message to the receive, which is in no list.
void endpoint::deliver(envelope &message, p2p_operation &receive, deferred_work &deferred) noexcept {
    receive.result = outcome_of(message);
    const std::uint64_t fits = std::min(message.bytes, receive.data.bytes);
    if (fits < message.bytes) {
        receive.result.error = MPI_ERR_TRUNCATE;
        receive.result.bytes = fits;
    }
    switch (message.data_is) {
    case form::inside:
        copy_in(message.inside, receive.data, fits);
        break;
    case form::in_block:
        copy_in(message.copy->data(), receive.data, fits);
        give_block(message.copy);
        break;
    case form::at_sender:
        copy(message.sender->data, receive.data, fits);
        deferred.completed.add(*message.sender);
        break;
    case form::by_mpi:
        receive.remote = message.mpi.remote;
        receive.process = message.mpi.process;
        receive.serial = message.mpi.serial;
        receive.result.bytes = message.bytes; // of the message, until its data have come
        receive.next = deferred.to_start;
        deferred.to_start = &receive;
        return;
    }
    deferred.completed.add(receive);
}

p2p_operation *endpoint::find_posted(const envelope &message) noexcept {
    p2p_operation *each = posted_;
    while (each != nullptr && !matches(each->wanted, message)) {
        each = each->next;
    }
    return each;
}

unexpected *endpoint::find_unexpected(const pattern &wanted) noexcept {
    unexpected *each = unexpected_;
    while (each != nullptr && !matches(wanted, each->message)) {
        each = each->next;
    }
    return each;
}

void endpoint::unlink(p2p_operation &receive) noexcept {
    (receive.previous != nullptr ? receive.previous->next : posted_) = receive.next;
    (receive.next != nullptr ? receive.next->previous : last_posted_) = receive.previous;
    receive.next = receive.previous = nullptr;
    receive.listed = false;
}

void endpoint::unlink(unexpected &message) noexcept {
    (message.previous != nullptr ? message.previous->next : unexpected_) = message.next;
    (message.next != nullptr ? message.next->previous : last_unexpected_) = message.previous;
}

// A message cannot be dropped and its sender may be gone, so there is nothing to return an error to.
void endpoint::keep(const envelope &message) noexcept {
    unexpected *const kept = free_.take_or_make();
    if (kept == nullptr) {
        std::abort();
    }
    kept->message = message;
    kept->next = nullptr;
    kept->previous = last_unexpected_;
    (last_unexpected_ != nullptr ? last_unexpected_->next : unexpected_) = kept;
    last_unexpected_ = kept;
}

bool endpoint::drain(deferred_work &deferred) noexcept {
    bool some = false;
    while (envelope *message = queue_.front()) {
        some = true;
        if (p2p_operation *const receive = find_posted(*message)) {
            unlink(*receive);
            deliver(*message, *receive, deferred);
        } else {
            keep(*message);
        }
        queue_.pop();
    }
    return some;
}

void endpoint::push(const envelope &message) noexcept {
    for (base::spin_wait wait; !queue_.push(message); wait()) {
        drive();
    }
}

void endpoint::post(p2p_operation &receive) noexcept {
    deferred_work deferred;
    assign(receive);
    {
        const std::scoped_lock guard(lock_);
        drain(deferred);
        if (unexpected *const message = find_unexpected(receive.wanted)) {
            unlink(*message);
            deliver(message->message, receive, deferred);
            free_.give(*message);
        } else {
            receive.next = nullptr;
            receive.previous = last_posted_;
            (last_posted_ != nullptr ? last_posted_->next : posted_) = &receive;
            last_posted_ = &receive;
            receive.listed = true;
        }
    }
    deferred.finish();
}

bool endpoint::drive() noexcept {
    if (!lock_.try_lock()) {
        return false;
    }
    deferred_work deferred;
    const bool some = drain(deferred);
    lock_.unlock();
    deferred.finish();
    return some;
}

bool endpoint::probe(const pattern &wanted, outcome &found) noexcept {
    deferred_work deferred;
    bool is_there = false;
    {
        const std::scoped_lock guard(lock_);
        drain(deferred);
        if (const unexpected *const message = find_unexpected(wanted)) {
            found = outcome_of(message->message);
            is_there = true;
        }
    }
    deferred.finish();
    return is_there;
}

unexpected *endpoint::take(const pattern &wanted, outcome &found) noexcept {
    deferred_work deferred;
    unexpected *taken = nullptr;
    {
        const std::scoped_lock guard(lock_);
        drain(deferred);
        taken = find_unexpected(wanted);
        if (taken != nullptr) {
            unlink(*taken);
            found = outcome_of(taken->message);
        }
    }
    deferred.finish();
    return taken;
}

void endpoint::receive_taken(unexpected *taken, p2p_operation &receive) noexcept {
    deferred_work deferred;
    deliver(taken->message, receive, deferred);
    delete taken;
    deferred.finish();
}

bool endpoint::withdraw(p2p_operation &receive, deferred_work &deferred) noexcept {
    const std::scoped_lock guard(lock_);
    drain(deferred); // a message that has arrived before is received
    if (!receive.listed) {
        return false;
    }
    unlink(receive);
    return true;
}

namespace {

envelope envelope_of(const buffer &data, int source, int index, int tag) noexcept {
    envelope message;
    message.source = source;
    message.index = index;
    message.tag = tag;
    message.bytes = data.bytes;
    return message;
}

} // namespace

bool send_copy(endpoint &to, const buffer &data, int source, int index, int tag) noexcept {
    envelope message = envelope_of(data, source, index, tag);
    if (data.bytes <= envelope::most_inside) [[likely]] {
        message.data_is = form::inside;
        copy_out(data, message.inside, data.bytes);
    } else if (block *const copy = data.bytes <= block::capacity ? take_block() : nullptr) {
        message.data_is = form::in_block;
        message.copy = copy;
        copy_out(data, copy->data(), data.bytes);
    } else {
        return false;
    }
    to.push(message);
    return true;
}

bool send_local(endpoint &to, p2p_operation &send, int source, int index, int tag, bool synchronous) noexcept {
    if (!synchronous && send_copy(to, send.data, source, index, tag)) {
        return true;
    }
    envelope message = envelope_of(send.data, source, index, tag);
    message.data_is = form::at_sender;
    message.sender = &send;
    to.assign(send);
    to.push(message);
    return false;
}

} // namespace thence::messages
