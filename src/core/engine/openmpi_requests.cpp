// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#if defined(OPEN_MPI)

#include "core/engine/openmpi_requests.hpp"

#include "core/engine/push.hpp"
#include "core/mpi/calls.hpp"

namespace thence::engine::openmpi {
namespace {

int read_complete(MPI_Request request) noexcept {
    return request_view(request).complete().load(std::memory_order_acquire) == completed ? 1 : 0;
}

int free_nothing(void **) noexcept {
    return MPI_SUCCESS;
}

// Open MPI 4.1 frees a persistent request when it reports its failure, and sets the handle that it was given to null.
// That handle is our copy, so the user's handle would dangle. So the request's free function does nothing during the
// call.
int test_persistent(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    const request_view view(*request);
    if (read_complete(*request) == 0) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    if (view.status().MPI_ERROR == MPI_SUCCESS) {
        return mpi::table.Test(request, flag, status);
    }
    void *const users = view.free_slot().exchange(reinterpret_cast<void *>(&free_nothing));
    const int code = mpi::table.Test(request, flag, status);
    view.free_slot().store(users);
    return code;
}

} // namespace

int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept {
    flag = 0;
    if (try_finish_complete(request, status)) [[likely]] {
        request = MPI_REQUEST_NULL;
        flag = 1;
        return MPI_SUCCESS;
    }
    if (request != MPI_REQUEST_NULL && (read_complete(request) == 0 || is_persistent(request))) {
        return MPI_SUCCESS;
    }
    return mpi::table.Test(&request, &flag, status);
}

const polled_set::methods read_requests{.read_complete = &read_complete,
                                        .check_on_add = &read_complete,
                                        .take_plain = &try_finish,
                                        .test_persistent = &test_persistent,
                                        .may_cancel = &may_cancel};

} // namespace thence::engine::openmpi

#endif
