// SPDX-License-Identifier: BSD-3-Clause
// Objects of one type that are used again. Their memory is never freed, so a late call of MPI with the address of one
// that was given back finds an object. The caller holds the lock of the room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

namespace thence::grequest {

template <class T> class free_list {
public:
    // Null if memory is exhausted. `make_room(n)`: makes room in the lists for n objects in all, so that no later call
    // fails for lack of it.
    template <class MakeRoom> T *take(MakeRoom &&make_room) noexcept {
        if (first_ == nullptr && !more(make_room)) [[unlikely]] {
            return nullptr;
        }
        T *const taken = first_;
        first_ = taken->next_free;
        return taken;
    }
    void give(T &object) noexcept {
        object.next_free = first_;
        first_ = &object;
    }

private:
    template <class MakeRoom> [[gnu::noinline]] bool more(MakeRoom &&make_room) noexcept {
        const std::size_t batch = std::max<std::size_t>(64, count_); // twice as many as before
        T *const objects = make_room(count_ + batch) ? new (std::nothrow) T[batch] : nullptr;
        for (std::size_t i = 0; objects != nullptr && i < batch; ++i) {
            give(objects[i]);
        }
        count_ += objects != nullptr ? batch : 0;
        return objects != nullptr;
    }

    T *first_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace thence::grequest
