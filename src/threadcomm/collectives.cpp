// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data.
#include "threadcomm/collectives.hpp"

#include "threadcomm/direct.hpp"
#include "threadcomm/peers.hpp"
#include "threadcomm/transfers.hpp"

#include <exception>
#include <vector>

namespace thence::threadcomm {

namespace {

constexpr const char *does_not_fit = "counts or datatypes do not fit, or the data could not be moved";

// Runs `body(me, moves)` with the checks that all collectives have. `root`: all_ranks if the call has none.
template <class Body> int collective(const char *call, communicator &comm, int root, Body body) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return code;
    }
    if (root != all_ranks && (root < 0 || root >= comm.size())) {
        return fail(comm.handle, call, MPI_ERR_ROOT, "root is no rank of the thread communicator");
    }
    try {
        transfers moves(*me);
        body(*me, moves);
        moves.finish();
        return moves.error() == MPI_SUCCESS ? int{MPI_SUCCESS} : fail(comm.handle, call, moves.error(), does_not_fit);
    } catch (const std::exception &) {
        return fail(comm.handle, call, MPI_ERR_NO_MEM, "memory is exhausted");
    }
}

int checked_root(int root) noexcept {
    return root < 0 ? -2 : root; // -1 means that the call has none
}

} // namespace

int barrier(const char *call, communicator &comm) noexcept {
    if (comm.together != nullptr) {
        int code = MPI_SUCCESS;
        if (const member *const me = check_self(call, comm, code)) {
            comm.together->begin(me->rank);
            comm.together->come(me->rank);
            comm.together->wait_for_all(me->rank);
        }
        return code;
    }
    return collective(call, comm, all_ranks, [&](member &me, transfers &moves) {
        const endpoint::buffer nothing = endpoint::bytes_at(nullptr, 0);
        const int size = comm.size();
        for (int distance = 1; distance < size; distance *= 2) {
            moves.send((me.rank + distance) % size, nothing);
            moves.receive((me.rank + size - distance % size) % size, nothing);
            moves.finish();
        }
    });
}

// A binomial tree.
int broadcast(const char *call, communicator &comm, const data_argument &data, int root) noexcept {
    if (comm.together != nullptr && root >= 0 && root < comm.size()) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call, comm, code);
        if (me == nullptr || broadcast_directly(*me, data, root, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail(comm.handle, call, code, does_not_fit);
        }
    }
    return collective(call, comm, checked_root(root), [&](member &me, transfers &moves) {
        const endpoint::buffer all = moves.data(data.base, data.count, data.type);
        const int size = comm.size();
        const int place = (me.rank + size - root) % size;
        int bit = 1;
        while (bit < size && (place & bit) == 0) {
            bit *= 2;
        }
        if (place != 0) {
            moves.receive((place - bit + root) % size, all);
            moves.finish();
        }
        for (bit /= 2; bit > 0; bit /= 2) {
            if (place + bit < size) {
                moves.send((place + bit + root) % size, all);
            }
        }
    });
}

int gather(const char *call, communicator &comm, const data_argument &sent, const blocks &received, int root) noexcept {
    return collective(call, comm, checked_root(root), [&](member &me, transfers &moves) {
        const bool in_place = me.rank == root && sent.base == MPI_IN_PLACE;
        for (int rank = 0; me.rank == root && rank < comm.size(); ++rank) {
            if (rank != root || !in_place) {
                moves.receive(rank, moves.block(received, rank));
            }
        }
        if (!in_place) {
            moves.send(root, moves.data(sent.base, sent.count, sent.type));
        }
    });
}

int scatter(const char *call, communicator &comm, const blocks &sent, const data_argument &received,
            int root) noexcept {
    return collective(call, comm, checked_root(root), [&](member &me, transfers &moves) {
        const bool in_place = me.rank == root && received.base == MPI_IN_PLACE;
        if (!in_place) {
            moves.receive(root, moves.data(received.base, received.count, received.type));
        }
        for (int rank = 0; me.rank == root && rank < comm.size(); ++rank) {
            if (rank != root || !in_place) {
                moves.send(rank, moves.block(sent, rank));
            }
        }
    });
}

int all_gather(const char *call, communicator &comm, const data_argument &sent, const blocks &received) noexcept {
    return collective(call, comm, all_ranks, [&](member &me, transfers &moves) {
        const bool in_place = sent.base == MPI_IN_PLACE;
        const int size = comm.size();
        for (int rank = 0; rank < size; ++rank) {
            if (rank != me.rank || !in_place) {
                moves.receive(rank, moves.block(received, rank));
            }
        }
        const endpoint::buffer mine =
            in_place ? moves.block(received, me.rank) : moves.data(sent.base, sent.count, sent.type);
        for (int i = in_place ? 1 : 0; i < size; ++i) {
            moves.send((me.rank + i) % size, mine);
        }
    });
}

int all_to_all(const char *call, communicator &comm, const blocks &sent, const blocks &received) noexcept {
    return collective(call, comm, all_ranks, [&](member &me, transfers &moves) {
        const bool in_place = sent.base == MPI_IN_PLACE;
        const int size = comm.size();
        std::vector<std::vector<unsigned char>> copies(in_place ? static_cast<std::size_t>(size) : 0);
        for (std::size_t i = 0; i < copies.size(); ++i) { // what is sent, before it is overwritten
            const endpoint::buffer data = moves.block(received, static_cast<int>(i));
            copies[i].resize(data.bytes + 1);
            copy_out(data, copies[i].data(), data.bytes);
        }
        for (int rank = 0; rank < size; ++rank) {
            moves.receive(rank, moves.block(received, rank));
        }
        for (int i = 0; i < size; ++i) {
            const int rank = (me.rank + i) % size;
            if (in_place) {
                const auto &copy = copies[static_cast<std::size_t>(rank)];
                moves.send(rank, endpoint::bytes_at(copy.data(), copy.size() - 1));
            } else {
                moves.send(rank, moves.block(sent, rank));
            }
        }
        moves.finish();
    });
}

} // namespace thence::threadcomm
