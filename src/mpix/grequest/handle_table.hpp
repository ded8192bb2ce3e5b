// SPDX-License-Identifier: BSD-3-Clause
// Finds the generalized request of a handle. Open addressing with linear search; an entry that is removed is replaced
// by a later one of the same run, so no search passes over what is gone.
//
// Invariant: at most half of the slots are used. Each object has the index of its slot. The caller holds the lock of
// the room.
#pragma once

#include "core/mpi/handles.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace thence::grequest {

template <class Object> class handle_table {
public:
    // Makes room for this many. Returns false if memory is exhausted.
    bool make_room(std::size_t most) noexcept {
        while (slots_.size() < 2 * most) {
            if (!grow()) {
                return false;
            }
        }
        return true;
    }
    // There is room for it.
    void insert(MPI_Request handle, Object *object) noexcept { put(slots_.data(), mask_, {handle, object}); }
    Object *find(MPI_Request handle) const noexcept {
        if (mask_ == 0) {
            return nullptr;
        }
        for (std::size_t i = home(handle, mask_);; i = next(i)) {
            if (slots_[i].object == nullptr || slots_[i].handle == handle) {
                return slots_[i].object;
            }
        }
    }
    // Does nothing if the table was cleared.
    void erase(const Object &object) noexcept {
        std::size_t hole = object.slot;
        if (slots_[hole].object != &object) {
            return;
        }
        for (std::size_t i = next(hole); slots_[i].object != nullptr; i = next(i)) {
            const std::size_t distance = (i - home(slots_[i].handle, mask_)) & mask_;
            if (distance >= ((i - hole) & mask_)) { // it may stand in the hole
                slots_[hole] = slots_[i];
                slots_[hole].object->slot = static_cast<std::uint32_t>(hole);
                hole = i;
            }
        }
        slots_[hole].object = nullptr;
    }
    template <class Visit> void for_each(Visit &&visit) const noexcept {
        for (const slot &each : slots_) {
            if (each.object != nullptr) {
                visit(*each.object);
            }
        }
    }
    void clear() noexcept {
        for (slot &each : slots_) {
            each.object = nullptr;
        }
    }

private:
    struct slot {
        MPI_Request handle{};
        Object *object = nullptr;
    };

    std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask_; }
    static std::size_t home(MPI_Request handle, std::size_t mask) noexcept {
        const std::uint64_t product = std::uint64_t{mpi::bits(handle)} * 0x9e3779b97f4a7c15U;
        return static_cast<std::size_t>(product >> 32) & mask;
    }
    static void put(slot in[], std::size_t mask, const slot &added) noexcept {
        std::size_t i = home(added.handle, mask);
        while (in[i].object != nullptr) {
            i = (i + 1) & mask;
        }
        in[i] = added;
        added.object->slot = static_cast<std::uint32_t>(i);
    }
    bool grow() noexcept {
        try {
            std::vector<slot> larger(slots_.empty() ? 64 : 2 * slots_.size());
            for (const slot &each : slots_) {
                if (each.object != nullptr) {
                    put(larger.data(), larger.size() - 1, each);
                }
            }
            slots_ = std::move(larger);
            mask_ = slots_.size() - 1;
            return true;
        } catch (const std::exception &) {
            return false;
        }
    }

    std::vector<slot> slots_; // a power of two, or none
    std::size_t mask_ = 0;
};

} // namespace thence::grequest
