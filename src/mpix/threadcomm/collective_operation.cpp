// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/collective_operation.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>

namespace thence::threadcomm {

void collective_operation::receive(int source, const messages::buffer &data) {
    started &s = open_.emplace_back();
    s.op.data = data;
    start_receive(me_.collective, {source, 0, tag_}, s.op);
}

void collective_operation::send(int dest, const messages::buffer &data) {
    started &s = open_.emplace_back();
    s.op.data = data;
    int error = MPI_SUCCESS;
    messages::destination to;
    set_destination(to, me_, channel::collective, dest, tag_);
    if (start_send(to, messages::send_mode::standard, s.op, error)) {
        open_.pop_back();
    } else {
        s.is_send = true;
        s.receiver = to.receiver;
    }
    note(error);
}

void collective_operation::finish() noexcept {
    for (started &each : open_) {
        if (each.is_send) {
            wait_for_send(each.receiver, &me_.collective, each.op);
        } else {
            wait_for_receive(me_.collective, each.op);
        }
        note(each.op.result.error);
    }
    open_.clear();
}

bool collective_operation::are_complete() noexcept {
    while (!open_.empty() && open_.front().op.done.load(std::memory_order_acquire)) {
        note(open_.front().op.result.error);
        open_.pop_front();
    }
    return open_.empty();
}

messages::buffer collective_operation::data(const void *base, MPI_Count count, MPI_Datatype type) {
    messages::buffer result;
    note(messages::describe(base, count, type, result));
    return result;
}

messages::buffer collective_operation::block(const blocks &all, int rank) {
    const MPI_Datatype type = all.type_of(rank);
    MPI_Aint unit = 1;
    if (all.types == nullptr && type != MPI_DATATYPE_NULL) {
        MPI_Aint lower = 0;
        mpi::table.Type_get_extent(type, &lower, &unit);
    }
    return data(static_cast<unsigned char *>(all.base) + all.displacement(rank) * unit, all.count(rank), type);
}

unsigned char *collective_operation::temporary(std::size_t bytes) {
    return temporaries_.emplace_back(new unsigned char[bytes + 1]).get();
}

// An operation of the user may copy whole elements, with the padding that belongs to their extent.
void *collective_operation::temporary(MPI_Count count, MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    mpi::table.Type_get_extent(type, &lower, &extent);
    mpi::table.Type_get_true_extent(type, &true_lower, &true_extent);
    const MPI_Count span = count > 0 ? (count - 1) * extent : 0; // from the first element to the last
    const MPI_Count before = span < 0 ? -span : 0;
    const MPI_Aint begin = std::min({lower, lower + extent, true_lower}); // of one element
    const MPI_Aint end = std::max({lower, lower + extent, true_lower + true_extent});
    return temporary(static_cast<std::size_t>((span < 0 ? -span : span) + end - begin)) + before - begin;
}

} // namespace thence::threadcomm
