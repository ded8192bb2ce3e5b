// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/multiplex.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace thence::streams {

namespace {

// The context of the n-th copy. Two communicators of a group would have the same once in 2^64 pairs; the second is
// refused then, in every process.
std::uint64_t context_of_copy(std::uint64_t original, std::uint64_t n) noexcept {
    std::uint64_t z = original * 0xd1342543de82ef95U + n * 0x9e3779b97f4a7c15U; // then the finish of splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

void count_communicator(const std::vector<context *> &streams, long by) noexcept {
    for (context *each : streams) {
        if (each != nullptr) {
            each->communicators.fetch_add(by);
        }
    }
}

bool is_needed(const multiplex &state) noexcept {
    for (std::size_t i = 0; i < state.owner.streams.size(); ++i) {
        if (state.endpoints[i].is_needed()) {
            return true;
        }
    }
    return false;
}

} // namespace

multiplex::multiplex(group &of_group, std::uint64_t new_context)
    : owner(of_group), context(new_context), endpoints(new messages::endpoint[of_group.streams.size()]) {}

// Null if memory is exhausted. No state has the context.
multiplex *group::make_locked(std::uint64_t context) noexcept {
    try {
        auto made = std::make_unique<multiplex>(*this, context);
        return states_.emplace(context, std::move(made)).first->second.get();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

multiplex *group::add_locked(std::uint64_t context) noexcept {
    multiplex *added = nullptr;
    if (const auto at = states_.find(context); at == states_.end()) {
        added = make_locked(context);
    } else if (at->second->early) {
        added = at->second.get();
        added->early = false;
    }
    if (added != nullptr) {
        count_communicator(streams, 1);
    }
    return added;
}

multiplex *group::add(std::uint64_t context) noexcept {
    const std::scoped_lock guard(lock_);
    return add_locked(context);
}

multiplex *group::copy(multiplex &from) noexcept {
    const std::scoped_lock guard(lock_);
    return add_locked(context_of_copy(from.context, ++from.copies));
}

void group::mark_freed(multiplex &state) noexcept {
    const std::scoped_lock guard(lock_);
    state.freed = true;
    count_communicator(streams, -1);
}

void group::mark_all_freed() noexcept {
    const std::scoped_lock guard(lock_);
    for (auto &[context, state] : states_) {
        if (!state->freed && !state->early) {
            count_communicator(streams, -1);
        }
        state->freed = true;
    }
}

messages::endpoint *group::find(std::uint64_t context, int index) noexcept {
    const std::scoped_lock guard(lock_);
    if (index < 0 || static_cast<std::size_t>(index) >= streams.size()) {
        return nullptr;
    }
    const auto at = states_.find(context);
    multiplex *state = at != states_.end() ? at->second.get() : nullptr;
    if (state == nullptr) {
        state = make_locked(context);
        if (state == nullptr) {
            return nullptr;
        }
        state->early = true;
    }
    return state->unreachable ? nullptr : &state->endpoints[static_cast<std::size_t>(index)];
}

bool group::is_empty() noexcept {
    const std::scoped_lock guard(lock_);
    return std::ranges::all_of(states_, [](const auto &each) { return each.second->early; });
}

// A poll of the transport may have found an endpoint just before it became unreachable.
void group::destroy_unneeded() noexcept {
    bool some = false;
    {
        const std::scoped_lock guard(lock_);
        for (auto &[context, state] : states_) {
            state->unreachable = state->unreachable || (state->freed && !is_needed(*state));
            some = some || state->unreachable;
        }
    }
    if (!some || (between && !between->no_poll_is_under_way())) {
        return;
    }
    decltype(states_)::node_type gone; // destroyed without the lock: an endpoint takes another one then
    do {
        gone = {};
        const std::scoped_lock guard(lock_);
        for (auto at = states_.begin(); at != states_.end(); ++at) {
            if (at->second->unreachable) {
                gone = states_.extract(at);
                break;
            }
        }
    } while (!gone.empty());
}

bool group::try_end() noexcept {
    destroy_unneeded();
    return is_empty() && (!between || (!between->any_under_way() && between->try_end()));
}

} // namespace thence::streams
