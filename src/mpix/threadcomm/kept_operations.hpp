// SPDX-License-Identifier: BSD-3-Clause
// The user's operations (MPI_Op) that open nonblocking reductions use. MPI_Op_free only marks an operation for
// deallocation (MPI 4.1, "User-Defined Reduction Operations"), so it may be called while such a reduction is open. MPI
// knows nothing of these reductions and has no call that duplicates an operation. So MPI's own MPI_Op_free is put off
// until the last of them has ended. An operation of MPI's cannot be freed and is not kept.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

namespace thence::threadcomm {

// A reduction's use of an operation, from its start to its end.
class kept_operation {
public:
    kept_operation() noexcept = default;
    explicit kept_operation(MPI_Op op); // throws std::bad_alloc
    kept_operation(kept_operation &&other) noexcept : op_(other.op_) { other.op_ = MPI_OP_NULL; }
    kept_operation &operator=(kept_operation &&other) noexcept;
    ~kept_operation() { release(); }

private:
    void release() noexcept; // may free the operation

    MPI_Op op_ = MPI_OP_NULL;
};

// MPI_Op_free of an operation that is kept: sets `op` to null and returns true. False: nothing is done, MPI shall free
// it.
THENCE_INTERNAL bool free_after_use(MPI_Op &op) noexcept;

} // namespace thence::threadcomm
