// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/message.hpp"

#include "core/mpi/calls.hpp"

#include <climits>
#include <cstdlib>

namespace thence::messages {

void complete(p2p_operation &op) noexcept {
    if (op.owned) {
        std::free(op.room);
        delete &op;
        return;
    }
    if (!op.has_request) {
        op.done.store(true, std::memory_order_release);
        return;
    }
    if (op.needs_endpoint != nullptr) {
        op.needs_endpoint->fetch_sub(1, std::memory_order_release);
    }
    open_requests.fetch_sub(1, std::memory_order_seq_cst);
    if (op.own_type != MPI_DATATYPE_NULL) [[unlikely]] {
        mpi::table.Type_free(&op.own_type);
    }
    mpi::table.Grequest_complete(op.request);
}

void completed_list::tell() noexcept {
    while (first != nullptr) {
        p2p_operation &op = *first;
        first = op.next; // the operation may be gone once it is told
        complete(op);
    }
}

void set_status(MPI_Status *status, const outcome &result) noexcept {
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = result.source;
    status->MPI_TAG = result.tag;
    if (result.bytes <= INT_MAX) {
        mpi::table.Status_set_elements(status, MPI_BYTE, static_cast<int>(result.bytes));
    } else {
        mpi::table.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(result.bytes));
    }
    mpi::table.Status_set_cancelled(status, result.cancelled ? 1 : 0);
}

} // namespace thence::messages
