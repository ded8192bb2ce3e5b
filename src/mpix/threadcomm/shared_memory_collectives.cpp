// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/shared_memory_collectives.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/messages/data.hpp"
#include "mpix/threadcomm/shared_exchange.hpp"

#include <algorithm>
#include <cstring>

namespace thence::threadcomm {

namespace {

// The data lie in a row that begins where the user's buffer does, so that a copy of them can take its place.
bool is_row(const messages::buffer &data) noexcept {
    return data.contiguous() && data.row == data.base;
}

// The elements, with the padding that belongs to their extent, fit into a contribution: an operation of the user may
// copy it. Several elements in a row have none.
bool whole_elements_fit(const reduction &what) noexcept {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    return what.count != 1 || (mpi::table.Type_get_extent(what.type, &lower, &extent) == MPI_SUCCESS && lower == 0 &&
                               extent <= static_cast<MPI_Aint>(sizeof shared_exchange::contribution::data));
}

} // namespace

bool broadcast_in_shared_memory(member &me, const data_argument &data, int root, int &error) noexcept {
    shared_exchange &all = *me.comm->exchange;
    messages::buffer mine;
    error = messages::describe(data.base, data.count, data.type, mine);
    shared_exchange::contribution &brought = all.begin(me.rank);
    if (me.rank == root) {
        brought.bytes = mine.bytes;
        brought.inside = mine.bytes <= shared_exchange::most_bytes;
        if (brought.inside) {
            copy_out(mine, brought.data.data(), mine.bytes);
        }
        const bool is_done = brought.inside;
        all.arrive(me.rank);
        return is_done;
    }
    all.arrive(me.rank);
    const shared_exchange::contribution &from = all.read(me.rank, root);
    if (!from.inside) {
        return false;
    }
    if (error == MPI_SUCCESS) {
        copy_in(from.data.data(), mine, std::min(from.bytes, mine.bytes));
        error = from.bytes > mine.bytes ? int{MPI_ERR_TRUNCATE} : int{MPI_SUCCESS};
    }
    return true;
}

// right = x(i) op right, from the last rank to the first: a partial result is that of consecutive ranks.
bool reduce_in_shared_memory(member &me, const reduction &what, int &error) noexcept {
    shared_exchange &all = *me.comm->exchange;
    messages::buffer source;
    messages::buffer result;
    error = messages::describe(what.from == MPI_IN_PLACE ? what.to : what.from, what.count, what.type, source);
    error = error == MPI_SUCCESS ? messages::describe(what.to, what.count, what.type, result) : error;
    shared_exchange::contribution &brought = all.begin(me.rank);
    brought.bytes = source.bytes;
    brought.inside = error == MPI_SUCCESS && source.bytes <= shared_exchange::most_bytes && is_row(source) &&
                     is_row(result) && whole_elements_fit(what);
    if (brought.inside) {
        copy_out(source, brought.data.data(), source.bytes);
    }
    all.arrive(me.rank);
    all.wait_for_all(me.rank);
    const std::uint64_t bytes = all.read(me.rank, 0).bytes;
    for (int rank = 0; rank < all.ranks(); ++rank) {
        const shared_exchange::contribution &each = all.read(me.rank, rank);
        if (!each.inside || each.bytes != bytes) {
            return false;
        }
    }
    alignas(64) unsigned char right[sizeof brought.data] = {};
    std::memcpy(right, all.read(me.rank, all.ranks() - 1).data.data(), bytes);
    for (int rank = all.ranks() - 2; rank >= 0 && bytes != 0; --rank) {
        const int code = mpi::table.Reduce_local(all.read(me.rank, rank).data.data(), right,
                                                 static_cast<int>(what.count), what.type, what.op);
        error = code == MPI_SUCCESS ? error : int{MPI_ERR_OP};
    }
    copy_in(right, result, bytes);
    return true;
}

} // namespace thence::threadcomm
