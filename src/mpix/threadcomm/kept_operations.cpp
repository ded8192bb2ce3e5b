// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/kept_operations.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace thence::threadcomm {

namespace {

struct use {
    long reductions = 0;
    bool freed = false; // by the user
};

std::mutex mutex; // guards the table
// Has the operations that at least one reduction uses. MPI gives the handle to no other operation before it has freed
// it.
std::unordered_map<MPI_Op, use> &uses() {
    static auto &table = *new std::unordered_map<MPI_Op, use>; // used until the process ends
    return table;
}

bool is_predefined(MPI_Op op) noexcept {
    const MPI_Op all[] = {MPI_OP_NULL, MPI_SUM, MPI_MAX,  MPI_MIN,  MPI_PROD,   MPI_LAND,  MPI_BAND,
                          MPI_LOR,     MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    return std::find(std::begin(all), std::end(all), op) != std::end(all);
}

} // namespace

kept_operation::kept_operation(MPI_Op op) {
    if (is_predefined(op)) {
        return;
    }
    const std::scoped_lock guard(mutex);
    ++uses()[op].reductions;
    op_ = op;
}

kept_operation &kept_operation::operator=(kept_operation &&other) noexcept {
    std::swap(op_, other.op_); // the other one releases what this one had
    return *this;
}

void kept_operation::release() noexcept {
    if (op_ == MPI_OP_NULL) {
        return;
    }
    bool freed = false;
    {
        const std::scoped_lock guard(mutex);
        const auto at = uses().find(op_);
        if (--at->second.reductions == 0) {
            freed = at->second.freed;
            uses().erase(at);
        }
    }
    if (freed) {
        mpi::table.Op_free(&op_);
    }
}

bool free_after_use(MPI_Op &op) noexcept {
    const std::scoped_lock guard(mutex);
    const auto at = uses().find(op);
    if (at == uses().end()) {
        return false;
    }
    at->second.freed = true;
    op = MPI_OP_NULL;
    return true;
}

} // namespace thence::threadcomm
