// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data.
#include "mpix/threadcomm/collectives.hpp"

#include "mpix/threadcomm/nonblocking.hpp"
#include "mpix/threadcomm/shared_memory_collectives.hpp"

namespace thence::threadcomm {

namespace {

int checked_root(int root) noexcept {
    return root < 0 ? -2 : root; // -1 means that the call has none
}

bool is_root(const collective_call &call, int root) noexcept {
    const member *const me = self(call.comm);
    return me != nullptr && me->rank == root;
}

algorithm meet(collective_operation &op) {
    const messages::buffer nothing = messages::bytes_at(nullptr, 0);
    const int size = op.size();
    for (int distance = 1; distance < size; distance *= 2) {
        op.send((op.rank() + distance) % size, nothing);
        op.receive((op.rank() + size - distance % size) % size, nothing);
        co_await op.all_complete();
    }
}

algorithm gather_at(collective_operation &op, data_argument sent, blocks received, int root) {
    const bool is_root = op.rank() == root;
    const bool in_place = is_root && sent.base == MPI_IN_PLACE;
    for (int rank = 0; is_root && rank < op.size(); ++rank) {
        if (rank != root || !in_place) {
            op.receive(rank, op.block(received, rank));
        }
    }
    if (!in_place) {
        op.send(root, op.data(sent.base, sent.count, sent.type));
    }
    co_return;
}

algorithm scatter_from(collective_operation &op, blocks sent, data_argument received, int root) {
    const bool is_root = op.rank() == root;
    const bool in_place = is_root && received.base == MPI_IN_PLACE;
    if (!in_place) {
        op.receive(root, op.data(received.base, received.count, received.type));
    }
    for (int rank = 0; is_root && rank < op.size(); ++rank) {
        if (rank != root || !in_place) {
            op.send(rank, op.block(sent, rank));
        }
    }
    co_return;
}

algorithm gather_at_all(collective_operation &op, data_argument sent, blocks received) {
    const bool in_place = sent.base == MPI_IN_PLACE;
    const int size = op.size();
    for (int rank = 0; rank < size; ++rank) {
        if (rank != op.rank() || !in_place) {
            op.receive(rank, op.block(received, rank));
        }
    }
    const messages::buffer mine = in_place ? op.block(received, op.rank()) : op.data(sent.base, sent.count, sent.type);
    for (int i = in_place ? 1 : 0; i < size; ++i) {
        op.send((op.rank() + i) % size, mine);
    }
    co_return;
}

algorithm exchange_blocks(collective_operation &op, blocks sent, blocks received) {
    const bool in_place = sent.base == MPI_IN_PLACE;
    const int size = op.size();
    std::vector<messages::buffer> copies; // what is sent, before it is overwritten
    for (int rank = 0; in_place && rank < size; ++rank) {
        const messages::buffer data = op.block(received, rank);
        unsigned char *const copy = op.temporary(data.bytes);
        copy_out(data, copy, data.bytes);
        copies.push_back(messages::bytes_at(copy, data.bytes));
    }
    for (int rank = 0; rank < size; ++rank) {
        op.receive(rank, op.block(received, rank));
    }
    for (int i = 0; i < size; ++i) {
        const int rank = (op.rank() + i) % size;
        op.send(rank, in_place ? copies[static_cast<std::size_t>(rank)] : op.block(sent, rank));
    }
    co_return;
}

} // namespace

// A binomial tree.
algorithm broadcast_from(collective_operation &op, data_argument data, int root) {
    const messages::buffer all = op.data(data.base, data.count, data.type);
    const int size = op.size();
    const int relative_rank = (op.rank() + size - root) % size;
    int bit = 1;
    while (bit < size && (relative_rank & bit) == 0) {
        bit *= 2;
    }
    if (relative_rank != 0) {
        op.receive((relative_rank - bit + root) % size, all);
        co_await op.all_complete();
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (relative_rank + bit < size) {
            op.send((relative_rank + bit + root) % size, all);
        }
    }
}

int barrier(collective_call &call) noexcept {
    if (call.is_blocking() && call.comm.exchange != nullptr) {
        int code = MPI_SUCCESS;
        if (const member *const me = check_self(call.name, call.comm, code)) {
            shared_exchange &all = *call.comm.exchange;
            all.begin(me->rank);
            all.arrive(me->rank);
            all.wait_for_all(me->rank);
        }
        return code;
    }
    return run(call, all_ranks, [](collective_operation &op) { return meet(op); });
}

int broadcast(collective_call &call, data_argument data, int root) noexcept {
    communicator &comm = call.comm;
    if (call.is_blocking() && comm.exchange != nullptr && root >= 0 && root < comm.size()) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call.name, comm, code);
        if (me == nullptr || broadcast_in_shared_memory(*me, data, root, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail_at_end(call, code);
        }
    }
    call.keep(data.type);
    return run(call, checked_root(root), [=](collective_operation &op) { return broadcast_from(op, data, root); });
}

int gather(collective_call &call, data_argument sent, blocks received, int root) noexcept {
    const bool at_root = is_root(call, root);
    if (!at_root || sent.base != MPI_IN_PLACE) {
        call.keep(sent.type);
    }
    if (at_root) {
        call.keep(received);
    }
    return run(call, checked_root(root), [=](collective_operation &op) { return gather_at(op, sent, received, root); });
}

int scatter(collective_call &call, blocks sent, data_argument received, int root) noexcept {
    const bool at_root = is_root(call, root);
    if (at_root) {
        call.keep(sent);
    }
    if (!at_root || received.base != MPI_IN_PLACE) {
        call.keep(received.type);
    }
    return run(call, checked_root(root),
               [=](collective_operation &op) { return scatter_from(op, sent, received, root); });
}

int all_gather(collective_call &call, data_argument sent, blocks received) noexcept {
    if (sent.base != MPI_IN_PLACE) {
        call.keep(sent.type);
    }
    call.keep(received);
    return run(call, all_ranks, [=](collective_operation &op) { return gather_at_all(op, sent, received); });
}

int all_to_all(collective_call &call, blocks sent, blocks received) noexcept {
    if (sent.base != MPI_IN_PLACE) {
        call.keep(sent);
    }
    call.keep(received);
    return run(call, all_ranks, [=](collective_operation &op) { return exchange_blocks(op, sent, received); });
}

} // namespace thence::threadcomm
