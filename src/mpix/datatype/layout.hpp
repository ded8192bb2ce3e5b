// SPDX-License-Identifier: BSD-3-Clause
// The layout of a datatype: its tree and its extent. It is read from MPI once, when it is first asked for, and kept as
// an attribute of the datatype; MPI deletes it with the datatype, and a duplicate shares it. Those of predefined
// datatypes are kept for the life of the process.
//
// Invariant: a layout is immutable. It lives as long as anything refers to it, and the attribute is one reference. So
// it is valid without a reference of one's own as long as the datatype is.
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/extension.hpp"
#include "mpix/datatype/walk.hpp"

#include <mpi.h>

#include <atomic>
#include <utility>

namespace thence::datatype {

struct layout {
    tree root;
    number extent;
    mutable std::atomic<long> references{1};

    sequence at(const void *address, number times) const noexcept {
        return {root.get(), times, extent, static_cast<number>(reinterpret_cast<std::uintptr_t>(address))};
    }
    void acquire() const noexcept { references.fetch_add(1, std::memory_order_relaxed); }
    void release() const noexcept {
        if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete this;
        }
    }
};

// A layout that stays while this object does, also when the datatype is freed.
class kept_layout {
public:
    kept_layout() noexcept = default;
    explicit kept_layout(const layout &kept) noexcept : layout_(&kept) { kept.acquire(); }
    kept_layout(kept_layout &&other) noexcept : layout_(std::exchange(other.layout_, nullptr)) {}
    kept_layout &operator=(kept_layout &&other) noexcept {
        std::swap(layout_, other.layout_);
        return *this;
    }
    ~kept_layout() {
        if (layout_ != nullptr) {
            layout_->release();
        }
    }
    const layout *get() const noexcept { return layout_; }

private:
    const layout *layout_ = nullptr;
};

enum class found {
    yes,
    mpi_inactive,
    library_has_ended, // MPI_Finalize has come to its end
    null_datatype,
    unknown_combiner, // a constructor that no standard up to MPI 5.0 has
    too_large,        // the datatype has 2^63 bytes or more
    too_deep,
    no_memory,
    mpi_error // MPI has called the error handler
};

struct lookup {
    found how = found::yes;
    const layout *what = nullptr; // null unless found. Valid as long as the datatype is.
    int code = MPI_SUCCESS;       // of mpi_error
    int combiner = 0;             // of unknown_combiner
};

// Any thread. The datatype need not be committed.
lookup layout_of(MPI_Datatype type) noexcept;

// Whose the segments of datatypes are in this process.
mpi::extension_facts extension() noexcept;

} // namespace thence::datatype
