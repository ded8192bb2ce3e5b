// SPDX-License-Identifier: BSD-3-Clause
// Finds the generalized request of a handle: lists by hash, linked through the objects. The caller holds the lock of
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
        try {
            std::size_t size = 64;
            while (size < 2 * most) {
                size *= 2;
            }
            if (size > lists_.size()) {
                for (Object *rest : std::exchange(lists_, std::vector<Object *>(size))) {
                    while (rest != nullptr) {
                        insert(*std::exchange(rest, rest->next_of_hash));
                    }
                }
            }
            return true;
        } catch (const std::exception &) {
            return false;
        }
    }
    // There is room for it.
    void insert(Object &object) noexcept { object.next_of_hash = std::exchange(list_of(object.request), &object); }
    Object *find(MPI_Request handle) noexcept {
        Object *found = lists_.empty() ? nullptr : list_of(handle);
        while (found != nullptr && found->request != handle) {
            found = found->next_of_hash;
        }
        return found;
    }
    // Does nothing if it is not there.
    void erase(const Object &object) noexcept {
        for (Object **link = &list_of(object.request); *link != nullptr; link = &(*link)->next_of_hash) {
            if (*link == &object) {
                *link = object.next_of_hash;
                return;
            }
        }
    }
    template <class Visit> void for_each(Visit &&visit) const noexcept {
        for (Object *each : lists_) {
            for (; each != nullptr; each = each->next_of_hash) {
                visit(*each);
            }
        }
    }
    template <class Predicate> void erase_if(Predicate &&predicate) noexcept {
        for (Object *&first : lists_) {
            for (Object **link = &first; *link != nullptr;) {
                Object &each = **link;
                if (predicate(each)) {
                    *link = each.next_of_hash;
                } else {
                    link = &each.next_of_hash;
                }
            }
        }
    }

private:
    Object *&list_of(MPI_Request handle) noexcept {
        const std::uint64_t product = std::uint64_t{mpi::bits(handle)} * 0x9e3779b97f4a7c15U;
        return lists_[static_cast<std::size_t>(product >> 32) & (lists_.size() - 1)];
    }

    std::vector<Object *> lists_; // a power of two, or none
};

} // namespace thence::grequest
