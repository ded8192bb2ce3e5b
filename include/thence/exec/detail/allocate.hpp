// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Objects on the heap, allocated with the allocator of an environment if it has one. Without <memory>.

#include <new>

#include <thence/exec/queries.hpp>

namespace thence::exec::detail {

/** The default allocator. */
struct heap {};

template <class Env> constexpr auto allocator_of(const Env &environment) noexcept {
    if constexpr (answers<Env, get_allocator_t>) {
        return exec::get_allocator(environment);
    } else {
        return heap();
    }
}

template <class T, class Allocator> struct rebound;
template <class T, class Allocator>
requires requires {
    typename Allocator::template rebind<T>::other;
}
struct rebound<T, Allocator> {
    using type = typename Allocator::template rebind<T>::other;
};
template <class T, template <class, class...> class Allocator, class U, class... As>
requires(!requires {
    typename Allocator<U, As...>::template rebind<T>::other;
}) struct rebound<T, Allocator<U, As...>> {
    using type = Allocator<T, As...>;
};

/** Constructs a T on the heap from the prvalue that `fn()` returns. */
template <class T, class Allocator, class Fn> T *allocate_from(const Allocator &allocator, Fn &&fn) {
    if constexpr (std::is_same_v<Allocator, heap>) {
        return new T(static_cast<Fn &&>(fn)());
    } else {
        typename rebound<T, Allocator>::type own(allocator);
        T *memory = own.allocate(1);
        try {
            return ::new (static_cast<void *>(memory)) T(static_cast<Fn &&>(fn)());
        } catch (...) {
            own.deallocate(memory, 1);
            throw;
        }
    }
}
template <class T, class Allocator> void deallocate(const Allocator &allocator, T *object) noexcept {
    if constexpr (std::is_same_v<Allocator, heap>) {
        delete object;
    } else {
        typename rebound<T, Allocator>::type own(allocator); // the object may hold `allocator`
        object->~T();
        own.deallocate(object, 1);
    }
}

} // namespace thence::exec::detail
