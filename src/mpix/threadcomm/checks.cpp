// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/checks.hpp"

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

} // namespace thence::threadcomm
