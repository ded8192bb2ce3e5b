// SPDX-License-Identifier: BSD-3-Clause
#include "threadcomm/region.hpp"

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "endpoint/waiting.hpp"

#include <algorithm>
#include <cstdio>

namespace thence::threadcomm {

void region::assign() {
    const auto count = static_cast<std::size_t>(threads_);
    std::vector<arrival *> owner(count, nullptr);
    for (arrival *each : arrivals_) {
        if (each->wanted < 0) {
            continue;
        }
        arrival *&at = owner[static_cast<std::size_t>(each->wanted)];
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
        if (to.index < 0 && index >= 0 && index < threads_ && owner[static_cast<std::size_t>(index)] == nullptr) {
            owner[static_cast<std::size_t>(index)] = &to;
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
    std::vector<bool> suggested(count, false);
    const bool all_differ = std::ranges::all_of(arrivals_, [&](const arrival *each) {
        if (each->suggested < 0 || each->suggested >= threads_) {
            return false;
        }
        const auto at = static_cast<std::size_t>(each->suggested);
        const bool is_new = !suggested[at];
        suggested[at] = true;
        return is_new;
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

void region::tell_all() noexcept {
    std::vector<arrival *> told;
    told.swap(arrivals_); // an arrival is gone once it is told
    arrived_.store(0, std::memory_order_relaxed);
    for (arrival *each : told) {
        each->told.store(true, std::memory_order_release);
    }
}

region::answer region::start(const char *call, std::uint64_t thread, int wanted, int suggested, int &index) {
    if (wanted < -1 || wanted >= threads_) {
        return answer::index_out_of_range;
    }
    arrival mine;
    mine.thread = thread;
    mine.wanted = wanted;
    mine.suggested = suggested;
    {
        const std::scoped_lock guard(mutex_);
        const state now = state_.load(std::memory_order_relaxed);
        if (now == state::active || now == state::finishing || threads_ == 0) {
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

void region::finish(const char *call) {
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
void region::wait_for(const char *call, const arrival &mine) const {
    endpoint::waiting wait;
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
