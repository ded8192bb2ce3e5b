// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/activation.hpp"

#include "core/base/clock.hpp"
#include "core/base/settings.hpp"
#include "mpix/messages/waiting.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace thence::threadcomm {

activation::activation(int threads)
    : threads_(threads), last_thread_of_(static_cast<std::size_t>(threads), 0),
      owner_(static_cast<std::size_t>(threads), nullptr), suggested_(static_cast<std::size_t>(threads), 0) {
    arrivals_.reserve(static_cast<std::size_t>(threads));
}

void activation::assign() noexcept {
    const auto count = static_cast<std::size_t>(threads_);
    std::ranges::fill(owner_, nullptr);
    for (arrival *each : arrivals_) {
        if (each->wanted < 0) {
            continue;
        }
        arrival *&at = owner_[static_cast<std::size_t>(each->wanted)];
        if (at != nullptr) {
            for (arrival *all : arrivals_) {
                all->result = answer::index_twice;
            }
            return;
        }
        at = each;
        each->index = each->wanted;
    }
    const auto give = [&](arrival &to, int index) {
        if (to.index < 0 && index >= 0 && index < threads_ && owner_[static_cast<std::size_t>(index)] == nullptr) {
            owner_[static_cast<std::size_t>(index)] = &to;
            to.index = index;
        }
    };
    for (std::size_t i = 0; i < count; ++i) {
        for (arrival *each : arrivals_) {
            if (last_thread_of_[i] == each->thread) {
                give(*each, static_cast<int>(i));
            }
        }
    }
    std::ranges::fill(suggested_, 0);
    const bool all_differ = std::ranges::all_of(arrivals_, [&](const arrival *each) {
        if (each->suggested < 0 || each->suggested >= threads_) {
            return false;
        }
        const auto at = static_cast<std::size_t>(each->suggested);
        return std::exchange(suggested_[at], 1) == 0;
    });
    for (arrival *each : arrivals_) {
        if (all_differ) {
            give(*each, each->suggested);
        }
    }
    int next = 0;
    for (arrival *each : arrivals_) {
        while (each->index < 0) {
            give(*each, next++);
        }
    }
    for (const arrival *each : arrivals_) {
        last_thread_of_[static_cast<std::size_t>(each->index)] = each->thread;
    }
}

void activation::tell_all() noexcept {
    arrived_.store(0, std::memory_order_relaxed);
    for (arrival *each : arrivals_) { // an arrival is gone once it is told
        each->told.store(true, std::memory_order_release);
    }
    arrivals_.clear(); // a thread that was told and arrives again needs the mutex
}

activation::answer activation::start(const char *call, std::uint64_t thread, int wanted, int suggested,
                                     int &index) noexcept {
    if (wanted < -1 || wanted >= threads_) {
        return answer::index_out_of_range;
    }
    arrival mine;
    mine.thread = thread;
    mine.wanted = wanted;
    mine.suggested = suggested;
    {
        const std::scoped_lock guard(mutex_);
        const state current = state_.load(std::memory_order_relaxed);
        if (current == state::active || current == state::finishing || threads_ == 0) {
            return answer::too_many;
        }
        arrivals_.push_back(&mine);
        arrived_.store(static_cast<int>(arrivals_.size()), std::memory_order_relaxed);
        state_.store(state::gathering, std::memory_order_release);
        if (arrivals_.size() == static_cast<std::size_t>(threads_)) {
            assign();
            const bool good = mine.result == answer::done;
            state_.store(good ? state::active : state::idle, std::memory_order_release);
            tell_all();
        }
    }
    wait_for(call, mine);
    index = mine.index;
    return mine.result;
}

void activation::finish(const char *call) noexcept {
    arrival mine;
    {
        const std::scoped_lock guard(mutex_);
        arrivals_.push_back(&mine);
        arrived_.store(static_cast<int>(arrivals_.size()), std::memory_order_relaxed);
        state_.store(state::finishing, std::memory_order_release);
        if (arrivals_.size() == static_cast<std::size_t>(threads_)) {
            state_.store(state::idle, std::memory_order_release);
            tell_all();
        }
    }
    wait_for(call, mine);
}

// Says once, after THENCE_STALL, how many threads are missing.
void activation::wait_for(const char *call, const arrival &mine) const noexcept {
    messages::waiting wait;
    const auto limit = base::current_settings().stall.count();
    const std::uint32_t since = base::coarse_milliseconds();
    for (bool said = limit == 0; !mine.told.load(std::memory_order_acquire); wait()) {
        if (!said && base::coarse_milliseconds() - since >= static_cast<std::uint64_t>(limit)) {
            said = true;
            std::fprintf(
                stderr,
                "thence: %s: %d of %d threads have called it, and one of them waits for the others since %ld ms\n",
                call, arrived_.load(std::memory_order_relaxed), threads_, static_cast<long>(limit));
        }
    }
}

} // namespace thence::threadcomm
