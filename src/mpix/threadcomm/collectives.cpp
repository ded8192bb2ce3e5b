// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data.
#include "mpix/threadcomm/collectives.hpp"

#include "mpix/threadcomm/direct.hpp"
#include "mpix/threadcomm/nonblocking.hpp"

namespace thence::threadcomm {

namespace {

int checked_root(int root) noexcept {
    return root < 0 ? -2 : root; // -1 means that the call has none
}

bool is_root(const collective_call &call, int root) noexcept {
    const member *const me = self(call.comm);
    return me != nullptr && me->rank == root;
}

steps meet(transfers &moves) {
    const messages::buffer nothing = messages::bytes_at(nullptr, 0);
    const int size = moves.size();
    for (int distance = 1; distance < size; distance *= 2) {
        moves.send((moves.rank() + distance) % size, nothing);
        moves.receive((moves.rank() + size - distance % size) % size, nothing);
        co_await moves.finished();
    }
}

steps gather_at(transfers &moves, data_argument sent, blocks received, int root) {
    const bool is_root = moves.rank() == root;
    const bool in_place = is_root && sent.base == MPI_IN_PLACE;
    for (int rank = 0; is_root && rank < moves.size(); ++rank) {
        if (rank != root || !in_place) {
            moves.receive(rank, moves.block(received, rank));
        }
    }
    if (!in_place) {
        moves.send(root, moves.data(sent.base, sent.count, sent.type));
    }
    co_return;
}

steps scatter_from(transfers &moves, blocks sent, data_argument received, int root) {
    const bool is_root = moves.rank() == root;
    const bool in_place = is_root && received.base == MPI_IN_PLACE;
    if (!in_place) {
        moves.receive(root, moves.data(received.base, received.count, received.type));
    }
    for (int rank = 0; is_root && rank < moves.size(); ++rank) {
        if (rank != root || !in_place) {
            moves.send(rank, moves.block(sent, rank));
        }
    }
    co_return;
}

steps gather_at_all(transfers &moves, data_argument sent, blocks received) {
    const bool in_place = sent.base == MPI_IN_PLACE;
    const int size = moves.size();
    for (int rank = 0; rank < size; ++rank) {
        if (rank != moves.rank() || !in_place) {
            moves.receive(rank, moves.block(received, rank));
        }
    }
    const messages::buffer mine =
        in_place ? moves.block(received, moves.rank()) : moves.data(sent.base, sent.count, sent.type);
    for (int i = in_place ? 1 : 0; i < size; ++i) {
        moves.send((moves.rank() + i) % size, mine);
    }
    co_return;
}

steps exchange_blocks(transfers &moves, blocks sent, blocks received) {
    const bool in_place = sent.base == MPI_IN_PLACE;
    const int size = moves.size();
    std::vector<messages::buffer> copies; // what is sent, before it is overwritten
    for (int rank = 0; in_place && rank < size; ++rank) {
        const messages::buffer data = moves.block(received, rank);
        unsigned char *const copy = moves.room(data.bytes);
        copy_out(data, copy, data.bytes);
        copies.push_back(messages::bytes_at(copy, data.bytes));
    }
    for (int rank = 0; rank < size; ++rank) {
        moves.receive(rank, moves.block(received, rank));
    }
    for (int i = 0; i < size; ++i) {
        const int rank = (moves.rank() + i) % size;
        moves.send(rank, in_place ? copies[static_cast<std::size_t>(rank)] : moves.block(sent, rank));
    }
    co_return;
}

} // namespace

// A binomial tree.
steps broadcast_from(transfers &moves, data_argument data, int root) {
    const messages::buffer all = moves.data(data.base, data.count, data.type);
    const int size = moves.size();
    const int place = (moves.rank() + size - root) % size;
    int bit = 1;
    while (bit < size && (place & bit) == 0) {
        bit *= 2;
    }
    if (place != 0) {
        moves.receive((place - bit + root) % size, all);
        co_await moves.finished();
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (place + bit < size) {
            moves.send((place + bit + root) % size, all);
        }
    }
}

int barrier(collective_call &call) noexcept {
    if (call.is_blocking() && call.comm.together != nullptr) {
        int code = MPI_SUCCESS;
        if (const member *const me = check_self(call.name, call.comm, code)) {
            meeting &all = *call.comm.together;
            all.begin(me->rank);
            all.come(me->rank);
            all.wait_for_all(me->rank);
        }
        return code;
    }
    return run(call, all_ranks, [](transfers &moves) { return meet(moves); });
}

int broadcast(collective_call &call, data_argument data, int root) noexcept {
    communicator &comm = call.comm;
    if (call.is_blocking() && comm.together != nullptr && root >= 0 && root < comm.size()) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call.name, comm, code);
        if (me == nullptr || broadcast_directly(*me, data, root, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail_at_end(call, code);
        }
    }
    call.keep(data.type);
    return run(call, checked_root(root), [=](transfers &moves) { return broadcast_from(moves, data, root); });
}

int gather(collective_call &call, data_argument sent, blocks received, int root) noexcept {
    const bool at_root = is_root(call, root);
    if (!at_root || sent.base != MPI_IN_PLACE) {
        call.keep(sent.type);
    }
    if (at_root) {
        call.keep(received);
    }
    return run(call, checked_root(root), [=](transfers &moves) { return gather_at(moves, sent, received, root); });
}

int scatter(collective_call &call, blocks sent, data_argument received, int root) noexcept {
    const bool at_root = is_root(call, root);
    if (at_root) {
        call.keep(sent);
    }
    if (!at_root || received.base != MPI_IN_PLACE) {
        call.keep(received.type);
    }
    return run(call, checked_root(root), [=](transfers &moves) { return scatter_from(moves, sent, received, root); });
}

int all_gather(collective_call &call, data_argument sent, blocks received) noexcept {
    if (sent.base != MPI_IN_PLACE) {
        call.keep(sent.type);
    }
    call.keep(received);
    return run(call, all_ranks, [=](transfers &moves) { return gather_at_all(moves, sent, received); });
}

int all_to_all(collective_call &call, blocks sent, blocks received) noexcept {
    if (sent.base != MPI_IN_PLACE) {
        call.keep(sent);
    }
    call.keep(received);
    return run(call, all_ranks, [=](transfers &moves) { return exchange_blocks(moves, sent, received); });
}

} // namespace thence::threadcomm
