// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on thread communicators, as MPI's calls of these names. They are made of messages on the internal
// channel (internal.hpp). If all ranks are in one process, MPI_Barrier, and MPI_Bcast and MPI_Allreduce of small data, go
// by direct reads (meeting.hpp, direct.hpp). Each returns an MPI error code and has reported the error. `call`: the name
// of the user's call.
//
// Order: reductions combine in the order of the ranks, so operations need not be commutative.
#pragma once

#include "threadcomm/communicator.hpp"

#include <cstddef>
#include <cstdint>

namespace thence::threadcomm {

// One block of data per rank: all of one size, or with counts and displacements of type int or of the large types.
struct blocks {
    enum class kind { even, ints, large };

    void *base = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const MPI_Datatype *types = nullptr; // of the forms with a datatype per rank, whose displacements are in bytes
    kind of = kind::even;
    MPI_Count each = 0;
    const void *counts = nullptr;
    const void *displacements = nullptr;

    MPI_Count count(int rank) const noexcept {
        return of == kind::even   ? each
               : of == kind::ints ? static_cast<const int *>(counts)[rank]
                                  : static_cast<const MPI_Count *>(counts)[rank];
    }
    MPI_Datatype type_of(int rank) const noexcept { return types != nullptr ? types[rank] : type; }
    // In extents, or, with a datatype per rank, in bytes.
    MPI_Aint displacement(int rank) const noexcept {
        return of == kind::even   ? static_cast<MPI_Aint>(rank * each)
               : of == kind::ints ? static_cast<const int *>(displacements)[rank]
                                  : static_cast<const MPI_Aint *>(displacements)[rank];
    }
};

inline blocks even_blocks(const void *base, MPI_Count each, MPI_Datatype type) noexcept {
    blocks b;
    b.base = const_cast<void *>(base);
    b.type = type;
    b.each = each;
    return b;
}
template <class Count, class Displacement>
blocks vector_blocks(const void *base, const Count *counts, const Displacement *displacements, MPI_Datatype type,
                     const MPI_Datatype *types = nullptr) noexcept {
    blocks b;
    b.base = const_cast<void *>(base);
    b.type = type;
    b.types = types;
    b.of = sizeof(Count) == sizeof(int) ? blocks::kind::ints : blocks::kind::large;
    b.counts = counts;
    b.displacements = displacements;
    return b;
}

struct data_argument {
    void *base;
    MPI_Count count;
    MPI_Datatype type;
};

THENCE_INTERNAL int barrier(const char *call, communicator &comm) noexcept;
THENCE_INTERNAL int broadcast(const char *call, communicator &comm, const data_argument &data, int root) noexcept;
THENCE_INTERNAL int gather(const char *call, communicator &comm, const data_argument &sent, const blocks &received,
                           int root) noexcept;
THENCE_INTERNAL int scatter(const char *call, communicator &comm, const blocks &sent, const data_argument &received,
                            int root) noexcept;
THENCE_INTERNAL int all_gather(const char *call, communicator &comm, const data_argument &sent,
                               const blocks &received) noexcept;
THENCE_INTERNAL int all_to_all(const char *call, communicator &comm, const blocks &sent,
                               const blocks &received) noexcept;

// `to`: null where the result is not wanted. `from` may be MPI_IN_PLACE.
struct reduction {
    const void *from;
    void *to;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
};
inline constexpr int all_ranks = -1;
THENCE_INTERNAL int reduce(const char *call, communicator &comm, const reduction &what, int root) noexcept;
// `parts`: the counts of the parts; base and displacements are not used.
THENCE_INTERNAL int reduce_scatter(const char *call, communicator &comm, const reduction &what,
                                   const blocks &parts) noexcept;
THENCE_INTERNAL int scan(const char *call, communicator &comm, const reduction &what, bool exclusive) noexcept;

} // namespace thence::threadcomm
