// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/messages.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/threadcomm/internal.hpp"
#include "mpix/threadcomm/peers.hpp"

#include <cstdlib>
#include <memory>
#include <new>

namespace thence::threadcomm {

using endpoint::operation;
using endpoint::outcome;

namespace {

constexpr channel user = channel::user;

const char *text_of(int error_class) noexcept {
    if (error_class == MPI_ERR_TRUNCATE) {
        return "the message is longer than the buffer";
    }
    if (error_class == MPI_ERR_COUNT) {
        return "count is negative, or too large between processes";
    }
    if (error_class == MPI_ERR_TYPE) {
        return "the datatype cannot be used";
    }
    return error_class == MPI_ERR_NO_MEM ? "memory is exhausted" : "MPI has failed to move the data";
}

int fail_with(const communicator &comm, const char *call, int error_class) noexcept {
    return fail(comm.handle, call, error_class, text_of(error_class));
}

// Starts a send. True: it is complete, with the error class in `error`.
bool begin_send(member &me, mode how, int dest, int tag, operation &op, int &error) noexcept {
    if (how != mode::buffered || op.data.bytes <= endpoint::block::capacity) {
        return start_send(me, user, dest, tag, op, how == mode::synchronous, error);
    }
    auto *const copy = new (std::nothrow) operation;
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
    copy->data = endpoint::bytes_at(room, op.data.bytes);
    if (start_send(me, user, dest, tag, *copy, false, error)) {
        endpoint::complete(*copy); // it deletes itself
    }
    return true;
}

int post_and_wait(const char *call, member &me, operation &op, const message_arguments &message,
                  MPI_Status *status) noexcept {
    start_receive(me, user, message.peer, message.tag, op);
    wait_for_receive(me, user, op);
    endpoint::set_status(status, op.result);
    return op.result.error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail_with(*me.comm, call, op.result.error);
}

int send_and_wait(const char *call, member &me, mode how, operation &op, const message_arguments &message) noexcept {
    int error = MPI_SUCCESS;
    if (!begin_send(me, how, message.peer, message.tag, op, error)) {
        wait_for_send(me, user, message.peer, op);
        error = op.result.error;
    }
    return error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail_with(*me.comm, call, error);
}

} // namespace

int send(const char *call, communicator &comm, mode how, const message_arguments &message) noexcept {
    operation op;
    int code = MPI_SUCCESS;
    member *const me = check_send(call, comm, message, op.data, code);
    return me == nullptr || message.peer == MPI_PROC_NULL ? code : send_and_wait(call, *me, how, op, message);
}

int isend(const char *call, communicator &comm, mode how, const message_arguments &message,
          MPI_Request *request) noexcept {
    std::unique_ptr<operation> op(new (std::nothrow) operation);
    int code = MPI_SUCCESS;
    member *const me = op != nullptr ? check_send(call, comm, message, op->data, code) : nullptr;
    if (me == nullptr) {
        return op != nullptr ? code : fail_with(comm, call, MPI_ERR_NO_MEM);
    }
    if (request == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "request is null");
    }
    int error = MPI_SUCCESS;
    const bool is_copied = how != mode::synchronous && op->data.bytes <= endpoint::block::capacity;
    if (message.peer == MPI_PROC_NULL || how == mode::buffered || is_copied) {
        if (message.peer != MPI_PROC_NULL && !begin_send(*me, how, message.peer, message.tag, *op, error)) {
            wait_for_send(*me, user, message.peer, *op); // no memory for a copy
            error = op->result.error;
        }
        error = error == MPI_SUCCESS ? endpoint::make_complete_request(std::move(op), *request) : error;
        return error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail_with(comm, call, error);
    }
    error = endpoint::start_request(*op);
    if (error != MPI_SUCCESS) {
        return fail_with(comm, call, error);
    }
    operation &sent = *op.release(); // its request deletes it
    const MPI_Request made = sent.request;
    if (begin_send(*me, how, message.peer, message.tag, sent, error)) {
        sent.result.error = error; // the request tells it
        endpoint::complete(sent);
    }
    *request = made;
    return MPI_SUCCESS;
}

