// SPDX-License-Identifier: BSD-3-Clause
#include "am/handler_table.hpp"

#include <exception>
#include <mutex>
#include <utility>

namespace thence::am {

bool handler_table::hold(const thence_am_message &m) noexcept {
    try {
        const auto *const begin = static_cast<const unsigned char *>(m.payload);
        held_message kept{m.source, m.number, {}, m.data, m.data_bytes};
        kept.payload.assign(begin, begin + m.bytes);
        const std::scoped_lock guard(lock_);
        held_.push_back(std::move(kept));
        held_count_.fetch_add(1, std::memory_order_release);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

bool handler_table::take(held_message &taken, bool any) noexcept {
    const std::scoped_lock guard(lock_);
    for (auto each = held_.begin(); each != held_.end(); ++each) {
        if (any || find(each->number) != nullptr) {
            taken = std::move(*each);
            held_.erase(each);
            held_count_.fetch_sub(1, std::memory_order_release);
            return true;
        }
    }
    return false;
}

} // namespace thence::am
