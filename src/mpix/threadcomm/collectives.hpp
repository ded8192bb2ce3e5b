// SPDX-License-Identifier: BSD-3-Clause
// Collectives on thread communicators, blocking and nonblocking, as MPI's calls of these names. They are made of
// messages on the collective channel (collective_channel.hpp). If all ranks are in one process, MPI_Barrier, and
// MPI_Bcast and MPI_Allreduce of small data, use shared memory (shared_memory_collectives.hpp). Each returns an MPI
// error code and has reported the error.
//
// Order: reductions combine in the order of the ranks, so operations need not be commutative.
#pragma once

#include "mpix/threadcomm/communicator.hpp"
#include "mpix/threadcomm/kept_operations.hpp"

#include <memory>
#include <vector>

namespace thence::threadcomm {

// One block of data per rank: all of one size, or with counts and displacements of type int or of the large types.
struct blocks {
    enum class kind { even, ints, large };

    void *base = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const MPI_Datatype *types = nullptr; // of the forms with a datatype per rank, whose displacements are in bytes
    kind counts_are = kind::even;
    MPI_Count each = 0;
    const void *counts = nullptr;
    const void *displacements = nullptr;

    MPI_Count count(int rank) const noexcept {
        return counts_are == kind::even   ? each
               : counts_are == kind::ints ? static_cast<const int *>(counts)[rank]
                                          : static_cast<const MPI_Count *>(counts)[rank];
    }
    MPI_Datatype type_of(int rank) const noexcept { return types != nullptr ? types[rank] : type; }
    // In extents, or, with a datatype per rank, in bytes.
    MPI_Aint displacement(int rank) const noexcept {
        return counts_are == kind::even   ? static_cast<MPI_Aint>(rank * each)
               : counts_are == kind::ints ? static_cast<const int *>(displacements)[rank]
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
    b.counts_are = sizeof(Count) == sizeof(int) ? blocks::kind::ints : blocks::kind::large;
    b.counts = counts;
    b.displacements = displacements;
    return b;
}

struct data_argument {
    void *base;
    MPI_Count count;
    MPI_Datatype type;
};

// `to`: null where the result is not wanted. `from` may be MPI_IN_PLACE.
struct reduction {
    const void *from;
    void *to;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Datatype given = type; // what the operation gets, which may compare it: the user's handle, if that stays valid
};

// A collective call. Of a nonblocking one it keeps the datatypes and the operation, which the user may free before the
// end.
class collective_call {
public:
    // `its_request`: where the request goes; null: the call blocks.
    collective_call(const char *call_name, communicator &on, MPI_Request *to_start) noexcept
        : name(call_name), comm(on), request(to_start) {}
    THENCE_INTERNAL ~collective_call();
    collective_call &operator=(collective_call &&) = delete;

    bool is_blocking() const noexcept { return request == nullptr; }
    bool lacks_memory() const noexcept { return no_memory_; }
    // Only of arguments that count on this rank: the others may be anything.
    void keep(MPI_Datatype &type) noexcept;
    void keep(blocks &data) noexcept;
    void keep(reduction &what) noexcept;

    const char *const name;
    communicator &comm;
    MPI_Request *const request;

private:
    friend class nonblocking;
    std::vector<MPI_Datatype> types_;
    std::unique_ptr<MPI_Datatype[]> lists_[2]; // of the forms with a datatype per rank
    kept_operation operation_;
    bool no_memory_ = false;
};

THENCE_INTERNAL int barrier(collective_call &call) noexcept;
THENCE_INTERNAL int broadcast(collective_call &call, data_argument data, int root) noexcept;
THENCE_INTERNAL int gather(collective_call &call, data_argument sent, blocks received, int root) noexcept;
THENCE_INTERNAL int scatter(collective_call &call, blocks sent, data_argument received, int root) noexcept;
THENCE_INTERNAL int all_gather(collective_call &call, data_argument sent, blocks received) noexcept;
THENCE_INTERNAL int all_to_all(collective_call &call, blocks sent, blocks received) noexcept;

inline constexpr int all_ranks = -1;
THENCE_INTERNAL int reduce(collective_call &call, reduction what, int root) noexcept;
// `parts`: the counts of the parts; base, datatypes and displacements are not used.
THENCE_INTERNAL int reduce_scatter(collective_call &call, reduction what, blocks counts) noexcept;
THENCE_INTERNAL int scan(collective_call &call, reduction what, bool exclusive) noexcept;

} // namespace thence::threadcomm
