// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/multiplex_messages.hpp"

#include "core/mpi/error_code.hpp"
#include "mpix/streams/multiplex.hpp"
#include "mpix/streams/serial_check.hpp"

#include <climits>

namespace thence::streams {

using messages::failure;
using messages::send_mode;

namespace {

constexpr failure no_multiplex{MPI_ERR_OTHER, "comm is no multiplex communicator"};

int report(const char *call, MPI_Comm comm, const failure &what) noexcept {
    return what ? mpi::report_on(comm, call, what) : int{MPI_SUCCESS};
}

bool is_below(int index, std::size_t count) noexcept {
    return index >= 0 && static_cast<std::size_t>(index) < count;
}

// What is wrong with the arguments, beside the data.
failure check_send(const group &owner, const stream_message &message) noexcept {
    if (!is_below(message.source_index, owner.streams.size())) {
        return {MPI_ERR_ARG, "source_stream_index is the index of no stream of this process"};
    }
    if (message.tag < 0) {
        return {MPI_ERR_TAG, "the tag is negative"};
    }
    if (message.peer == MPI_PROC_NULL) {
        return {};
    }
    if (!is_below(message.peer, owner.counts.size())) {
        return {MPI_ERR_RANK, "dest is no rank of the communicator"};
    }
    if (message.dest_index < 0 || message.dest_index >= owner.counts[static_cast<std::size_t>(message.peer)]) {
        return {MPI_ERR_ARG, "dest_stream_index is the index of no stream of the destination"};
    }
    return {};
}

failure check_receive(const group &owner, const stream_message &message) noexcept {
    if (!is_below(message.dest_index, owner.streams.size())) {
        return {MPI_ERR_ARG, "dest_stream_index is the index of no stream of this process"};
    }
    if (message.tag < 0 && message.tag != MPI_ANY_TAG) {
        return {MPI_ERR_TAG, "the tag is negative and not MPI_ANY_TAG"};
    }
    if (message.peer == MPI_PROC_NULL) {
        return {};
    }
    const bool any_source = message.peer == MPI_ANY_SOURCE;
    if (!any_source && !is_below(message.peer, owner.counts.size())) {
        return {MPI_ERR_RANK, "source is no rank of the communicator"};
    }
    const int streams = any_source ? owner.most : owner.counts[static_cast<std::size_t>(message.peer)];
    if (message.source_index < messages::any_index || message.source_index >= streams) {
        return {MPI_ERR_ARG, "source_stream_index is the index of no stream of the source, and not -1"};
    }
    return {};
}

// A call for src/mpix/messages, and the stream that it is a call of; null if something is wrong.
struct checked_send : messages::send_call {
    checked_send(MPI_Comm comm, const stream_message &message) noexcept {
        to.header = {};
        multiplex *const state = comm != MPI_COMM_NULL ? multiplex_of(comm) : nullptr;
        wrong = state == nullptr ? no_multiplex : check_send(state->owner, message);
        if (wrong || !describe(message, data, wrong)) {
            return;
        }
        group &owner = state->owner;
        const bool to_self = message.peer == owner.rank;
        if (message.peer != MPI_PROC_NULL) {
            if (!to_self && (message.count > INT_MAX || data.bytes > INT_MAX)) {
                wrong = {MPI_ERR_COUNT, "a message between processes has 2^31 bytes or more"};
                return;
            }
            has_peer = true;
            to.receiver = to_self ? &state->endpoints[static_cast<std::size_t>(message.dest_index)] : nullptr;
            to.between = to_self ? nullptr : &*owner.between;
            to.process = message.peer;
            to.header.context = state->context;
            to.header.dest = message.dest_index;
            to.header.source = owner.rank;
            to.header.index = message.source_index;
            to.header.tag = message.tag;
        }
        stream = owner.streams[static_cast<std::size_t>(message.source_index)];
    }
    context *stream = nullptr;
};

struct checked_receive : messages::receive_call {
    checked_receive(MPI_Comm comm, const stream_message &message) noexcept {
        multiplex *const state = comm != MPI_COMM_NULL ? multiplex_of(comm) : nullptr;
        wrong = state == nullptr ? no_multiplex : check_receive(state->owner, message);
        if (wrong || !describe(message, data, wrong)) {
            return;
        }
        const auto index = static_cast<std::size_t>(message.dest_index);
        at = message.peer != MPI_PROC_NULL ? &state->endpoints[index] : nullptr;
        wanted = {message.peer, message.source_index, message.tag};
        stream = state->owner.streams[index];
    }
    context *stream = nullptr;
};

// Notes the request of a call that has started an operation.
failure noted(const failure &what, context *stream, MPI_Request &request) noexcept {
    if (!what && streams_are_checked()) {
        note_request(stream, &request);
    }
    return what;
}

} // namespace

int stream_send(const char *name, MPI_Comm comm, const stream_message &message) noexcept {
    const checked_send call(comm, message);
    const serial_call on_stream(name, call.stream);
    return report(name, comm, send(call, send_mode::standard));
}

int stream_isend(const char *name, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept {
    const checked_send call(comm, message);
    const serial_call on_stream(name, call.stream);
    return report(name, comm, noted(isend(call, send_mode::standard, &request), call.stream, request));
}

int stream_receive(const char *name, MPI_Comm comm, const stream_message &message, MPI_Status *status) noexcept {
    const checked_receive call(comm, message);
    const serial_call on_stream(name, call.stream);
    return report(name, comm, receive(call, status));
}

int stream_ireceive(const char *name, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept {
    const checked_receive call(comm, message);
    const serial_call on_stream(name, call.stream);
    return report(name, comm, noted(ireceive(call, &request), call.stream, request));
}

} // namespace thence::streams
