// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/blocked_calls.hpp"

#include "core/base/clock.hpp"
#include "core/base/per_thread.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

namespace thence::diagnose {

namespace {

constexpr std::size_t most_shown = 20;

std::mutex mutex; // guards what follows
std::deque<call_slot> &all_slots() {
    static auto &made = *new std::deque<call_slot>; // used until the process ends
    return made;
}
std::vector<call_slot *> &free_slots() {
    static auto &made = *new std::vector<call_slot *>;
    return made;
}

// That of a thread, which the next one gets.
struct own_slot {
    call_slot *slot = nullptr;

    call_slot *get() noexcept {
        if (slot == nullptr) {
            const std::scoped_lock guard(mutex);
            try {
                free_slots().reserve(all_slots().size() + 1);
                if (free_slots().empty()) {
                    slot = &all_slots().emplace_back();
                } else {
                    slot = free_slots().back();
                    free_slots().pop_back();
                }
            } catch (const std::bad_alloc &) { // its calls are not listed
            }
        }
        return slot;
    }
    ~own_slot() {
        if (slot != nullptr) {
            const std::scoped_lock guard(mutex);
            free_slots().push_back(slot); // there is room
        }
    }
};

struct found_call {
    described_call call;
    std::int64_t since;
    std::uint64_t name; // of this call among all
};

std::vector<found_call> find_calls() {
    std::vector<found_call> found;
    const std::scoped_lock guard(mutex);
    std::uint64_t number = 0;
    for (const call_slot &each : all_slots()) {
        constexpr unsigned bits_of_number = 20;
        found_call one{};
        const std::uint64_t version = each.read(one.call, one.since);
        one.name = (version << bits_of_number) | number++;
        if (version != 0) {
            found.push_back(one);
        }
    }
    std::sort(found.begin(), found.end(), [](const found_call &a, const found_call &b) { return a.since < b.since; });
    return found;
}

std::string describe(const found_call &found, std::int64_t now) {
    return "  " + std::string(found.call.name) + partner_of(found.call) + communicator_of(found.call) + ", for " +
           seconds(static_cast<std::uint64_t>(now - found.since)) + ", called at " +
           location_of_call(found.call.where) + "\n";
}

} // namespace

std::string partner_of(const described_call &call) {
    using about = described_call::about;
    switch (call.what) {
    case about::sends_to:
        return " to rank " + std::to_string(call.number) + ", tag " + std::to_string(call.tag);
    case about::receives_from:
        return (call.number == MPI_ANY_SOURCE ? " from any rank" : " from rank " + std::to_string(call.number)) +
               (call.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + std::to_string(call.tag));
    case about::requests:
        return " for " + std::to_string(call.number) + (call.number == 1 ? " request" : " requests");
    default:
        return "";
    }
}

std::string communicator_of(const described_call &call) {
    return call.comm == MPI_COMM_NULL    ? ""
           : call.comm == MPI_COMM_WORLD ? ", on MPI_COMM_WORLD"
           : call.comm == MPI_COMM_SELF  ? ", on MPI_COMM_SELF"
                                         : ", on another communicator than MPI_COMM_WORLD";
}

bool call_slot::begin(const described_call &call) noexcept {
    const std::uint64_t before = version_.load(std::memory_order_relaxed);
    if (before % 2 != 0) {
        return false;
    }
    // A reader that sees what follows sees that the last call has ended.
    std::atomic_thread_fence(std::memory_order_release);
    std::array<std::uint64_t, words> copied{};
    std::memcpy(copied.data(), &call, sizeof call);
    for (std::size_t i = 0; i < words; ++i) {
        call_[i].store(copied[i], std::memory_order_relaxed);
    }
    since_.store(base::read_clock(), std::memory_order_relaxed);
    version_.store(before + 1, std::memory_order_release);
    return true;
}

std::uint64_t call_slot::read(described_call &call, std::int64_t &since) const noexcept {
    const std::uint64_t before = version_.load(std::memory_order_acquire);
    std::array<std::uint64_t, words> copied{};
    for (std::size_t i = 0; i < words; ++i) {
        copied[i] = call_[i].load(std::memory_order_relaxed);
    }
    const std::int64_t begun = since_.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 || version_.load(std::memory_order_relaxed) != before) {
        return 0;
    }
    std::memcpy(static_cast<void *>(&call), copied.data(), sizeof call);
    since = begun;
    return before;
}

call_slot *list_call(const described_call &call) noexcept {
    own_slot *const own = base::rare_per_thread<own_slot>::get();
    call_slot *const slot = own != nullptr ? own->get() : nullptr;
    return slot != nullptr && slot->begin(call) ? slot : nullptr;
}

blocked_calls find_blocked_calls(bool with_text) {
    const std::vector<found_call> found = find_calls();
    blocked_calls all;
    all.count = static_cast<long>(found.size());
    all.oldest = found.empty() ? 0 : found.front().name;
    const std::int64_t now = base::read_clock();
    for (std::size_t i = 0; with_text && i < std::min(found.size(), most_shown); ++i) {
        all.text += describe(found[i], now);
    }
    if (with_text && found.size() > most_shown) {
        all.text += "  and " + std::to_string(found.size() - most_shown) + " other calls\n";
    }
    return all;
}

} // namespace thence::diagnose
