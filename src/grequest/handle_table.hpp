// SPDX-License-Identifier: BSD-3-Clause
// Finds the generalized request of a handle. Open addressing with linear search; an entry that is removed is replaced by
// a later one of the same run, so no search passes over what is gone.
//
// Invariant: at most half of the slots are used. The caller holds the lock of the room.
#pragma once

#include "mpi/handles.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace thence::grequest {

template <class Object> class handle_table {
public:
    // Makes room for one more than there are and than were reserved before. Returns false if memory is exhausted. The
    // next insert() or unreserve() uses it up.
    bool reserve() noexcept {
        if (2 * (used_ + reserved_ + 1) > slots_.size() && !grow()) {
            return false;
        }
        ++reserved_;
        return true;
    }
    void unreserve() noexcept { --reserved_; }

    void insert(MPI_Request handle, Object *object) noexcept {
        --reserved_;
        ++used_;
        put(slots_, {handle, object});
    }
    Object *find(MPI_Request handle) const noexcept {
        if (used_ == 0) {
            return nullptr;
        }
        for (std::size_t i = home(slots_, handle);; i = next(i)) {
            if (slots_[i].object == nullptr || slots_[i].handle == handle) {
                return slots_[i].object;
            }
        }
    }
    void erase(MPI_Request handle) noexcept {
        if (used_ == 0) {
            return;
        }
        std::size_t hole = home(slots_, handle);
        for (; slots_[hole].object == nullptr || slots_[hole].handle != handle; hole = next(hole)) {
            if (slots_[hole].object == nullptr) {
                return;
            }
        }
        --used_;
        for (std::size_t i = next(hole); slots_[i].object != nullptr; i = next(i)) {
            const std::size_t distance = (i - home(slots_, slots_[i].handle)) & mask();
            if (distance >= ((i - hole) & mask())) { // it may stand in the hole
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole].object = nullptr;
    }
    void clear() noexcept {
        for (slot &each : slots_) {
            each.object = nullptr;
        }
        used_ = 0;
    }

private:
    struct slot {
        MPI_Request handle{};
        Object *object = nullptr;
    };

    std::size_t mask() const noexcept { return slots_.size() - 1; }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask(); }
    static std::size_t home(const std::vector<slot> &in, MPI_Request handle) noexcept {
        const std::uint64_t product = std::uint64_t{mpi::bits(handle)} * 0x9e3779b97f4a7c15U;
        return static_cast<std::size_t>(product >> 32) & (in.size() - 1);
    }
    static void put(std::vector<slot> &in, const slot &added) noexcept {
        std::size_t i = home(in, added.handle);
        while (in[i].object != nullptr) {
            i = (i + 1) & (in.size() - 1);
        }
        in[i] = added;
    }
    bool grow() noexcept {
        try {
            std::vector<slot> larger(slots_.empty() ? 64 : 2 * slots_.size());
            for (const slot &each : slots_) {
                if (each.object != nullptr) {
                    put(larger, each);
                }
            }
            slots_ = std::move(larger);
            return true;
        } catch (const std::exception &) {
            return false;
        }
    }

    std::vector<slot> slots_; // a power of two, or none
    std::size_t used_ = 0;
    std::size_t reserved_ = 0;
};

} // namespace thence::grequest
