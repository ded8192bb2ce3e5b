// SPDX-License-Identifier: BSD-3-Clause
// Objects of one type that are used again. Their memory is never freed, so a late call of MPI with the address of one
// that was given back finds an object. The caller holds the lock of the room.
#pragma once

#include <new>

namespace thence::grequest {

template <class T> class free_list {
public:
    // Null if memory is exhausted.
    T *take() noexcept {
        if (first_ == nullptr) {
            constexpr int together = 64;
            T *const more = new (std::nothrow) T[together];
            for (int i = 0; more != nullptr && i < together; ++i) {
                give(more[i]);
            }
        }
        T *const taken = first_;
        if (taken != nullptr) {
            first_ = taken->next_free;
        }
        return taken;
    }
    void give(T &object) noexcept {
        object.next_free = first_;
        first_ = &object;
    }

private:
    T *first_ = nullptr;
};

} // namespace thence::grequest
