// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Storage for an object that is rarely needed.

#include <thence/detail/cxx20.hpp>

#include <new>

namespace thence::detail {

/** The code that calls make() must call destroy(). So the destructor of the enclosing class does nothing for it. */
template <class T> class rare_storage {
public:
    // The member of the union is neither constructed nor destroyed here. A defaulted function would be deleted.
    rare_storage() noexcept {} // NOLINT(modernize-use-equals-default)
    ~rare_storage() {}         // NOLINT(modernize-use-equals-default)
    template <class... As> T &make(As &&...as) noexcept {
        made_ = true;
        return *::new (static_cast<void *>(&value_)) T(static_cast<As &&>(as)...);
    }
    void destroy() noexcept {
        made_ = false;
        value_.~T();
    }
    bool made() const noexcept { return made_; }
    T &operator*() noexcept { return value_; }
    T *operator->() noexcept { return &value_; }

private:
    bool made_ = false;
    union {
        T value_;
    };
};

} // namespace thence::detail
