// SPDX-License-Identifier: BSD-3-Clause
// Put and get. Both are announced by a control message, which waits for credits like any other. When it has left, the
// data of a put follow, and the receive of a get is posted. The target posts the receive of a put, or sends the data of
// a get; then the credit of the announcement goes back. So what the target has of transfers is bounded by credits.
//
// The data of a put have an even tag of the sender's, those of a get an odd one of the receiver's, so that both go
// between the same two processes without being mistaken.
#include "am/engine.hpp"
#include "am/scope.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace thence::am {

int message_engine::announce(control_message what, transfer &t, const thence_am_memory &memory,
                             std::size_t offset) noexcept {
    t.tag = static_cast<int>(2 * (outbox_.next_serial(t.rank) % data_tags()) + (what == control_message::get ? 1 : 0));
    const announcement a{memory.key, offset, t.bytes, t.number, t.tag};
    return outbox_.send(lane::control, t.rank, static_cast<std::uint32_t>(what), {&a, sizeof a},
                        {t.payload(), t.payload_bytes}, {nullptr, &t}, in_handler(*this));
}

int message_engine::put(transfer &t, const thence_am_memory &to, std::size_t offset) noexcept {
    t.what = transfer::kind::put;
    if (broken() != MPI_SUCCESS || !pending_.add(t)) [[unlikely]] {
        delete_transfer(&t);
        return broken();
    }
    sent_.fetch_add(1, std::memory_order_relaxed);
    outgoing_.expect();
    const int code = announce(control_message::put, t, to, offset);
    if (code != MPI_SUCCESS) {
        outgoing_.forget();
        return withdraw(t, code);
    }
    return code;
}

int message_engine::get(transfer &t, const thence_am_memory &from, std::size_t offset) noexcept {
    t.what = transfer::kind::get;
    if (broken() != MPI_SUCCESS || !pending_.add(t)) [[unlikely]] {
        delete_transfer(&t);
        return broken();
    }
    sent_.fetch_add(1, std::memory_order_relaxed);
    const int code = announce(control_message::get, t, from, offset);
    return code == MPI_SUCCESS ? code : withdraw(t, code);
}

// It was not announced. Returns what its call returns: no error if the engine has broken meanwhile, and has told it.
int message_engine::withdraw(transfer &t, int code) noexcept {
    const bool was_pending = pending_.take(t);
    delete_transfer(&t);
    handled_.fetch_add(1, std::memory_order_release);
    return was_pending ? code : MPI_SUCCESS;
}

// Its announcement has left, or is lost.
void message_engine::begin_transfer(transfer &t, int error) noexcept {
    error = error != MPI_SUCCESS ? error : broken();
    if (t.what == transfer::kind::get) {
        if (error == MPI_SUCCESS && pending_.begin(t, pending_operation::use::writes)) {
            network_.receive_data(t, true); // the data wait for it in MPI if they are first
        } else {
            data_arrived(t, error != MPI_SUCCESS ? error : broken(), 0);
        }
    } else if (error == MPI_SUCCESS) {
        outgoing_.add(t);
    } else {
        end_operation(t, error);
        delete_transfer(&t);
        outgoing_.forget();
        handled_.fetch_add(1, std::memory_order_release);
    }
}

void message_engine::handle_control(control_message what, packet_origin &from, const unsigned char *payload,
                                    std::size_t bytes) noexcept {
    announcement a;
    std::memcpy(&a, payload, sizeof a);
    if (what == control_message::put) {
        receive_put(from, a, {payload + sizeof a, bytes - sizeof a});
    } else {
        answer(from, a);
    }
}

// For data of memory here that another process has announced. Null: memory is exhausted.
transfer *message_engine::transfer_for(packet_origin &from, const announcement &what, transfer::kind kind,
                                       std::size_t payload_bytes) noexcept {
    transfer *const t = make_transfer(payload_bytes);
    if (t == nullptr) {
        return nullptr;
    }
    bool found = false;
    t->data = memory_.find(what.key, what.offset, what.bytes, found);
    t->what = kind;
    t->rank = from.source;
    t->tag = what.tag;
    t->bytes = what.bytes;
    t->is_void = !found;
    t->credit = outbox::keep(from.kept, from.in, from.source);
    return t;
}

