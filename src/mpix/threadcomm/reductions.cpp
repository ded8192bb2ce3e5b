// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine data. Each combines x(0) op x(1) op ... in the order of the ranks: a partial result is always
// that of consecutive ranks, and MPI_Reduce_local(left, right) puts `left op right` into `right`.
#include "mpix/threadcomm/collectives.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/threadcomm/direct.hpp"
#include "mpix/threadcomm/nonblocking.hpp"

#include <algorithm>
#include <climits>

namespace thence::threadcomm {

namespace {

// The operands of one operation on one rank.
class reducing {
public:
    reducing(transfers &moves, const reduction &what) : moves_(moves), what_(what), mine_(make()) {
        const void *const from = what.from == MPI_IN_PLACE ? what.to : what.from;
        const messages::buffer source = moves.data(from, what.count, what.type);
        copy(source, at(mine_), source.bytes);
    }

    messages::buffer at(void *operand) { return moves_.data(operand, what_.count, what_.type); }
    messages::buffer result() { return at(what_.to); }
    void *make() { return moves_.room(what_.count, what_.type); }
    void *mine() const noexcept { return mine_; }

    // right = left op right
    void combine(const void *left, void *right) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        mpi::table.Type_get_extent(what_.type, &lower, &extent);
        for (MPI_Count i = 0; i < what_.count;) {
            const int n = static_cast<int>(std::min<MPI_Count>(what_.count - i, INT_MAX));
            const int code =
                mpi::table.Reduce_local(static_cast<const unsigned char *>(left) + i * extent,
                                        static_cast<unsigned char *>(right) + i * extent, n, what_.given, what_.op);
            moves_.note(code == MPI_SUCCESS ? int{MPI_SUCCESS} : int{MPI_ERR_OP});
            i += n;
        }
    }
    void combine_mine_with(void *right) {
        combine(mine_, right);
        mine_ = right;
    }

private:
    transfers &moves_;
    const reduction what_;
    void *mine_;
};

// Rank 0 has the result in mine().
steps to_rank_0(transfers &moves, reducing &work) {
    const int rank = moves.rank();
    for (int distance = 1; distance < moves.size(); distance *= 2) {
        if (rank % (2 * distance) != 0) {
            moves.send(rank - distance, work.at(work.mine()));
            co_return;
        }
        if (rank + distance < moves.size()) {
            void *const right = work.make();
            moves.receive(rank + distance, work.at(right));
            co_await moves.finished();
            work.combine_mine_with(right);
        }
    }
}

void take_result(transfers &moves, reducing &work) {
    if (moves.rank() == 0) {
        const messages::buffer result = work.result();
        copy(work.at(work.mine()), result, result.bytes);
    }
}

steps reduce_to(transfers &moves, reduction what, int root) {
    reducing work(moves, what);
    co_await to_rank_0(moves, work);
    if (root == 0) {
        take_result(moves, work);
    } else if (moves.rank() == 0) {
        moves.send(root, work.at(work.mine()));
    } else if (moves.rank() == root) {
        moves.receive(0, work.result());
    }
}

steps reduce_to_all(transfers &moves, reduction what) {
    reducing work(moves, what);
    co_await to_rank_0(moves, work);
    take_result(moves, work);
    // Also if the operation has failed, on the ranks that combine: the others wait for this.
    co_await broadcast_from(moves, {what.to, what.count, what.type}, 0);
}

steps reduce_to_parts(transfers &moves, reduction whole, blocks parts) {
    reducing work(moves, whole);
    co_await to_rank_0(moves, work);
    moves.receive(0, moves.data(whole.to, parts.count(moves.rank()), whole.type));
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    mpi::table.Type_get_extent(whole.type, &lower, &extent);
    const auto *at = static_cast<const unsigned char *>(work.mine());
    for (int rank = 0; moves.rank() == 0 && rank < moves.size(); ++rank) {
        moves.send(rank, moves.data(at, parts.count(rank), whole.type));
        at += parts.count(rank) * extent;
    }
}

// A chain: each rank gets the result of those before it.
steps scan_along(transfers &moves, reduction what, bool exclusive) {
    reducing work(moves, what);
    void *const before = work.make();
    if (moves.rank() > 0) {
        moves.receive(moves.rank() - 1, work.at(before));
        co_await moves.finished();
        work.combine(before, work.mine());
    }
    const messages::buffer result = work.result();
    if (!exclusive || moves.rank() > 0) {
        copy(work.at(exclusive ? before : work.mine()), result, result.bytes);
    }
    if (moves.rank() + 1 < moves.size()) {
        moves.send(moves.rank() + 1, work.at(work.mine()));
    }
}

bool is_valid(const reduction &what) noexcept {
    return what.op != MPI_OP_NULL && what.type != MPI_DATATYPE_NULL && what.count >= 0;
}

template <class Begin> int run_valid(collective_call &call, const reduction &what, int root, Begin begin) noexcept {
    int code = MPI_SUCCESS;
    if (check_self(call.name, call.comm, code) == nullptr || is_valid(what)) {
        return code == MPI_SUCCESS ? run(call, root, begin) : code;
    }
    return fail(call.comm.handle, call.name,
                what.op == MPI_OP_NULL           ? MPI_ERR_OP
                : what.type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE
                                                 : MPI_ERR_COUNT,
                "the operation or the datatype is null, or count is negative");
}

} // namespace

int reduce(collective_call &call, reduction what, int root) noexcept {
    communicator &comm = call.comm;
    const bool to_all = root == all_ranks;
    if (call.is_blocking() && to_all && comm.together != nullptr && is_valid(what)) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call.name, comm, code);
        if (me == nullptr || reduce_directly(*me, what, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail_at_end(call, code);
        }
    }
    call.keep(what);
    return to_all ? run_valid(call, what, root, [=](transfers &moves) { return reduce_to_all(moves, what); })
                  : run_valid(call, what, root, [=](transfers &moves) { return reduce_to(moves, what, root); });
}

int reduce_scatter(collective_call &call, reduction what, blocks parts) noexcept {
    what.count = 0;
    for (int rank = 0; rank < call.comm.size(); ++rank) {
        what.count += parts.count(rank);
    }
    call.keep(what);
    return run_valid(call, what, all_ranks, [=](transfers &moves) { return reduce_to_parts(moves, what, parts); });
}

int scan(collective_call &call, reduction what, bool exclusive) noexcept {
    call.keep(what);
    return run_valid(call, what, all_ranks, [=](transfers &moves) { return scan_along(moves, what, exclusive); });
}

} // namespace thence::threadcomm
