// SPDX-License-Identifier: BSD-3-Clause
// Put and get. A put is announced by an internal message, on which the target posts the receive of the data; the data
// follow at once. For a get the receive is posted first, and the internal message asks for the data.
//
// The data of a put have an even tag of the sender's, those of a get an odd one of the receiver's, so that both go
// between the same two processes without being mistaken.
#include "am/engine.hpp"

#include <cstring>
#include <mutex>
#include <utility>

namespace thence::am {

int message_engine::announce(internal_message what, transfer &t, const thence_am_memory &memory,
                             std::size_t offset) noexcept {
    const auto tags = static_cast<std::uint32_t>(network_.largest_data_tag()) / 2;
    const std::uint32_t serial = next_tag_.fetch_add(1, std::memory_order_relaxed) % tags;
    t.tag = static_cast<int>(2 * serial + (what == internal_message::get ? 1 : 0));
    const announcement a{memory.key, offset, t.bytes, t.number, t.tag};
    return outbox_.send(lane::internal, t.rank, static_cast<std::uint32_t>(what), {&a, sizeof a},
                        {t.payload(), t.payload_bytes}, nullptr, false);
}

int message_engine::put(transfer &t, const thence_am_memory &to, std::size_t offset) noexcept {
    t.what = transfer::kind::put;
    sent_.fetch_add(1, std::memory_order_relaxed);
    if (const int code = announce(internal_message::put, t, to, offset); code != MPI_SUCCESS) {
        delete_transfer(&t);
        handled_.fetch_add(1, std::memory_order_release);
        return code;
    }
    outgoing_.add(t);
    return MPI_SUCCESS;
}

int message_engine::get(transfer &t, const thence_am_memory &from, std::size_t offset) noexcept {
    t.what = transfer::kind::get;
    sent_.fetch_add(1, std::memory_order_relaxed);
    // The request may overtake the receive: its data wait for it in MPI.
    if (const int code = announce(internal_message::get, t, from, offset); code != MPI_SUCCESS) {
        delete_transfer(&t);
        handled_.fetch_add(1, std::memory_order_release);
        return code;
    }
    if (network_.may_call()) {
        network_.receive_data(t, true);
        return MPI_SUCCESS;
    }
    const std::scoped_lock guard(submitting_);
    t.next = submitted_;
    submitted_ = &t;
    any_submitted_.store(true, std::memory_order_release);
    return MPI_SUCCESS;
}

void message_engine::start_submitted() noexcept {
    transfer *first = nullptr;
    {
        const std::scoped_lock guard(submitting_);
        first = std::exchange(submitted_, nullptr);
        any_submitted_.store(false, std::memory_order_relaxed);
    }
    while (first != nullptr) {
        transfer *const next = first->next;
        network_.receive_data(*first, true);
        first = next;
    }
}

void message_engine::handle_internal(internal_message what, int source, const unsigned char *payload,
                                     std::size_t bytes) noexcept {
    announcement a;
    std::memcpy(&a, payload, sizeof a);
    if (what == internal_message::put) {
        place(source, a, {payload + sizeof a, bytes - sizeof a});
    } else {
        answer(source, a);
    }
}

// The data of a put are coming.
void message_engine::place(int source, const announcement &what, piece payload) noexcept {
    bool found = false;
    void *const to = memory_.find(what.key, what.offset, what.bytes, found);
    transfer *const t = make_transfer(payload.bytes + (found ? 0 : what.bytes + 8));
    if (t == nullptr) {
        fail(MPI_ERR_NO_MEM, source, what.number, "a put is lost: there is no memory to receive it");
        handled_.fetch_add(1, std::memory_order_release);
        return;
    }
    t->what = transfer::kind::place;
    t->rank = source;
    t->tag = what.tag;
    t->number = what.number;
    t->bytes = what.bytes;
    t->payload_bytes = payload.bytes;
    t->is_void = !found;
    t->data = found ? to : t->payload() + padded(payload.bytes); // what has no place is received and dropped
    if (payload.bytes != 0) {
        std::memcpy(t->payload(), payload.from, payload.bytes);
    }
    const registered_handler *const handler = handlers_.find(what.number);
    const bool at_once = what.number == THENCE_AM_NO_HANDLER || !found ||
                         (handler != nullptr && (handler->flags & THENCE_AM_SHORT) != 0);
    network_.receive_data(*t, !at_once);
}

// Another process gets data from here.
void message_engine::answer(int source, const announcement &what) noexcept {
    bool found = false;
    void *const from = memory_.find(what.key, what.offset, what.bytes, found);
    transfer *const t = make_transfer(0);
    if (t == nullptr) {
        fail(MPI_ERR_NO_MEM, source, THENCE_AM_NO_HANDLER, "a get is not answered: memory is exhausted");
        return;
    }
    t->what = transfer::kind::answer;
    t->rank = source;
    t->tag = what.tag;
    t->data = from;
    t->bytes = what.bytes;
    t->is_void = !found; // nothing is sent, which tells it to the other
    outgoing_.add(*t);
}

void message_engine::data_left(transfer &t, int error) noexcept {
    outgoing_.left(t, error);
}

void message_engine::has_left(transfer &t, int error) noexcept {
    if (error != MPI_SUCCESS) [[unlikely]] {
        fail(error, t.rank, THENCE_AM_NO_HANDLER, "MPI could not send the data of a put or a get");
    }
    thence_am_done *const done = t.done;
    void *const data = t.done_data;
    delete_transfer(&t);
    if (done != nullptr) {
        done(error, data);
    }
}

void message_engine::data_arrived(transfer &t, int error, std::size_t bytes) noexcept {
    if (t.what == transfer::kind::get) {
        thence_am_done *const done = t.done;
        void *const data = t.done_data;
        if (error == MPI_SUCCESS && bytes != t.bytes) {
            error = MPI_ERR_ARG; // the owner has forgotten the memory
        }
        delete_transfer(&t);
        done(error, data);
    } else if (error != MPI_SUCCESS) {
        fail(error, t.rank, t.number, "MPI could not receive the data of a put");
        delete_transfer(&t);
    } else if (t.is_void) {
        fail(MPI_ERR_ARG, t.rank, t.number, "the data of a put are lost: their memory is not registered any more");
        delete_transfer(&t);
    } else {
        if (t.number != THENCE_AM_NO_HANDLER) {
            thence_am_message m{
                reinterpret_cast<thence_am>(this), t.rank, t.number, t.payload(), t.payload_bytes, t.data, t.bytes};
            const registered_handler *const handler = handlers_.find(t.number);
            if (handler != nullptr) {
                call_alone(*handler, m);
            } else {
                hold_or_fail(m);
            }
        }
        delete_transfer(&t);
    }
    handled_.fetch_add(1, std::memory_order_release);
}

} // namespace thence::am
