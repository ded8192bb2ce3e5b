// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/collective_channel.hpp"

#include <cstring>

namespace thence::threadcomm {

namespace {

int send(member &me, int dest, int tag, const messages::buffer &data) noexcept {
    messages::send_call call;
    call.data = data;
    call.has_peer = true;
    set_destination(call.to, me, channel::collective, dest, tag);
    call.own = &me.collective;
    return send(call, messages::send_mode::standard).error_class;
}

int receive(member &me, int source, int tag, const messages::buffer &data) noexcept {
    const messages::receive_call call{{}, data, &me.collective, {source, 0, tag}};
    return receive(call, MPI_STATUS_IGNORE).error_class;
}

} // namespace

int exchange_all(member &me, const void *mine, void *all, std::size_t bytes) noexcept {
    const int tag = begin_operation(me);
    const int size = me.comm->size();
    const auto part = [&](int rank) {
        return static_cast<unsigned char *>(all) + static_cast<std::size_t>(rank) * bytes;
    };
    const messages::buffer whole = messages::bytes_at(all, static_cast<std::size_t>(size) * bytes);
    int error = MPI_SUCCESS;
    const auto note = [&](int code) { error = error == MPI_SUCCESS ? code : error; };
    if (me.rank != 0) {
        note(send(me, 0, tag, messages::bytes_at(mine, bytes)));
        note(receive(me, 0, tag, whole));
        return error;
    }
    std::memcpy(part(0), mine, bytes);
    for (int rank = 1; rank < size; ++rank) {
        note(receive(me, rank, tag, messages::bytes_at(part(rank), bytes)));
    }
    for (int rank = 1; rank < size; ++rank) {
        note(send(me, rank, tag, whole));
    }
    return error;
}

} // namespace thence::threadcomm
