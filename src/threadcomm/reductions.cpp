// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine data. Each combines x(0) op x(1) op ... in the order of the ranks: a partial result is always
// that of consecutive ranks, and MPI_Reduce_local(left, right) puts `left op right` into `right`.
#include "threadcomm/collectives.hpp"

#include "mpi/calls.hpp"
#include "threadcomm/direct.hpp"
#include "threadcomm/peers.hpp"
#include "threadcomm/transfers.hpp"

#include <algorithm>
#include <climits>
#include <exception>

namespace thence::threadcomm {

namespace {

class reducing {
public:
    reducing(member &me, const reduction &what) : me_(me), what_(what), moves_(me), mine_(what.count, what.type) {
        const void *const from = what.from == MPI_IN_PLACE ? what.to : what.from;
        source_ = moves_.data(from, what.count, what.type);
    }

    transfers &moves() noexcept { return moves_; }
    endpoint::buffer at(const scratch &room) { return moves_.data(room.base(), what_.count, what_.type); }
    scratch make() const { return {what_.count, what_.type}; }
    scratch &mine() noexcept { return mine_; }
    void take_own() { copy(source_, at(mine_), source_.bytes); }

    // right = left op right
    void combine(const scratch &left, scratch &right) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        mpi::table.Type_get_extent(what_.type, &lower, &extent);
        for (MPI_Count i = 0; i < what_.count;) {
            const int n = static_cast<int>(std::min<MPI_Count>(what_.count - i, INT_MAX));
            const int code = mpi::table.Reduce_local(static_cast<unsigned char *>(left.base()) + i * extent,
                                                     static_cast<unsigned char *>(right.base()) + i * extent, n,
                                                     what_.type, what_.op);
            moves_.note(code == MPI_SUCCESS ? int{MPI_SUCCESS} : int{MPI_ERR_OP});
            i += n;
        }
    }

    // Rank 0 has the result in mine().
    void to_rank_0() {
        take_own();
        const int size = me_.comm->size();
        for (int distance = 1; distance < size; distance *= 2) {
            if (me_.rank % (2 * distance) != 0) {
                moves_.send(me_.rank - distance, at(mine_));
                moves_.finish();
                return;
            }
            if (me_.rank + distance < size) {
                scratch right = make();
                moves_.receive(me_.rank + distance, at(right));
                moves_.finish();
                combine(mine_, right);
                mine_.swap(right);
            }
        }
    }

private:
    member &me_;
    const reduction &what_;
    transfers moves_;
    scratch mine_;
    endpoint::buffer source_;
};

constexpr const char *does_not_fit = "the operation, a count or a datatype does not fit";

bool is_valid(const reduction &what) noexcept {
    return what.op != MPI_OP_NULL && what.type != MPI_DATATYPE_NULL && what.count >= 0;
}

template <class Body>
int reducing_collective(const char *call, communicator &comm, const reduction &what, int root, Body body) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return code;
    }
    if (root != all_ranks && (root < 0 || root >= comm.size())) {
        return fail(comm.handle, call, MPI_ERR_ROOT, "root is no rank of the thread communicator");
    }
    if (!is_valid(what)) {
        return fail(comm.handle, call,
                    what.op == MPI_OP_NULL           ? MPI_ERR_OP
                    : what.type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE
                                                     : MPI_ERR_COUNT,
                    "the operation or the datatype is null, or count is negative");
    }
    try {
        reducing work(*me, what);
        body(*me, work);
        work.moves().finish();
        const int error = work.moves().error();
        return error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail(comm.handle, call, error, does_not_fit);
    } catch (const std::exception &) {
        return fail(comm.handle, call, MPI_ERR_NO_MEM, "memory is exhausted");
    }
}

} // namespace

int reduce(const char *call, communicator &comm, const reduction &what, int root) noexcept {
    const bool to_all = root == all_ranks;
    if (to_all && comm.together != nullptr && is_valid(what)) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call, comm, code);
        if (me == nullptr || reduce_directly(*me, what, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail(comm.handle, call, code, does_not_fit);
        }
    }
    reduction its = what;
    bool begun = false;
    const int code =
        reducing_collective(call, comm, its, root < 0 && !to_all ? -2 : root, [&](member &me, reducing &work) {
            begun = true;
            work.to_rank_0();
            const int target = to_all ? 0 : root;
            if (me.rank == 0 && target != 0) {
                work.moves().send(target, work.at(work.mine()));
            } else if (me.rank == target && target != 0) {
                work.moves().receive(0, work.moves().data(what.to, what.count, what.type));
            } else if (me.rank == 0) {
                const endpoint::buffer result = work.moves().data(what.to, what.count, what.type);
                copy(work.at(work.mine()), result, result.bytes);
            }
        });
    if (!to_all || !begun) {
        return code;
    }
    // Also if the operation has failed, on the ranks that combine: the others wait for this.
    const int second = broadcast(call, comm, {what.to, what.count, what.type}, 0);
    return code != MPI_SUCCESS ? code : second;
}

int reduce_scatter(const char *call, communicator &comm, const reduction &what, const blocks &parts) noexcept {
    reduction whole = what;
    whole.count = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
        whole.count += parts.count(rank);
    }
    return reducing_collective(call, comm, whole, all_ranks, [&](member &me, reducing &work) {
        work.to_rank_0();
        work.moves().receive(0, work.moves().data(what.to, parts.count(me.rank), what.type));
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        mpi::table.Type_get_extent(what.type, &lower, &extent);
        auto *at = static_cast<unsigned char *>(work.mine().base());
        for (int rank = 0; me.rank == 0 && rank < comm.size(); ++rank) {
            work.moves().send(rank, work.moves().data(at, parts.count(rank), what.type));
            at += parts.count(rank) * extent;
        }
        work.moves().finish();
    });
}

// A chain: each rank gets the result of those before it.
int scan(const char *call, communicator &comm, const reduction &what, bool exclusive) noexcept {
    return reducing_collective(call, comm, what, all_ranks, [&](member &me, reducing &work) {
        work.take_own();
        scratch before = work.make();
        if (me.rank > 0) {
            work.moves().receive(me.rank - 1, work.at(before));
            work.moves().finish();
            work.combine(before, work.mine());
        }
        const endpoint::buffer result = work.moves().data(what.to, what.count, what.type);
        if (!exclusive || me.rank > 0) {
            copy(work.at(exclusive ? before : work.mine()), result, result.bytes);
        }
        if (me.rank + 1 < comm.size()) {
            work.moves().send(me.rank + 1, work.at(work.mine()));
        }
        work.moves().finish();
    });
}

} // namespace thence::threadcomm