int receive(const char *call, communicator &comm, const message_arguments &message, MPI_Status *status) noexcept {
    operation op;
    int code = MPI_SUCCESS;
    member *const me = check_receive(call, comm, message, op.data, code);
    if (me != nullptr && message.peer == MPI_PROC_NULL) {
        endpoint::set_status(status, no_message());
        return MPI_SUCCESS;
    }
    return me == nullptr ? code : post_and_wait(call, *me, op, message, status);
}

int ireceive(const char *call, communicator &comm, const message_arguments &message, MPI_Request *request) noexcept {
    std::unique_ptr<operation> op(new (std::nothrow) operation);
    int code = MPI_SUCCESS;
    member *const me = op != nullptr ? check_receive(call, comm, message, op->data, code) : nullptr;
    if (me == nullptr) {
        return op != nullptr ? code : fail_with(comm, call, MPI_ERR_NO_MEM);
    }
    if (request == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "request is null");
    }
    const bool none = message.peer == MPI_PROC_NULL;
    if (none) {
        op->result = no_message();
    }
    const int error = none ? endpoint::make_complete_request(std::move(op), *request) : endpoint::start_request(*op);
    if (error != MPI_SUCCESS) {
        return fail_with(comm, call, error);
    }
    if (!none) {
        operation &posted = *op.release(); // its request deletes it
        *request = posted.request;
        start_receive(*me, user, message.peer, message.tag, posted);
    }
    return MPI_SUCCESS;
}

int send_receive(const char *call, communicator &comm, const message_arguments &sent, const message_arguments &received,
                 MPI_Status *status) noexcept {
    operation sending;
    operation receiving;
    int code = MPI_SUCCESS;
    member *const me = check_send(call, comm, sent, sending.data, code);
    if (me == nullptr || check_receive(call, comm, received, receiving.data, code) == nullptr) {
        return code;
    }
    const bool receives = received.peer != MPI_PROC_NULL;
    if (receives) {
        start_receive(*me, user, received.peer, received.tag, receiving);
    } else {
        receiving.result = no_message();
    }
    if (sent.peer != MPI_PROC_NULL) {
        code = send_and_wait(call, *me, mode::standard, sending, sent);
    }
    if (receives) {
        wait_for_receive(*me, user, receiving);
    }
    endpoint::set_status(status, receiving.result);
    return receiving.result.error == MPI_SUCCESS ? code : fail_with(comm, call, receiving.result.error);
}

int send_receive_replace(const char *call, communicator &comm, const message_arguments &sent, int source, int tag,
                         MPI_Status *status) noexcept {
    endpoint::buffer data;
    int code = MPI_SUCCESS;
    if (check_send(call, comm, sent, data, code) == nullptr) {
        return code;
    }
    const std::unique_ptr<unsigned char[]> packed(new (std::nothrow) unsigned char[data.bytes + 1]);
    if (packed == nullptr) {
        return fail_with(comm, call, MPI_ERR_NO_MEM);
    }
    copy_out(data, packed.get(), data.bytes);
    return send_receive(call, comm, {packed.get(), static_cast<MPI_Count>(data.bytes), MPI_BYTE, sent.peer, sent.tag},
                        {sent.buffer, sent.count, sent.type, source, tag}, status);
}

int isend_receive(const char *call, communicator &comm, const message_arguments &sent,
                  const message_arguments &received, MPI_Request *request) noexcept {
    endpoint::buffer unused;
    int code = MPI_SUCCESS;
    if (check_receive(call, comm, received, unused, code) == nullptr) {
        return code;
    }
    if (request == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "request is null");
    }
    code = send(call, comm, mode::buffered, sent);
    return code == MPI_SUCCESS ? ireceive(call, comm, received, request) : code;
}

int probe(const char *call, communicator &comm, int source, int tag, int *flag, MPI_Status *status) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_source(call, comm, source, tag, code);
    if (me == nullptr) {
        return code;
    }
    outcome found = no_message();
    bool is_there = source == MPI_PROC_NULL;
    for (endpoint::waiting wait; !is_there;) {
        is_there = me->user.probe({source, 0, tag}, found);
        if (is_there || flag != nullptr) {
            if (!is_there) {
                endpoint::poll_transports();
                is_there = me->user.probe({source, 0, tag}, found);
            }
            break;
        }
        wait();
    }
    if (flag != nullptr) {
        *flag = is_there ? 1 : 0;
    }
    if (is_there) {
        endpoint::set_status(status, found);
    }
    return MPI_SUCCESS;
}

} // namespace thence::threadcomm
