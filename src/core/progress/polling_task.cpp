// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/polling_task.hpp"

#include "core/base/spin_lock.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <algorithm>
#include <climits>
#include <shared_mutex>

namespace thence::progress {

constinit std::atomic<start_polling_task *> polling_task{nullptr};

namespace {

constexpr std::uint64_t shortest_pause = 10'000; // nanoseconds; doubled while polls find nothing
constexpr std::uint64_t longest_pause = 1'000'000;

std::atomic<bool> runs_{false};
// The task says that it is inside, then reads `stopped_`; tear-down sets `stopped_`, then waits for the task to be
// outside.
std::atomic<bool> inside_{false};
std::atomic<bool> stopped_{true};
std::uint64_t pause_ = 0; // of the task that runs
std::atomic<await_polling_task *> await_{nullptr};

bool stopped() noexcept {
    return stopped_.load(std::memory_order_seq_cst);
}

// Whether anything ran. False also once it is stopped.
bool poll() noexcept {
    inside_.store(true, std::memory_order_seq_cst);
    bool ran = false;
    if (!stopped()) {
        if (!helper_running()) {
            const std::shared_lock guard(helper_in_progress);
            const in_place_of_helper polling;
            poll_sources(polled_from::outside);
        }
        ran = run_sources(LONG_MAX) != 0;
    }
    inside_.store(false, std::memory_order_release);
    return ran;
}

} // namespace

task_turn poll_in_task() noexcept {
    const bool ran = poll();
    if (!ran && (stopped() || !any_outstanding())) {
        pause_ = 0;
        runs_.store(false, std::memory_order_seq_cst);
        const bool goes_on = !stopped() && any_outstanding() && !runs_.exchange(true, std::memory_order_seq_cst);
        return {!goes_on, 0};
    }
    pause_ = ran ? 0 : std::clamp(2 * pause_, shortest_pause, longest_pause);
    return {false, pause_};
}

void set_polling_task(start_polling_task *start, await_polling_task *await) noexcept {
    await_.store(await, std::memory_order_seq_cst);
    polling_task.store(start, std::memory_order_seq_cst);
}

void forget_polling_task() noexcept {
    polling_task.store(nullptr, std::memory_order_seq_cst);
}

void require_polling_task(run_by who) noexcept {
    start_polling_task *const start = polling_task.load(std::memory_order_seq_cst);
    if (start == nullptr || runs_.load(std::memory_order_seq_cst) || stopped() ||
        (who == run_by::any_thread && helper_running()) || !mpi::thread_multiple() || !any_outstanding()) {
        return;
    }
    if (!runs_.exchange(true, std::memory_order_seq_cst) && !start()) {
        runs_.store(false, std::memory_order_seq_cst);
    }
}

void polling_task_set_up() noexcept {
    stopped_.store(false, std::memory_order_seq_cst);
}

void polling_task_tear_down() noexcept {
    stopped_.store(true, std::memory_order_seq_cst);
    for (base::spin_wait wait; inside_.load(std::memory_order_seq_cst);) {
        wait();
    }
    if (await_polling_task *const await = await_.load(std::memory_order_seq_cst); await != nullptr) {
        await();
    }
}

} // namespace thence::progress
