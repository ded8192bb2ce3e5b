// SPDX-License-Identifier: BSD-3-Clause
// Calls that ask a communicator, which are interposed only because it may be a thread communicator. (Those that make
// and free communicators are in communicators.cpp.)
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_threadcomm.hpp"

#include "mpix/threadcomm/attributes.hpp"

#include <thence/thence.h>

namespace threadcomm = thence::threadcomm;

extern "C" {

THENCE_ON_THREADCOMM(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank),
                     threadcomm::rank("MPI_Comm_rank", *threads, rank))
THENCE_ON_THREADCOMM(Comm_size, (MPI_Comm comm, int *size), (comm, size),
                     threadcomm::size("MPI_Comm_size", *threads, size))

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

#define ATTRIBUTES(set, get, remove)                                                                                   \
    THENCE_ON_THREADCOMM(set, (MPI_Comm comm, int keyval, void *value), (comm, keyval, value),                         \
                         threadcomm::set_attribute(*threads, keyval, value))                                           \
    THENCE_ON_THREADCOMM(get, (MPI_Comm comm, int keyval, void *value, int *flag), (comm, keyval, value, flag),        \
                         threadcomm::get_attribute(*threads, keyval, value, flag))                                     \
    THENCE_ON_THREADCOMM(remove, (MPI_Comm comm, int keyval), (comm, keyval),                                          \
                         threadcomm::delete_attribute(*threads, keyval))
ATTRIBUTES(Comm_set_attr, Comm_get_attr, Comm_delete_attr)
// The deprecated names of these three.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ATTRIBUTES(Attr_put, Attr_get, Attr_delete)

THENCE_NOT_ON_THREADCOMM(Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))

} // extern "C"
