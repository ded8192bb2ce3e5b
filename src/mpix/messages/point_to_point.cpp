// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/point_to_point.hpp"

#include "core/api/errors.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/transport.hpp"
#include "mpix/messages/waiting.hpp"

#include <cstdlib>
#include <memory>
#include <new>

namespace thence::messages {

namespace {

bool is_copied(const p2p_operation &op, send_mode how) noexcept {
    return how != send_mode::synchronous && op.data.bytes <= block::capacity;
}

// As start_send(), but a buffered send that is too large for a block is complete once its data are copied.
bool start_or_buffer(const destination &to, send_mode how, p2p_operation &op, int &error) noexcept {
    if (how != send_mode::buffered || is_copied(op, how)) {
        return start_send(to, how, op, error);
    }
    auto *const copy = new (std::nothrow) p2p_operation;
    auto *const room = static_cast<unsigned char *>(std::malloc(op.data.bytes));
    if (copy == nullptr || room == nullptr) {
        delete copy;
        std::free(room);
        error = MPI_ERR_NO_MEM;
        return true;
    }
    copy->owned = true;
    copy->room = room;
    copy_out(op.data, room, op.data.bytes);
    copy->data = bytes_at(room, op.data.bytes);
    if (start_send(to, how, *copy, error)) {
        complete(*copy); // it deletes itself
    }
    return true;
}

int send_and_wait(const send_call &call, send_mode how, p2p_operation &op) noexcept {
    int error = MPI_SUCCESS;
    if (!start_or_buffer(call.to, how, op, error)) {
        wait_for_send(call.to.receiver, call.own, op);
        error = op.result.error;
    }
    return error;
}

failure make_complete(std::unique_ptr<p2p_operation> op, MPI_Request &request) noexcept {
    return failure_of(make_complete_request(std::move(op), request));
}

} // namespace

failure failure_with(int error_class) noexcept {
    switch (error_class) {
    case MPI_ERR_TRUNCATE:
        return {error_class, "the message is longer than the buffer"};
    case MPI_ERR_COUNT:
        return {error_class, "count is too large between processes"};
    case MPI_ERR_NO_MEM:
        return api::reason::out_of_memory;
    case MPI_ERR_TYPE:
        return {error_class, "MPI refuses the datatype between processes: it must be committed"};
    default:
        return {error_class, "MPI has failed to move the data"};
    }
}

failure failure_to_describe(const message_arguments &message, int error) noexcept {
    if (error != MPI_ERR_COUNT) {
        return {error, "the datatype is null or cannot be used"};
    }
    return {error, message.count < 0 ? "count is negative" : "so many elements have 2^63 bytes or more"};
}

bool start_send(const destination &to, send_mode how, p2p_operation &op, int &error) noexcept {
    const bool synchronous = how == send_mode::synchronous;
    error = MPI_SUCCESS;
    return to.receiver != nullptr
               ? send_local(*to.receiver, op, to.header.source, to.header.index, to.header.tag, synchronous)
               : to.between->send(to.process, to.header, op, synchronous, error);
}

void start_receive(endpoint &at, const pattern &wanted, p2p_operation &op) noexcept {
    op.wanted = wanted;
    at.post(op);
}

void wait_for_send(endpoint *receiver, endpoint *own, p2p_operation &op) noexcept {
    for (waiting wait; !op.done.load(std::memory_order_acquire); wait()) {
        if (receiver != nullptr && receiver->any_arrived()) {
            receiver->drive();
        }
        // The receiver may wait for its own send to this rank, whose receive is posted (MPI_Sendrecv) and has no
        // request.
        if (own != nullptr && own->any_arrived()) {
            own->drive();
        }
    }
}

void wait_for_receive(endpoint &at, p2p_operation &op) noexcept {
    for (waiting wait; !op.done.load(std::memory_order_acquire);) {
        if (!at.any_arrived() || !at.drive()) {
            wait();
        }
    }
}

failure send(const send_call &call, send_mode how) noexcept {
    if (call.wrong || !call.has_peer) {
        return call.wrong;
    }
    const destination &to = call.to;
    if (to.receiver != nullptr && how != send_mode::synchronous &&
        send_copy(*to.receiver, call.data, to.header.source, to.header.index, to.header.tag)) [[likely]] {
        return {}; // without an operation
    }
    p2p_operation op;
    op.data = call.data;
    return failure_of(send_and_wait(call, how, op));
}

failure isend(const send_call &call, send_mode how, MPI_Request *request) noexcept {
    if (call.wrong || request == nullptr) {
        return call.wrong ? call.wrong : api::reason::null_request;
    }
    std::unique_ptr<p2p_operation> op(new (std::nothrow) p2p_operation);
    if (op == nullptr || !call.has_peer) {
        return make_complete(std::move(op), *request);
    }
    op->data = call.data;
    if (how == send_mode::buffered || is_copied(*op, how)) {
        const int error = send_and_wait(call, how, *op); // waits only if there is no memory for a copy
        return error == MPI_SUCCESS ? make_complete(std::move(op), *request) : failure_of(error);
    }
    int error = start_request(*op);
    if (error != MPI_SUCCESS) {
        return failure_of(error);
    }
    p2p_operation &sent = *op.release(); // its request deletes it, once it is complete and the user knows it
    *request = sent.request;
    if (start_send(call.to, how, sent, error)) {
        sent.result.error = error; // the request tells it
        complete(sent);
    }
    return {};
}

failure receive(const receive_call &call, MPI_Status *status) noexcept {
    if (call.wrong) {
        return call.wrong;
    }
    p2p_operation op;
    op.data = call.data;
    if (call.at == nullptr) {
        op.result = no_message();
    } else {
        start_receive(*call.at, call.wanted, op);
        wait_for_receive(*call.at, op);
    }
    set_status(status, op.result);
    return failure_of(op.result.error);
}

failure ireceive(const receive_call &call, MPI_Request *request) noexcept {
    if (call.wrong || request == nullptr) {
        return call.wrong ? call.wrong : api::reason::null_request;
    }
    std::unique_ptr<p2p_operation> op(new (std::nothrow) p2p_operation);
    if (op == nullptr) {
        return failure_of(MPI_ERR_NO_MEM);
    }
    op->data = call.data;
    if (call.at == nullptr) {
        op->result = no_message();
        return make_complete(std::move(op), *request);
    }
    if (const int error = start_request(*op); error != MPI_SUCCESS) {
        return failure_of(error);
    }
    p2p_operation &posted = *op.release(); // its request deletes it
    *request = posted.request;
    start_receive(*call.at, call.wanted, posted);
    return {};
}

failure send_receive(const send_call &sent, const receive_call &received, MPI_Status *status) noexcept {
    if (sent.wrong || received.wrong) {
        return sent.wrong ? sent.wrong : received.wrong;
    }
    p2p_operation receiving;
    receiving.data = received.data;
    receiving.result = no_message();
    if (received.at != nullptr) {
        start_receive(*received.at, received.wanted, receiving);
    }
    const failure of_send = send(sent, send_mode::standard);
    if (received.at != nullptr) {
        wait_for_receive(*received.at, receiving);
    }
    set_status(status, receiving.result);
    return receiving.result.error == MPI_SUCCESS ? of_send : failure_of(receiving.result.error);
}

outcome no_message() noexcept {
    outcome result;
    result.source = MPI_PROC_NULL;
    result.tag = MPI_ANY_TAG;
    return result;
}

} // namespace thence::messages
