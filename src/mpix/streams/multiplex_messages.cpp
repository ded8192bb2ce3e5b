// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/multiplex_messages.hpp"

#include "core/mpi/error_code.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/streams/multiplex.hpp"
#include "mpix/streams/serial_check.hpp"

#include <climits>
#include <memory>
#include <new>

namespace thence::stream {

using endpoint::operation;

namespace {

struct error {
    int its_class = MPI_SUCCESS;
    const char *text = nullptr;
};

error error_of(int its_class) noexcept {
    switch (its_class) {
    case MPI_SUCCESS:
        return {};
    case MPI_ERR_TRUNCATE:
        return {its_class, "the message is longer than the buffer"};
    case MPI_ERR_NO_MEM:
        return {its_class, "memory is exhausted"};
    default:
        return {its_class, "MPI has failed to move the data"};
    }
}

int report(const char *call, MPI_Comm comm, const error &what) noexcept {
    return what.text == nullptr ? int{MPI_SUCCESS} : mpi::report_on(comm, what.its_class, call, what.text);
}

endpoint::outcome no_message() noexcept {
    endpoint::outcome result;
    result.source = MPI_PROC_NULL;
    result.tag = MPI_ANY_TAG;
    return result;
}

error describe(const stream_message &message, endpoint::buffer &data) noexcept {
    switch (endpoint::describe(message.buffer, message.count, message.type, data)) {
    case MPI_SUCCESS:
        return {};
    case MPI_ERR_COUNT:
        return {MPI_ERR_COUNT, message.count < 0 ? "count is negative" : "so many elements have 2^63 bytes or more"};
    default:
        return {MPI_ERR_TYPE, "the datatype is null or cannot be used"};
    }
}

bool is_below(int index, std::size_t count) noexcept {
    return index >= 0 && static_cast<std::size_t>(index) < count;
}

error check_send(MPI_Comm comm, const stream_message &message, multiplex *&state, endpoint::buffer &data) noexcept {
    state = comm != MPI_COMM_NULL ? multiplex_of(comm) : nullptr;
    if (state == nullptr) {
        return {MPI_ERR_OTHER, "comm is no multiplex communicator"};
    }
    const group &its = state->its;
    if (!is_below(message.source_index, its.streams.size())) {
        return {MPI_ERR_ARG, "source_stream_index is the index of no stream of this process"};
    }
    if (message.tag < 0) {
        return {MPI_ERR_TAG, "the tag is negative"};
    }
    if (message.peer == MPI_PROC_NULL) {
        return describe(message, data);
    }
    if (!is_below(message.peer, its.counts.size())) {
        return {MPI_ERR_RANK, "dest is no rank of the communicator"};
    }
    if (message.dest_index < 0 || message.dest_index >= its.counts[static_cast<std::size_t>(message.peer)]) {
        return {MPI_ERR_ARG, "dest_stream_index is the index of no stream of the destination"};
    }
    if (const error what = describe(message, data); what.text != nullptr) {
        return what;
    }
    if (message.peer != its.rank && (message.count > INT_MAX || data.bytes > INT_MAX)) {
        return {MPI_ERR_COUNT, "a message between processes has 2^31 bytes or more"};
    }
    return {};
}

error check_receive(MPI_Comm comm, const stream_message &message, multiplex *&state, endpoint::buffer &data) noexcept {
    state = comm != MPI_COMM_NULL ? multiplex_of(comm) : nullptr;
    if (state == nullptr) {
        return {MPI_ERR_OTHER, "comm is no multiplex communicator"};
    }
    const group &its = state->its;
    if (!is_below(message.dest_index, its.streams.size())) {
        return {MPI_ERR_ARG, "dest_stream_index is the index of no stream of this process"};
    }
    if (message.tag < 0 && message.tag != MPI_ANY_TAG) {
        return {MPI_ERR_TAG, "the tag is negative and not MPI_ANY_TAG"};
    }
    if (message.peer == MPI_PROC_NULL) {
        return describe(message, data);
    }
    const bool any_source = message.peer == MPI_ANY_SOURCE;
    if (!any_source && !is_below(message.peer, its.counts.size())) {
        return {MPI_ERR_RANK, "source is no rank of the communicator"};
    }
    const int streams = any_source ? its.most : its.counts[static_cast<std::size_t>(message.peer)];
    if (message.source_index < endpoint::any_index || message.source_index >= streams) {
        return {MPI_ERR_ARG, "source_stream_index is the index of no stream of the source, and not -1"};
    }
    return describe(message, data);
}

// True: the send is complete, with the error class in `code`.
bool start_send(multiplex &state, const stream_message &message, operation &op, int &code) noexcept {
    group &its = state.its;
    code = MPI_SUCCESS;
    if (message.peer == its.rank) {
        return send_here(state.endpoints[static_cast<std::size_t>(message.dest_index)], op, its.rank,
                         message.source_index, message.tag, false);
    }
    endpoint::wire_header header{};
    header.context = state.context;
    header.dest = message.dest_index;
    header.source = its.rank;
    header.index = message.source_index;
    header.tag = message.tag;
    return its.between->send(message.peer, header, op, false, code);
}

void start_receive(multiplex &state, const stream_message &message, operation &op) noexcept {
    op.wanted = {message.peer, message.source_index, message.tag};
    state.endpoints[static_cast<std::size_t>(message.dest_index)].post(op);
}

context *stream_at(const multiplex &state, int index) noexcept {
    return state.its.streams[static_cast<std::size_t>(index)];
}

// `at`: the endpoint that has to be driven; null: none of this process.
void wait_for(operation &op, endpoint::endpoint *at) noexcept {
    for (endpoint::waiting wait; !op.done.load(std::memory_order_acquire);) {
        if (at == nullptr || !at->any_arrived() || !at->drive()) {
            wait();
        }
    }
}

} // namespace

int stream_send(const char *call, MPI_Comm comm, const stream_message &message) noexcept {
    operation op;
    multiplex *state = nullptr;
    if (const error what = check_send(comm, message, state, op.data); what.text != nullptr) {
        return report(call, comm, what);
    }
    const serial_call on_stream(call, stream_at(*state, message.source_index));
    int code = MPI_SUCCESS;
    if (message.peer != MPI_PROC_NULL && !start_send(*state, message, op, code)) {
        const bool here = message.peer == state->its.rank;
        wait_for(op, here ? &state->endpoints[static_cast<std::size_t>(message.dest_index)] : nullptr);
        code = op.result.error;
    }
    return report(call, comm, error_of(code));
}

int stream_isend(const char *call, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept {
    std::unique_ptr<operation> op(new (std::nothrow) operation);
    if (op == nullptr) {
        return report(call, comm, error_of(MPI_ERR_NO_MEM));
    }
    multiplex *state = nullptr;
    if (const error what = check_send(comm, message, state, op->data); what.text != nullptr) {
        return report(call, comm, what);
    }
    const serial_call on_stream(call, stream_at(*state, message.source_index));
    if (message.peer == MPI_PROC_NULL) {
        return endpoint::make_complete_request(std::move(op), request) == MPI_SUCCESS
                   ? int{MPI_SUCCESS}
                   : report(call, comm, {MPI_ERR_OTHER, "MPI makes no request"});
    }
    if (endpoint::start_request(*op) != MPI_SUCCESS) {
        return report(call, comm, {MPI_ERR_OTHER, "MPI makes no request"});
    }
    operation &sent = *op.release(); // its request deletes it, once it is complete and the user knows it
    request = sent.request;
    if (streams_are_checked()) {
        note_request(stream_at(*state, message.source_index), &request);
    }
    int code = MPI_SUCCESS;
    if (start_send(*state, message, sent, code)) {
        sent.result.error = code; // the request tells it
        endpoint::complete(sent);
    }
    return MPI_SUCCESS;
}

int stream_receive(const char *call, MPI_Comm comm, const stream_message &message, MPI_Status *status) noexcept {
    operation op;
    multiplex *state = nullptr;
    if (const error what = check_receive(comm, message, state, op.data); what.text != nullptr) {
        return report(call, comm, what);
    }
    const serial_call on_stream(call, stream_at(*state, message.dest_index));
    if (message.peer == MPI_PROC_NULL) {
        op.result = no_message();
    } else {
        start_receive(*state, message, op);
        wait_for(op, &state->endpoints[static_cast<std::size_t>(message.dest_index)]);
    }
    endpoint::set_status(status, op.result);
    return report(call, comm, error_of(op.result.error));
}

int stream_ireceive(const char *call, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept {
    std::unique_ptr<operation> op(new (std::nothrow) operation);
    if (op == nullptr) {
        return report(call, comm, error_of(MPI_ERR_NO_MEM));
    }
    multiplex *state = nullptr;
    if (const error what = check_receive(comm, message, state, op->data); what.text != nullptr) {
        return report(call, comm, what);
    }
    const serial_call on_stream(call, stream_at(*state, message.dest_index));
    const bool none = message.peer == MPI_PROC_NULL;
    if (none) {
        op->result = no_message();
    }
    const int code = none ? endpoint::make_complete_request(std::move(op), request) : endpoint::start_request(*op);
    if (code != MPI_SUCCESS) {
        return report(call, comm, {MPI_ERR_OTHER, "MPI makes no request"});
    }
    if (!none) {
        operation &posted = *op.release(); // its request deletes it
        request = posted.request;
        if (streams_are_checked()) {
            note_request(stream_at(*state, message.dest_index), &request);
        }
        start_receive(*state, message, posted);
    }
    return MPI_SUCCESS;
}

} // namespace thence::stream
