// SPDX-License-Identifier: BSD-3-Clause
#include "am/handler_table.hpp"

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace thence::am {

handler_table::~handler_table() {
    for (entry &each : all_) {
        while (each.first != nullptr) {
            delete std::exchange(each.first, each.first->next);
        }
    }
}

bool handler_table::hold(const thence_am_message &m, kept_credit *credit) noexcept {
    std::unique_ptr<held_message> kept;
    try {
        kept = std::make_unique<held_message>(nullptr, credit, m, std::vector<std::uint64_t>((m.bytes + 7) / 8));
    } catch (const std::exception &) {
        return false;
    }
    if (m.bytes != 0) {
        std::memcpy(kept->payload.data(), m.payload, m.bytes);
    }
    kept->message.payload = kept->payload.data();
    held_message *const added = kept.release();
    entry &e = all_[static_cast<std::size_t>(m.number)];
    const std::scoped_lock guard(lock_);
    if (e.first == nullptr && e.is_registered.load(std::memory_order_relaxed)) {
        ready_.push_back(m.number);
    }
    (e.first != nullptr ? e.last->next : e.first) = added;
    e.last = added;
    held_count_.fetch_add(1, std::memory_order_release);
    return true;
}

held_message *handler_table::take(bool any) noexcept {
    const std::scoped_lock guard(lock_);
    entry *from = nullptr;
    if (!ready_.empty()) {
        from = &all_[static_cast<std::size_t>(ready_.back())];
        if (from->first->next == nullptr) {
            ready_.pop_back();
        }
    } else if (any) {
        for (entry &each : all_) {
            if (each.first != nullptr) {
                from = &each;
                break;
            }
        }
    }
    if (from == nullptr) {
        return nullptr;
    }
    held_count_.fetch_sub(1, std::memory_order_release);
    return std::exchange(from->first, from->first->next);
}

} // namespace thence::am
