// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/nonblocking.hpp"

#include "core/api/errors.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/type_dup.hpp"

namespace thence::threadcomm {

using mpi::table;

void nonblocking::end() noexcept {
    messages::p2p_operation &op = *op_;
    op.result = {};
    op.result.error = collective_.error();
    messages::endpoint &at = me_.collective;
    delete this;
    at.not_needed_by_request(); // the communicator may be gone after this
    messages::complete(op);
}

int fail_at_end(const collective_call &call, int error_class) noexcept {
    return fail(call.comm.handle, call.name, error_class,
                error_class == MPI_ERR_NO_MEM
                    ? api::reason::out_of_memory.text
                    : "a count, a datatype or the operation does not fit, or the data could not be moved");
}

collective_call::~collective_call() {
    for (MPI_Datatype &each : types_) {
        table.Type_free(&each);
    }
}

void collective_call::keep(MPI_Datatype &type) noexcept {
    if (is_blocking() || type == MPI_DATATYPE_NULL) {
        return;
    }
    int numbers[3] = {};
    int combiner = MPI_COMBINER_NAMED;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    if (table.Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner) != MPI_SUCCESS ||
        combiner == MPI_COMBINER_NAMED) {
        return;
    }
    try {
        types_.reserve(types_.size() + 1);
        if (mpi::table.Type_dup(type, &copy) == MPI_SUCCESS) {
            types_.push_back(copy);
            type = copy;
        }
    } catch (const std::exception &) {
        no_memory_ = true;
    }
}

void collective_call::keep(blocks &data) noexcept {
    if (is_blocking() || data.types == nullptr) {
        return keep(data.type);
    }
    const auto n = static_cast<std::size_t>(comm.size());
    auto &list = lists_[lists_[0] != nullptr ? 1 : 0];
    list.reset(new (std::nothrow) MPI_Datatype[n]);
    no_memory_ = no_memory_ || list == nullptr;
    for (std::size_t i = 0; list != nullptr && i < n; ++i) {
        list[i] = data.types[i];
        keep(list[i]);
    }
    data.types = list != nullptr ? list.get() : data.types;
}

void collective_call::keep(reduction &what) noexcept {
    keep(what.type);
    if (what.type != what.given && !mpi::dup_keeps_original()) {
        what.given = what.type;
    }
    try {
        operation_ = kept_operation(is_blocking() ? MPI_OP_NULL : what.op);
    } catch (const std::exception &) {
        no_memory_ = true;
    }
}

} // namespace thence::threadcomm
