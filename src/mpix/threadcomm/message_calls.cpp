// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/message_calls.hpp"

#include "core/api/errors.hpp"
#include "mpix/messages/waiting.hpp"

#include <memory>
#include <new>

namespace thence::threadcomm {

namespace {

constexpr messages::failure not_started{
    MPI_ERR_COMM, "this thread is not between MPIX_Threadcomm_start and MPIX_Threadcomm_finish of the communicator"};
constexpr const char *above_bound = "the tag is above MPI_TAG_UB";

bool is_rank(const communicator &comm, int rank) noexcept {
    return rank >= 0 && rank < comm.size();
}

messages::failure check(const communicator &comm, const member *me, int source, int tag) noexcept {
    if (me == nullptr) {
        return not_started;
    }
    if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && !is_rank(comm, source)) {
        return {MPI_ERR_RANK, "source is no rank of the thread communicator"};
    }
    if (tag != MPI_ANY_TAG && (tag < 0 || tag > comm.largest_tag)) {
        return {MPI_ERR_TAG, tag < 0 ? "the tag is negative and not MPI_ANY_TAG" : above_bound};
    }
    return {};
}

} // namespace

messages::send_call checked_send(communicator &comm, const message_arguments &message) noexcept {
    messages::send_call call;
    member *const me = self(comm);
    if (me == nullptr) {
        call.wrong = not_started;
    } else if (!describe(message, call.data, call.wrong)) {
    } else if (message.peer != MPI_PROC_NULL && !is_rank(comm, message.peer)) {
        call.wrong = {MPI_ERR_RANK, "dest is no rank of the thread communicator"};
    } else if (message.tag < 0 || message.tag > comm.largest_tag) {
        call.wrong = {MPI_ERR_TAG, message.tag < 0 ? "the tag is negative" : above_bound};
    } else if (message.peer != MPI_PROC_NULL) {
        call.has_peer = true;
        set_destination(call.to, *me, channel::user, message.peer, message.tag);
        call.own = &me->user;
    }
    return call;
}

messages::receive_call checked_receive(communicator &comm, const message_arguments &message) noexcept {
    messages::receive_call call;
    member *const me = self(comm);
    call.wrong = check(comm, me, message.peer, message.tag);
    if (!call.wrong && describe(message, call.data, call.wrong)) {
        call.at = message.peer != MPI_PROC_NULL ? &me->user : nullptr;
        call.wanted = {message.peer, 0, message.tag};
    }
    return call;
}

member *check_source(const char *call, communicator &comm, int source, int tag, int &code) noexcept {
    member *const me = self(comm);
    const messages::failure wrong = check(comm, me, source, tag);
    code = report(comm, call, wrong);
    return wrong ? nullptr : me;
}

member *check_self(const char *call, communicator &comm, int &code) noexcept {
    member *const me = self(comm);
    code = me != nullptr ? int{MPI_SUCCESS} : report(comm, call, not_started);
    return me;
}

void set_destination(messages::destination &to, const member &me, channel which, int dest, int tag) noexcept {
    const communicator &comm = *me.comm;
    to.header.source = me.rank;
    to.header.index = 0;
    to.header.tag = tag;
    if (member *const receiver = comm.local[static_cast<std::size_t>(dest)]) {
        to.receiver = &receiver->at(which);
        return;
    }
    to.between = &*comm.root.between;
    to.process = comm.process_of[static_cast<std::size_t>(dest)];
    to.header.context = comm.context;
    to.header.dest = dest;
    to.header.channel = static_cast<std::int32_t>(which);
}

int send(const char *call, communicator &comm, mode how, const message_arguments &message) noexcept {
    return report(comm, call, send(checked_send(comm, message), how));
}

int isend(const char *call, communicator &comm, mode how, const message_arguments &message,
          MPI_Request *request) noexcept {
    return report(comm, call, isend(checked_send(comm, message), how, request));
}

int receive(const char *call, communicator &comm, const message_arguments &message, MPI_Status *status) noexcept {
    return report(comm, call, receive(checked_receive(comm, message), status));
}

int ireceive(const char *call, communicator &comm, const message_arguments &message, MPI_Request *request) noexcept {
    return report(comm, call, ireceive(checked_receive(comm, message), request));
}

int send_receive(const char *call, communicator &comm, const message_arguments &sent, const message_arguments &received,
                 MPI_Status *status) noexcept {
    return report(comm, call, send_receive(checked_send(comm, sent), checked_receive(comm, received), status));
}

int send_receive_replace(const char *call, communicator &comm, const message_arguments &sent, int source, int tag,
                         MPI_Status *status) noexcept {
    messages::send_call sending = checked_send(comm, sent);
    if (sending.wrong) {
        return report(comm, call, sending.wrong);
    }
    const std::uint64_t bytes = sending.data.bytes;
    const std::unique_ptr<unsigned char[]> packed(new (std::nothrow) unsigned char[bytes + 1]);
    if (packed == nullptr) {
        return report(comm, call, messages::failure_of(MPI_ERR_NO_MEM));
    }
    copy_out(sending.data, packed.get(), bytes);
    sending.data = messages::bytes_at(packed.get(), bytes);
    const message_arguments received{sent.buffer, sent.count, sent.type, source, tag};
    return report(comm, call, send_receive(sending, checked_receive(comm, received), status));
}

int isend_receive(const char *call, communicator &comm, const message_arguments &sent,
                  const message_arguments &received, MPI_Request *request) noexcept {
    const messages::receive_call receiving = checked_receive(comm, received);
    messages::failure wrong = receiving.wrong;
    if (!wrong && request == nullptr) {
        wrong = api::reason::null_request;
    }
    wrong = wrong ? wrong : send(checked_send(comm, sent), mode::buffered);
    return report(comm, call, wrong ? wrong : ireceive(receiving, request));
}

int probe(const char *call, communicator &comm, int source, int tag, int *flag, MPI_Status *status) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_source(call, comm, source, tag, code);
    if (me == nullptr) {
        return code;
    }
    messages::outcome found = messages::no_message();
    bool is_there = source == MPI_PROC_NULL;
    for (messages::waiting wait; !is_there;) {
        is_there = me->user.probe({source, 0, tag}, found);
        if (is_there || flag != nullptr) {
            if (!is_there) {
                messages::poll_transports();
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
        messages::set_status(status, found);
    }
    return MPI_SUCCESS;
}

} // namespace thence::threadcomm
