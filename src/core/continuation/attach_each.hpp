// SPDX-License-Identifier: BSD-3-Clause
// Attaching one callback to each of many operations: as many continuations as operations, in one call.
#pragma once

#include "core/continuation/attach.hpp"

namespace thence::continuation {

// The caller has checked the arguments. Puts the indices of the operations that were complete at once, whose callback
// will not run, into `indices`, and their number into `*outcount`. Neither is used if no operation can end so. Returns
// MPI_SUCCESS, or MPI_ERR_IN_STATUS if one of these failed. If memory is exhausted, it calls the error handler, returns
// `out_of_memory` and has attached nothing. (A callback that THENCE_MAY_RUN lets run inside may use up what was
// reserved. Then the operations before the one that found no memory are attached.)
int attach_each(int count, MPI_Request requests[], user_callback callback, unsigned flags, const void *where,
                MPI_Status statuses[], continuation_request &cr, int *outcount, int indices[]) noexcept;

} // namespace thence::continuation
