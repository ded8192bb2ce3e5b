// SPDX-License-Identifier: BSD-3-Clause
// The watchdog of pools: how often it checks, that it sleeps while nothing is outstanding, and that it makes progress
// if no other thread does. On the fake MPI; the thread of the test is the only one of the pools.
#include "library.hpp"

#include "tbb/pools/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace thence::fake;
using thence::detail::check_interval;
using thence::detail::watchdog;
using thence::detail::work_queue;

TEST(check_interval, grows_while_polls_are_frequent) {
    check_interval interval;
    EXPECT_EQ(interval.ms(), check_interval::shortest_ms);
    for (int i = 0; i < 10; ++i) {
        interval.checked(100000, false);
    }
    EXPECT_EQ(interval.ms(), check_interval::longest_ms);
    interval.checked(2, false);
    EXPECT_EQ(interval.ms(), check_interval::shortest_ms) << "tasks are long";
    interval.checked(100000, false);
    EXPECT_EQ(interval.ms(), 2 * check_interval::shortest_ms);
    interval.checked(100000, true);
    EXPECT_EQ(interval.ms(), check_interval::shortest_ms) << "one of two queues is stalled";
}

TEST(check_interval, grows_while_nothing_is_outstanding_and_is_the_shortest_after_sleep) {
    check_interval interval;
    for (int i = 0; i < check_interval::idle_checks / 2; ++i) {
        EXPECT_FALSE(interval.nothing_outstanding());
    }
    EXPECT_EQ(interval.ms(), check_interval::longest_ms);
    interval.checked(100000, false);
    for (int i = 0; i < check_interval::idle_checks - 1; ++i) {
        EXPECT_FALSE(interval.nothing_outstanding()) << "it counts from the last check with operations outstanding";
    }
    EXPECT_TRUE(interval.nothing_outstanding());
    EXPECT_EQ(interval.ms(), check_interval::shortest_ms);
    EXPECT_FALSE(interval.nothing_outstanding());
}

// A pool whose threads are all busy with something else.
struct host_without_threads final : thence::detail::runner_host {
    watchdog *watch = nullptr;
    std::atomic<int> calls{0};
    bool call() override {
        ++calls;
        return false;
    }
    bool progress() noexcept override { return false; }
    bool polls_for_waiting() noexcept override { return false; }
    void yield() noexcept override {}
    void began() noexcept override { watch->began(); }
};

using thread_set = std::set<std::filesystem::path>;

thread_set threads_of_process() {
    thread_set all;
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task")) {
        all.insert(thread.path());
    }
    return all;
}
// How often a thread has waited for something.
long times_waited(const std::filesystem::path &thread) {
    std::ifstream status(thread / "status");
    const std::string name = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(name)) {
            return std::stol(line.substr(name.size()));
        }
    }
    return -1;
}

class pools_watchdog : public on_fake {
protected:
    // Its checks are at most longest_ms apart.
    bool sleeps() const {
        const long before = times_waited(thread);
        std::this_thread::sleep_for(std::chrono::milliseconds(12 * check_interval::longest_ms));
        return times_waited(thread) == before;
    }
    void run() {
        host.watch = &watch;
        std::thread([] {}).join(); // a sanitizer starts its own thread with the first one
        const thread_set before = threads_of_process();
        watch.start();
        thread_set added = threads_of_process();
        for (const auto &known : before) {
            added.erase(known);
        }
        ASSERT_EQ(added.size(), 1U);
        thread = *added.begin();
    }
    std::filesystem::path thread;
    host_without_threads host;
    work_queue queue{host};
    work_queue other{host};
    watchdog watch{queue, other};
};

TEST_P(pools_watchdog, sleeps_while_nothing_is_outstanding_and_is_woken_by_an_operation) {
    run();
    EXPECT_TRUE(eventually([this] { return sleeps(); }));
    for (int i = 0; i < 3; ++i) {
        queue.begin_operation();
        EXPECT_TRUE(eventually([this] { return !sleeps(); }));
        queue.end_operation();
        EXPECT_TRUE(eventually([this] { return sleeps(); }));
    }
}

TEST_P(pools_watchdog, makes_progress_if_no_thread_polls_and_calls_a_worker) {
    cr c;
    note arrived;
    MPI_Request request = world.start();
    const ticket pending = world.ticket_of(request);
    ASSERT_EQ(attach(request, arrived, c), 0);
    run();
    EXPECT_TRUE(eventually([this] { return sleeps(); }));
    other.begin_operation();
    world.complete(pending);
    const int calls = host.calls;
    for (int i = 0; i < 20000 && (arrived.runs == 0 || host.calls == calls); ++i) { // only the watchdog can
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(arrived.runs, 1);
    EXPECT_GT(host.calls, calls);
    EXPECT_NE(arrived.thread, std::this_thread::get_id());
    other.end_operation();
}

THENCE_RULES(pools_watchdog);

} // namespace
