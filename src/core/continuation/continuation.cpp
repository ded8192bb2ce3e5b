// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/continuation.hpp"

#include <new>

namespace thence::continuation {

base::pool<continuation> continuations;
base::pool<group> groups;

bool group::reserve(int n) noexcept {
    if (n > capacity) {
        auto *more = new (std::nothrow) member[static_cast<std::size_t>(n)];
        if (more == nullptr) {
            return false;
        }
        delete[] members;
        members = more;
        capacity = n;
    }
    return true;
}

} // namespace thence::continuation