// The data of a put are coming. A broken engine receives none: their memory may be gone, and their sender, which is
// broken as well, waits for nobody.
void message_engine::receive_put(packet_origin &from, const announcement &what, piece payload) noexcept {
    if (broken() != MPI_SUCCESS) [[unlikely]] {
        handled_.fetch_add(1, std::memory_order_release);
        return;
    }
    transfer *const t = transfer_for(from, what, transfer::kind::incoming_put, payload.bytes);
    if (t == nullptr) {
        fail(MPI_ERR_NO_MEM, from.source, what.number, "a put is lost: there is no memory to receive it");
        break_off(MPI_ERR_NO_MEM, true); // its sender would wait for ever, and another receive would get its data
        handled_.fetch_add(1, std::memory_order_release);
        return;
    }
    t->number = what.number;
    if (payload.bytes != 0) {
        std::memcpy(t->payload(), payload.from, payload.bytes);
    }
    if (t->is_void) [[unlikely]] {
        drop_data(t);
        return;
    }
    const registered_handler *const handler = handlers_.find(what.number);
    const bool at_once =
        what.number == THENCE_AM_NO_HANDLER || (handler != nullptr && (handler->flags & THENCE_AM_SHORT) != 0);
    if (pending_.add(*t) && pending_.begin(*t, pending_operation::use::writes)) {
        network_.receive_data(*t, !at_once);
    } else { // the engine has broken meanwhile
        data_arrived(*t, broken(), 0);
    }
}

// Of the data that are dropped one message has memory at a time. Null: it has arrived. They arrive in polls, so that
// calls do not nest.
void message_engine::drop_data(transfer *t) noexcept {
    {
        const std::scoped_lock guard(dropping_);
        if (t != nullptr && is_dropping_) {
            to_drop_.add(*t);
            return;
        }
        if (t == nullptr) {
            t = to_drop_.pop();
        }
        is_dropping_ = t != nullptr;
    }
    if (t != nullptr) {
        t->data = std::malloc(t->bytes + 1);
        t->bytes = t->data != nullptr ? t->bytes : 0; // then MPI truncates the message, which is an error as well
        network_.receive_data(*t, true);
    }
}

// Another process gets data from here. If there is no such memory, or the engine is broken, a message without data
// tells it so.
void message_engine::answer(packet_origin &from, const announcement &what) noexcept {
    transfer *const t = transfer_for(from, what, transfer::kind::answer, 0);
    if (t == nullptr) {
        fail(MPI_ERR_NO_MEM, from.source, THENCE_AM_NO_HANDLER, "a get is not answered: memory is exhausted");
        if (const int code = network_.send_no_data(from.source, what.tag); code != MPI_SUCCESS) {
            break_off(code, true);
        }
        return;
    }
    pending_.add(*t);
    outgoing_.expect();
    outgoing_.add(*t);
}

bool message_engine::may_leave(transfer &t) noexcept {
    return broken() == MPI_SUCCESS && pending_.begin(t, pending_operation::use::reads);
}

void message_engine::data_left(transfer &t, int error) noexcept {
    outgoing_.left(t, error);
}

void message_engine::has_left(transfer &t, int error, bool is_told) noexcept {
    ++scope.handled;
    if (error != MPI_SUCCESS && broken() != MPI_SUCCESS) [[unlikely]] {
        error = broken(); // all processes are told already
    } else if (error != MPI_SUCCESS) [[unlikely]] {
        fail(error, t.rank, THENCE_AM_NO_HANDLER, "MPI could not send the data of a put or a get");
        if (!is_told) {
            break_off(error, true);
        }
    }
    outbox_.give_back(t.credit);
    end_operation(t, error);
    delete_transfer(&t);
}

void message_engine::data_arrived(transfer &t, int error, std::size_t bytes) noexcept {
    ++scope.handled;
    handling_.fetch_add(1);
    if (error == MPI_SUCCESS && bytes != t.bytes && t.what == transfer::kind::get) {
        error = MPI_ERR_ARG; // the owner has forgotten the memory, or could not send
    }
    if (const int why = broken(); why != MPI_SUCCESS && (error != MPI_SUCCESS || bytes != t.bytes)) [[unlikely]] {
        error = why; // all processes are told already
    } else if (t.what != transfer::kind::get) {
        placed(t, error, bytes); // before the end: its handler reads memory that is given up after that
    }
    end_operation(t, error);
    handling_.fetch_sub(1, std::memory_order_release);
    if (t.is_void) {
        std::free(t.data);
        drop_data(nullptr);
    }
    outbox_.give_back(t.credit);
    delete_transfer(&t);
    handled_.fetch_add(1, std::memory_order_release);
}

void message_engine::placed(transfer &t, int error, std::size_t bytes) noexcept {
    if (t.is_void) {
        fail(MPI_ERR_ARG, t.rank, t.number, "the data of a put are lost: their memory is not registered any more");
    } else if (error != MPI_SUCCESS) {
        fail(error, t.rank, t.number, "MPI could not receive the data of a put");
    } else if (bytes != t.bytes) {
        fail(MPI_ERR_OTHER, t.rank, t.number, "the data of a put are lost: their sender could not send them");
    } else if (t.number != THENCE_AM_NO_HANDLER) {
        const thence_am_message m{
            reinterpret_cast<thence_am>(this), t.rank, t.number, t.payload(), t.payload_bytes, t.data, t.bytes};
        if (const registered_handler *const handler = handlers_.find(t.number)) {
            call_alone(*handler, m);
        } else {
            hold_or_fail(m, t.credit != nullptr ? outbox::keep(t.credit, lane::control, t.rank) : nullptr);
        }
    }
}

} // namespace thence::am
