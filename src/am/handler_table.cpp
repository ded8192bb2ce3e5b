// SPDX-License-Identifier: BSD-3-Clause
#include "am/handler_table.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>

namespace thence::am {

handler_table::~handler_table() {
    for (entry &each : all_) {
        while (held_message *const held = each.waiting.pop()) {
            delete held;
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
    if (e.waiting.empty() && e.is_registered.load(std::memory_order_relaxed)) {
        ready_.push_back(m.number);
    }
    e.waiting.add(*added);
    held_count_.fetch_add(1, std::memory_order_release);
    return true;
}

held_message *handler_table::take(bool any) noexcept {
    const std::scoped_lock guard(lock_);
    held_message *taken = nullptr;
    if (!ready_.empty()) {
        entry &from = all_[static_cast<std::size_t>(ready_.back())];
        taken = from.waiting.pop();
        if (from.waiting.empty()) {
            ready_.pop_back();
        }
    } else if (any) {
        const auto found = std::ranges::find_if(all_, [](const entry &each) { return !each.waiting.empty(); });
        taken = found != all_.end() ? found->waiting.pop() : nullptr;
    }
    if (taken != nullptr) {
        held_count_.fetch_sub(1, std::memory_order_release);
    }
    return taken;
}

} // namespace thence::am
