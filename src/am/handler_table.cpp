// SPDX-License-Identifier: BSD-3-Clause
#include "am/handler_table.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace thence::am {

handler_table::~handler_table() {
    for (entry &each : all_) {
        while (held_message *const held = each.waiting.pop()) {
            delete held;
        }
    }
}

handler_table::outcome handler_table::hold(const thence_am_message &m, kept_credit *&credit) noexcept {
    std::unique_ptr<held_message> kept;
    try {
        kept = std::make_unique<held_message>(nullptr, nullptr, m, std::vector<std::uint64_t>((m.bytes + 7) / 8));
    } catch (const std::exception &) {
        return outcome::no_memory;
    }
    if (m.bytes != 0) {
        std::memcpy(kept->payload.data(), m.payload, m.bytes);
    }
    kept->message.payload = kept->payload.data();
    entry &e = all_[static_cast<std::size_t>(m.number)];
    const std::scoped_lock guard(lock_);
    const bool has_handler = e.is_registered.load(std::memory_order_relaxed);
    if (has_handler || !releases_credits_) {
        kept->credit = std::exchange(credit, nullptr);
    } else if (has_room(*kept)) {
        kept->is_free_of_credit = true;
        without_credit_ += kept->bytes();
    } else {
        return outcome::too_many;
    }
    kept->phase = phase_;
    if (has_handler) {
        ready_count_.fetch_add(1, std::memory_order_release);
        if (e.count == 0) {
            ready_.push_back(m.number);
        }
    }
    e.waiting.add(*kept.release());
    ++e.count;
    held_count_.fetch_add(1, std::memory_order_release);
    return has_handler ? outcome::has_handler : outcome::waits;
}

void handler_table::taken(held_message &from_entry, entry &e) noexcept {
    --e.count;
    held_count_.fetch_sub(1, std::memory_order_release);
    if (from_entry.is_free_of_credit) {
        without_credit_ -= from_entry.bytes();
    }
}

held_message *handler_table::take() noexcept {
    const std::scoped_lock guard(lock_);
    if (ready_.empty()) {
        return nullptr;
    }
    entry &from = all_[static_cast<std::size_t>(ready_.back())];
    held_message *const first = from.waiting.pop();
    taken(*first, from);
    ready_count_.fetch_sub(1, std::memory_order_release);
    if (from.count == 0) {
        ready_.pop_back();
    }
    return first;
}

held_message *handler_table::release_credits(std::size_t most_bytes,
                                             base::linked_list<held_message> &too_many) noexcept {
    held_message *with_credit = nullptr;
    const std::scoped_lock guard(lock_);
    if (std::exchange(releases_credits_, true)) {
        return nullptr;
    }
    most_without_credit_ = most_bytes;
    if (held_count_.load(std::memory_order_relaxed) == ready_count_.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    for (entry &each : all_) {
        if (each.is_registered.load(std::memory_order_relaxed)) {
            continue;
        }
        for (std::size_t left = each.count; left != 0; --left) { // each is taken, and added again behind the others
            held_message &m = *each.waiting.pop();
            if (!m.is_free_of_credit && !has_room(m)) {
                taken(m, each);
                too_many.add(m);
                continue;
            }
            each.waiting.add(m);
            if (!std::exchange(m.is_free_of_credit, true)) {
                without_credit_ += m.bytes();
                m.next_with_credit = std::exchange(with_credit, &m);
            }
        }
    }
    return with_credit;
}

void handler_table::keep_credits() noexcept {
    const std::scoped_lock guard(lock_);
    releases_credits_ = false;
}

void handler_table::begin_phase() noexcept {
    const std::scoped_lock guard(lock_);
    ++phase_;
}

held_message *handler_table::take_old() noexcept {
    const std::scoped_lock guard(lock_);
    if (held_count_.load(std::memory_order_relaxed) == ready_count_.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    const auto found = std::ranges::find_if(all_, [this](const entry &each) {
        return !each.waiting.empty() && !each.is_registered.load(std::memory_order_relaxed) &&
               each.waiting.first()->phase != phase_;
    });
    if (found == all_.end()) {
        return nullptr;
    }
    held_message *const oldest = found->waiting.pop();
    taken(*oldest, *found);
    return oldest;
}

} // namespace thence::am
