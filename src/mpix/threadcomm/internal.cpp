// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/internal.hpp"

#include "mpix/messages/waiting.hpp"

#include <cstring>

namespace thence::threadcomm {

using endpoint::operation;

bool start_send(member &me, channel which, int dest, int tag, operation &op, bool synchronous, int &error) noexcept {
    const communicator &comm = *me.comm;
    if (member *const to = comm.here[static_cast<std::size_t>(dest)]) {
        error = MPI_SUCCESS;
        return send_here(to->at(which), op, me.rank, 0, tag, synchronous);
    }
    endpoint::wire_header header{};
    header.context = comm.context;
    header.dest = dest;
    header.source = me.rank;
    header.tag = tag;
    header.channel = static_cast<std::int32_t>(which);
    return comm.root.between->send(comm.process_of[static_cast<std::size_t>(dest)], header, op, synchronous, error);
}

void start_receive(member &me, channel which, int source, int tag, operation &op) noexcept {
    op.wanted = {source, 0, tag};
    me.at(which).post(op);
}

void wait_for_send(member &me, channel which, int dest, operation &op) noexcept {
    member *const to = me.comm->here[static_cast<std::size_t>(dest)];
    endpoint::endpoint &own = me.at(which);
    for (endpoint::waiting wait; !op.done.load(std::memory_order_acquire); wait()) {
        if (to != nullptr && to->at(which).any_arrived()) {
            to->at(which).drive();
        }
        // The receiver may wait for its own send to this rank, whose receive is posted (MPI_Sendrecv) and has no request.
        if (own.any_arrived()) {
            own.drive();
        }
    }
}

void wait_for_receive(member &me, channel which, operation &op) noexcept {
    endpoint::endpoint &at = me.at(which);
    for (endpoint::waiting wait; !op.done.load(std::memory_order_acquire);) {
        if (!at.any_arrived() || !at.drive()) {
            wait();
        }
    }
}

int send(member &me, int dest, int tag, const endpoint::buffer &data) noexcept {
    operation op;
    op.data = data;
    int error = MPI_SUCCESS;
    if (!start_send(me, channel::internal, dest, tag, op, false, error)) {
        wait_for_send(me, channel::internal, dest, op);
        error = op.result.error;
    }
    return error;
}

int receive(member &me, int source, int tag, const endpoint::buffer &data) noexcept {
    operation op;
    op.data = data;
    start_receive(me, channel::internal, source, tag, op);
    wait_for_receive(me, channel::internal, op);
    return op.result.error;
}

int exchange_all(member &me, const void *mine, void *all, std::size_t bytes) noexcept {
    const int tag = begin_operation(me);
    const int size = me.comm->size();
    const auto part = [&](int rank) {
        return static_cast<unsigned char *>(all) + static_cast<std::size_t>(rank) * bytes;
    };
    const endpoint::buffer whole = endpoint::bytes_at(all, static_cast<std::size_t>(size) * bytes);
    int error = MPI_SUCCESS;
    const auto note = [&](int its) { error = error == MPI_SUCCESS ? its : error; };
    if (me.rank != 0) {
        note(send(me, 0, tag, endpoint::bytes_at(mine, bytes)));
        note(receive(me, 0, tag, whole));
        return error;
    }
    std::memcpy(part(0), mine, bytes);
    for (int rank = 1; rank < size; ++rank) {
        note(receive(me, rank, tag, endpoint::bytes_at(part(rank), bytes)));
    }
    for (int rank = 1; rank < size; ++rank) {
        note(send(me, rank, tag, whole));
    }
    return error;
}

} // namespace thence::threadcomm
