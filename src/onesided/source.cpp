// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/source.hpp"

#include "core/base/clock.hpp"
#include "core/base/spin_lock.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"
#include "onesided/space.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <exception>
#include <mutex>
#include <vector>

namespace thence::onesided {

namespace {

base::spin_lock spaces_lock; // guards `spaces`; polls only try it
std::vector<space *> &spaces() noexcept {
    static auto *const all = new std::vector<space *>;
    return *all;
}
std::atomic<long> with_messages{0};
std::atomic<long> waiting{0};

base::spin_lock ready_lock; // guards `ready_callbacks`
constinit notification::waiter *first_ready = nullptr;
constinit notification::waiter *last_ready = nullptr;
std::atomic<bool> any_ready{false};

void keep_for_later(notification::waiter &w) noexcept {
    const std::scoped_lock guard(ready_lock);
    w.next = nullptr;
    (first_ready == nullptr ? first_ready : last_ready->next) = &w;
    last_ready = &w;
    any_ready.store(true, std::memory_order_release);
}

notification::waiter *take_kept() noexcept {
    const std::scoped_lock guard(ready_lock);
    notification::waiter *const w = first_ready;
    if (w != nullptr) {
        first_ready = w->next;
    }
    any_ready.store(first_ready != nullptr, std::memory_order_release);
    return w;
}

bool outstanding() noexcept {
    return with_messages.load(std::memory_order_seq_cst) != 0 || waiting.load(std::memory_order_seq_cst) != 0;
}

bool poll(progress::polled_from where) noexcept {
    if (where == progress::polled_from::locked_hook || !outstanding()) {
        return false;
    }
    if (!spaces_lock.try_lock()) {
        return any_ready.load(std::memory_order_acquire);
    }
    bool arrived = false;
    for (space *each : spaces()) {
        if (with_messages.load(std::memory_order_relaxed) != 0) {
            each->poll();
        }
        arrived = arrived || (waiting.load(std::memory_order_relaxed) != 0 && each->may_have_arrived());
    }
    spaces_lock.unlock();
    return arrived || any_ready.load(std::memory_order_acquire);
}

long call_kept(long limit) noexcept {
    if (!any_ready.load(std::memory_order_acquire) || !continuation::free_to_run()) {
        return 0;
    }
    const continuation::running_scope running;
    long called = 0;
    for (notification::waiter *w = nullptr; called < limit && (w = take_kept()) != nullptr; ++called) {
        w->arrived(*w);
    }
    return called;
}

long run(long limit) noexcept {
    if (waiting.load(std::memory_order_relaxed) == 0) {
        return 0;
    }
    notification::arrived_list ready;
    if (spaces_lock.try_lock()) {
        for (space *each : spaces()) {
            each->look(ready);
        }
        spaces_lock.unlock();
    }
    return call(ready, limit);
}

constexpr progress::source as_source{"one-sided operations", &outstanding, &poll, &run};

void report() noexcept {
    spaces_lock.lock();
    const std::size_t left = spaces().size();
    spaces_lock.unlock();
    if (left != 0) {
        std::fprintf(stderr, "thence: MPI_Finalize: %zu spaces of one-sided communication are not freed\n", left);
    }
}

void tear_down() noexcept;
constinit continuation::finalize_functions at_finalize{&report, &tear_down};

std::mutex mutex; // guards setting up and tearing down
std::atomic<bool> is_set_up{false};

// The spaces that are left stay in memory: threads may be in calls, and MPI may not.
void tear_down() noexcept {
    const std::scoped_lock guard(mutex);
    if (is_set_up.exchange(false)) {
        progress::remove_source(as_source);
        const std::scoped_lock none(spaces_lock);
        spaces().clear();
        with_messages.store(0);
        waiting.store(0);
    }
}

} // namespace

bool set_up() noexcept {
    if (is_set_up.load(std::memory_order_acquire)) {
        return true;
    }
    const std::scoped_lock guard(mutex);
    if (!is_set_up.load(std::memory_order_relaxed)) {
        if (!progress::add_source(as_source)) {
            return false;
        }
        continuation::add_finalize_functions(at_finalize);
        is_set_up.store(true, std::memory_order_release);
    }
    return true;
}

bool add_space(space &added) noexcept {
    const std::scoped_lock guard(spaces_lock);
    try {
        spaces().push_back(&added);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void remove_space(space &removed) noexcept {
    const std::scoped_lock guard(spaces_lock);
    std::erase(spaces(), &removed);
}

void look_at_spaces_without_messages() noexcept {
    static constinit std::atomic<std::uint32_t> last_look{0};
    const std::uint32_t now = base::coarse_milliseconds();
    if (now - last_look.load(std::memory_order_relaxed) < space::milliseconds_of_look || !spaces_lock.try_lock()) {
        return;
    }
    last_look.store(now, std::memory_order_relaxed);
    for (space *each : spaces()) {
        if (!each->has_messages()) {
            each->look_who_is_gone();
        }
    }
    spaces_lock.unlock();
}

void messages_begin() noexcept {
    with_messages.fetch_add(1, std::memory_order_seq_cst);
    if (mpi::thread_multiple()) {
        progress::require_helper(); // where it is not possible, helper_state() says why
    }
    progress::engage();
}

void messages_end() noexcept {
    with_messages.fetch_sub(1, std::memory_order_seq_cst);
}

notification::waiters::result wait_for(segment &at, notification::waiter &added, unsigned first, unsigned count,
                                       std::uint32_t *values) noexcept {
    const continuation::busy_scope no_callback_here;
    one_more_waits();
    notification::arrived_list others; // it has overtaken them, since an arrival serves the oldest
    const auto result = at.waiting.add(added, first, count, values, others);
    if (result != notification::waiters::result::waits) {
        no_longer_waits();
    }
    if (others.first != nullptr) {
        call(others, LONG_MAX);
    }
    return result;
}

void call_later(notification::waiter &called) noexcept {
    waiting.fetch_add(1, std::memory_order_seq_cst);
    keep_for_later(called);
}

void one_more_waits() noexcept {
    waiting.fetch_add(1, std::memory_order_seq_cst);
    progress::engage();
}

bool any_waits() noexcept {
    return waiting.load(std::memory_order_relaxed) != 0;
}

void no_longer_waits() noexcept {
    waiting.fetch_sub(1, std::memory_order_seq_cst);
}

no_callbacks::no_callbacks() noexcept {
    ++continuation::this_thread.busy;
}
no_callbacks::~no_callbacks() {
    --continuation::this_thread.busy;
}

long call(notification::arrived_list &ready, long limit) noexcept {
    long called = 0;
    while (notification::waiter *const w = ready.pop()) {
        if (w->is_callback) {
            keep_for_later(*w);
        } else {
            w->arrived(*w);
            ++called;
        }
    }
    return called + call_kept(std::max(limit - called, 1L));
}

bool must_poll() noexcept {
    return progress::any_outstanding();
}

} // namespace thence::onesided
