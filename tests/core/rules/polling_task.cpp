// SPDX-License-Identifier: BSD-3-Clause
// The task of a runtime that polls where no helper thread does. Here a task is a thread.
#include "library.hpp"

#include "core/progress/polling_task.hpp"
#include "core/progress/progress.hpp"

#include <array>
#include <chrono>
#include <thread>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace progress = thence::progress;

std::atomic<int> started{0};
std::atomic<int> polling{0};       // tasks that have not returned
std::atomic<int> between_turns{0}; // a task that is between two of its turns is the one that polls
std::atomic<bool> two_polled{false};
std::atomic<int> refusals{0}; // so many times

bool start() noexcept {
    if (refusals > 0) {
        --refusals;
        return false;
    }
    ++started;
    ++polling;
    std::thread([] {
        for (;;) {
            const progress::task_turn turn = progress::poll_in_task();
            if (turn.ends) {
                break;
            }
            if (++between_turns > 1) {
                two_polled = true;
            }
            std::this_thread::sleep_for(std::chrono::nanoseconds(turn.pause));
            --between_turns;
        }
        --polling;
    }).detach();
    return true;
}

void await_end() noexcept {
    while (polling != 0) {
        std::this_thread::sleep_for(1ms);
    }
}

class polling_task : public on_fake {
protected:
    polling_task() {
        started = 0;
        refusals = 0;
        two_polled = false;
        progress::set_polling_task(&start, &await_end);
    }
    ~polling_task() override {
        progress::forget_polling_task();
        progress::tear_down();
        EXPECT_EQ(polling, 0);
        progress::set_polling_task(nullptr, nullptr);
    }
    // Without any call of MPI by this thread.
    static bool soon(const std::function<bool()> &done) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!done()) {
            std::this_thread::sleep_for(1ms);
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }
};

TEST_P(polling_task, runs_while_something_is_outstanding) {
    cr c;
    for (int round = 1; round <= 5; ++round) {
        note n;
        const ticket t = attach_pending(n, c);
        progress::require_polling_task(progress::run_by::application);
        EXPECT_EQ(started, round);
        progress::require_polling_task(progress::run_by::application);
        EXPECT_EQ(started, round) << "one polls already";
        world.complete(t);
        EXPECT_TRUE(soon([&] { return n.runs == 1; }));
        EXPECT_NE(n.thread, std::this_thread::get_id());
        EXPECT_TRUE(soon([] { return polling == 0; }));
    }
}

TEST_P(polling_task, is_not_started_while_nothing_is_outstanding_or_a_helper_does_its_work) {
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 0);
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    const ticket t = attach_pending(n, c);
    progress::require_polling_task(progress::run_by::any_thread);
    EXPECT_EQ(started, 0);
    world.complete(t);
    EXPECT_TRUE(soon([&] { return n.runs == 1; }));
    EXPECT_TRUE(soon([&] { return c.registered() == 0; }));
}

// Open MPI would crash if it matched a receive that is being cancelled.
TEST_P(polling_task, makes_no_progress_while_another_thread_cancels) {
    cr c;
    note n;
    attach_pending(n, c);
    const unsigned long long at_first = world.progress_calls;
    progress::require_polling_task(progress::run_by::application);
    EXPECT_TRUE(soon([&] { return world.progress_calls > at_first + 3; }));
    unsigned long long after = 0;
    world.while_cancelling = [&] {
        const unsigned long long before = world.progress_calls;
        std::this_thread::sleep_for(20ms); // many turns
        after = world.progress_calls - before;
    };
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(after, 0);
    EXPECT_TRUE(soon([&] { return n.runs == 1; }));
    world.while_cancelling = nullptr;
    EXPECT_TRUE(soon([] { return polling == 0; }));
}

// The helper finds the completion, and may not run the callback.
TEST_P(polling_task, runs_what_a_helper_may_not_run) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    cr any(THENCE_CR_ANY_THREAD);
    EXPECT_TRUE(progress::helper_running());
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 1);
    world.complete(t);
    EXPECT_TRUE(soon([&] { return n.runs == 1; }));
    EXPECT_TRUE(soon([] { return polling == 0; }));
}

TEST_P(polling_task, stays_for_what_a_helper_that_starts_may_not_run) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 1);
    cr any(THENCE_CR_ANY_THREAD);
    note other;
    const ticket u = attach_pending(other, any);
    world.complete(u);
    EXPECT_TRUE(soon([&] { return other.runs == 1; }));
    std::this_thread::sleep_for(10ms); // many turns
    world.complete(t);
    EXPECT_TRUE(soon([&] { return n.runs == 1; }));
    EXPECT_TRUE(soon([] { return polling == 0; }));
}

TEST_P(polling_task, is_tried_again_after_the_runtime_has_refused_it) {
    cr c;
    note first;
    note second;
    refusals = 1;
    const ticket a = attach_pending(first, c);
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 0);
    const ticket b = attach_pending(second, c);
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 1);
    world.complete(a);
    world.complete(b);
    EXPECT_TRUE(soon([&] { return first.runs == 1 && second.runs == 1; }));
}

TEST_P(polling_task, does_not_call_mpi_once_mpi_finalize_has_begun) {
    cr c;
    note n;
    attach_pending(n, c);
    progress::require_polling_task(progress::run_by::application);
    EXPECT_TRUE(soon([] { return world.progress_calls > 10; }));
    progress::polling_task_tear_down();
    const unsigned long long before = world.progress_calls;
    EXPECT_TRUE(soon([] { return polling == 0; }));
    EXPECT_EQ(world.progress_calls, before);
    progress::require_polling_task(progress::run_by::application);
    EXPECT_EQ(started, 1);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

// Operations are made outstanding while the task ends, by several threads: none is left without a task that polls.
TEST_P(polling_task, misses_nothing_when_it_ends) {
    constexpr int threads = 3;
    constexpr int rounds = 300;
    std::array<std::thread, threads> team;
    std::atomic<int> missed{0};
    for (std::thread &each : team) {
        each = std::thread([&] {
            cr c;
            for (int round = 0; round < rounds && missed == 0; ++round) {
                note n;
                const ticket t = attach_pending(n, c);
                progress::require_polling_task(progress::run_by::application);
                world.complete(t);
                missed += soon([&] { return n.runs == 1; }) ? 0 : 1;
                soon([&] { return c.registered() == 0; });
            }
        });
    }
    for (std::thread &each : team) {
        each.join();
    }
    EXPECT_EQ(missed, 0);
    EXPECT_FALSE(two_polled);
}
THENCE_RULES(polling_task);

} // namespace
