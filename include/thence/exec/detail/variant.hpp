// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Storage for one object of several types, or none: results before they are delivered, and operation states of which
// one follows the other. Unlike std::variant it can be empty, and constructs immovable objects in place.

#include <cstddef>
#include <new>

#include <thence/exec/detail/meta.hpp>

namespace thence::exec::detail {

/** `Ts` are distinct. The object that is inside, if any, is destroyed with the variant. */
template <class... Ts> class variant : immovable {
public:
    variant() = default;
    ~variant() { reset(); }

    bool empty() const noexcept { return index_ == none; }
    template <class T> bool holds() const noexcept { return index_ == index_of<T, Ts...>(); }

    template <class T, class... As> T &emplace(As &&...as) noexcept(std::is_nothrow_constructible_v<T, As...>) {
        reset();
        T *made = ::new (static_cast<void *>(bytes_)) T(static_cast<As &&>(as)...);
        index_ = index_of<T, Ts...>();
        return *made;
    }
    /** Constructs a T from the prvalue that `fn()` returns: T need not be movable. */
    template <class T, class Fn> T &emplace_from(Fn &&fn) noexcept(std::is_nothrow_invocable_v<Fn>) {
        reset();
        T *made = ::new (static_cast<void *>(bytes_)) T(static_cast<Fn &&>(fn)());
        index_ = index_of<T, Ts...>();
        return *made;
    }
    template <class T> T &get() noexcept { return *std::launder(reinterpret_cast<T *>(bytes_)); }

    void reset() noexcept {
        if (index_ != none) {
            visit([]<class T>(T &object) noexcept { object.~T(); });
            index_ = none;
        }
    }
    /** Calls `fn` with the object inside. Does nothing if there is none. */
    template <class Fn> void visit(Fn &&fn) noexcept { (void)(visit_one<Ts>(fn) || ...); }

private:
    template <class T, class Fn> bool visit_one(Fn &fn) noexcept {
        if (index_ != index_of<T, Ts...>()) {
            return false;
        }
        fn(get<T>());
        return true;
    }
    static constexpr std::size_t largest() {
        std::size_t size = 1;
        ((size = sizeof(Ts) > size ? sizeof(Ts) : size), ...);
        return size;
    }
    static constexpr unsigned char none = 255;
    static_assert(sizeof...(Ts) < none);

    alignas(Ts...) unsigned char bytes_[largest()];
    unsigned char index_ = none;
};

} // namespace thence::exec::detail
