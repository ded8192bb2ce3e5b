// SPDX-License-Identifier: BSD-3-Clause
// Calls that ask a communicator, which are interposed only because it may be a thread communicator. (Those that make
// and free communicators are in communicators.cpp.)
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_threadcomm.hpp"

#include "mpix/threadcomm/attributes.hpp"

#include <thence/thence.h>

namespace threadcomm = thence::threadcomm;

extern "C" {

THENCE_EXPORT int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::rank("MPI_Comm_rank", *threads, rank);
    }
    return THENCE_NEXT(Comm_rank)(comm, rank);
}

THENCE_EXPORT int MPI_Comm_size(MPI_Comm comm, int *size) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::size("MPI_Comm_size", *threads, size);
    }
    return THENCE_NEXT(Comm_size)(comm, size);
}

THENCE_EXPORT int MPI_Comm_compare(MPI_Comm one, MPI_Comm other, int *result) {
    if (threadcomm::any_alive()) [[unlikely]] {
        const auto *const first = threadcomm::find(one);
        const auto *const second = threadcomm::find(other);
        if (first != nullptr || second != nullptr) {
            return threadcomm::compare(first, second, result);
        }
    }
    return THENCE_NEXT(Comm_compare)(one, other, result);
}

THENCE_EXPORT int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::set_attribute(*threads, keyval, value);
    }
    return THENCE_NEXT(Comm_set_attr)(comm, keyval, value);
}

THENCE_EXPORT int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::get_attribute(*threads, keyval, value, flag);
    }
    return THENCE_NEXT(Comm_get_attr)(comm, keyval, value, flag);
}

THENCE_EXPORT int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::delete_attribute(*threads, keyval);
    }
    return THENCE_NEXT(Comm_delete_attr)(comm, keyval);
}

// The deprecated names of these three.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
THENCE_EXPORT int MPI_Attr_put(MPI_Comm comm, int keyval, void *value) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::set_attribute(*threads, keyval, value);
    }
    return THENCE_NEXT(Attr_put)(comm, keyval, value);
}
THENCE_EXPORT int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::get_attribute(*threads, keyval, value, flag);
    }
    return THENCE_NEXT(Attr_get)(comm, keyval, value, flag);
}
THENCE_EXPORT int MPI_Attr_delete(MPI_Comm comm, int keyval) {
    if (auto *const threads = threadcomm::find_if_any(comm)) [[unlikely]] {
        return threadcomm::delete_attribute(*threads, keyval);
    }
    return THENCE_NEXT(Attr_delete)(comm, keyval);
}

THENCE_NOT_ON_THREADCOMM(Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))

} // extern "C"
