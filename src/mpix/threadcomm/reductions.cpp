// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine data. Each combines x(0) op x(1) op ... in the order of the ranks: a partial result is
// always that of consecutive ranks, and MPI_Reduce_local(left, right) puts `left op right` into `right`.
#include "mpix/threadcomm/collectives.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/threadcomm/nonblocking.hpp"
#include "mpix/threadcomm/shared_memory_collectives.hpp"

#include <algorithm>
#include <climits>

namespace thence::threadcomm {

namespace {

// The operands of one operation on one rank.
class reducing {
public:
    reducing(collective_operation &op, const reduction &what) : op_(op), what_(what), mine_(make()) {
        const void *const from = what.from == MPI_IN_PLACE ? what.to : what.from;
        const messages::buffer source = op.data(from, what.count, what.type);
        copy(source, at(mine_), source.bytes);
    }

    messages::buffer at(void *operand) { return op_.data(operand, what_.count, what_.type); }
    messages::buffer result() { return at(what_.to); }
    void *make() { return op_.temporary(what_.count, what_.type); }
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
            op_.note(code == MPI_SUCCESS ? int{MPI_SUCCESS} : int{MPI_ERR_OP});
            i += n;
        }
    }
    void combine_mine_with(void *right) {
        combine(mine_, right);
        mine_ = right;
    }

private:
    collective_operation &op_;
    const reduction what_;
    void *mine_;
};

// Rank 0 has the result in mine().
algorithm to_rank_0(collective_operation &op, reducing &work) {
    const int rank = op.rank();
    for (int distance = 1; distance < op.size(); distance *= 2) {
        if (rank % (2 * distance) != 0) {
            op.send(rank - distance, work.at(work.mine()));
            co_return;
        }
        if (rank + distance < op.size()) {
            void *const right = work.make();
            op.receive(rank + distance, work.at(right));
            co_await op.all_complete();
            work.combine_mine_with(right);
        }
    }
}

void take_result(collective_operation &op, reducing &work) {
    if (op.rank() == 0) {
        const messages::buffer result = work.result();
        copy(work.at(work.mine()), result, result.bytes);
    }
}

algorithm reduce_to(collective_operation &op, reduction what, int root) {
    reducing work(op, what);
    co_await to_rank_0(op, work);
    if (root == 0) {
        take_result(op, work);
    } else if (op.rank() == 0) {
        op.send(root, work.at(work.mine()));
    } else if (op.rank() == root) {
        op.receive(0, work.result());
    }
}

algorithm reduce_to_all(collective_operation &op, reduction what) {
    reducing work(op, what);
    co_await to_rank_0(op, work);
    take_result(op, work);
    // Also if the operation has failed, on the ranks that combine: the others wait for this.
    co_await broadcast_from(op, {what.to, what.count, what.type}, 0);
}

algorithm reduce_and_scatter(collective_operation &op, reduction whole, blocks counts) {
    reducing work(op, whole);
    co_await to_rank_0(op, work);
    op.receive(0, op.data(whole.to, counts.count(op.rank()), whole.type));
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    mpi::table.Type_get_extent(whole.type, &lower, &extent);
    const auto *at = static_cast<const unsigned char *>(work.mine());
    for (int rank = 0; op.rank() == 0 && rank < op.size(); ++rank) {
        op.send(rank, op.data(at, counts.count(rank), whole.type));
        at += counts.count(rank) * extent;
    }
}

// A chain: each rank gets the result of those before it.
algorithm scan_along(collective_operation &op, reduction what, bool exclusive) {
    reducing work(op, what);
    void *const before = work.make();
    if (op.rank() > 0) {
        op.receive(op.rank() - 1, work.at(before));
        co_await op.all_complete();
        work.combine(before, work.mine());
    }
    const messages::buffer result = work.result();
    if (!exclusive || op.rank() > 0) {
        copy(work.at(exclusive ? before : work.mine()), result, result.bytes);
    }
    if (op.rank() + 1 < op.size()) {
        op.send(op.rank() + 1, work.at(work.mine()));
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
    if (call.is_blocking() && to_all && comm.exchange != nullptr && is_valid(what)) {
        int code = MPI_SUCCESS;
        member *const me = check_self(call.name, comm, code);
        if (me == nullptr || reduce_in_shared_memory(*me, what, code)) {
            return me == nullptr || code == MPI_SUCCESS ? code : fail_at_end(call, code);
        }
    }
    call.keep(what);
    return to_all ? run_valid(call, what, root, [=](collective_operation &op) { return reduce_to_all(op, what); })
                  : run_valid(call, what, root, [=](collective_operation &op) { return reduce_to(op, what, root); });
}

int reduce_scatter(collective_call &call, reduction what, blocks counts) noexcept {
    what.count = 0;
    for (int rank = 0; rank < call.comm.size(); ++rank) {
        what.count += counts.count(rank);
    }
    call.keep(what);
    return run_valid(call, what, all_ranks,
                     [=](collective_operation &op) { return reduce_and_scatter(op, what, counts); });
}

int scan(collective_call &call, reduction what, bool exclusive) noexcept {
    call.keep(what);
    return run_valid(call, what, all_ranks, [=](collective_operation &op) { return scan_along(op, what, exclusive); });
}

} // namespace thence::threadcomm
