// SPDX-License-Identifier: BSD-3-Clause
// The thread that looks after pools: how often it looks, that it sleeps while there is nothing to look for, and that it
// makes progress where nobody else does. On the fake MPI; the test is all the threads that the pools have.
#include "library.hpp"

#include "pools/watchdog.hpp"

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
using thence::detail::look_pace;
using thence::detail::watchdog;
using thence::detail::work_queue;

TEST(look_pace, follows_how_often_others_poll) {
    look_pace pace;
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms);
    for (int i = 0; i < 10; ++i)
        pace.looked(100000, false);
    EXPECT_EQ(pace.ms(), look_pace::longest_ms);
    pace.looked(2, false);
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms) << "tasks are long";
    pace.looked(100000, false);
    EXPECT_EQ(pace.ms(), 2 * look_pace::shortest_ms);
    pace.looked(100000, true);
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms) << "of two queues one gets on";
}

TEST(look_pace, slows_down_while_there_is_nothing_then_sleeps_and_wakes_up_lively) {
    look_pace pace;
    for (int i = 0; i < look_pace::idle_looks / 2; ++i)
        EXPECT_FALSE(pace.nothing_to_look_for());
    EXPECT_EQ(pace.ms(), look_pace::longest_ms);
    pace.looked(100000, false);
    for (int i = 0; i < look_pace::idle_looks - 1; ++i)
        EXPECT_FALSE(pace.nothing_to_look_for()) << "it counts from the last one that found something";
    EXPECT_TRUE(pace.nothing_to_look_for());
    EXPECT_EQ(pace.ms(), look_pace::shortest_ms);
    EXPECT_FALSE(pace.nothing_to_look_for());
}

// A pool whose threads are all busy with something else.
struct host_without_threads final : thence::detail::drainer_host {
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
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(thread.path());
    return all;
}
// How often a thread has waited for something.
long times_waited(const std::filesystem::path &thread) {
    std::ifstream status(thread / "status");
    const std::string name = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return std::stol(line.substr(name.size()));
    return -1;
}

class looks_after_pools : public on_fake {
protected:
    // Its looks are at most longest_ms apart.
    bool sleeps() const {
        const long before = times_waited(thread);
        std::this_thread::sleep_for(std::chrono::milliseconds(12 * look_pace::longest_ms));
        return times_waited(thread) == before;
    }
    void run() {
        host.watch = &watch;
        const thread_set before = threads_of_process(); // a sanitizer may have one too
        watch.start();
        thread_set added = threads_of_process();
        for (const auto &known : before)
            added.erase(known);
        ASSERT_EQ(added.size(), 1U);
        thread = *added.begin();
    }
    std::filesystem::path thread;
    host_without_threads host;
    work_queue queue{host};
    work_queue other{host};
    watchdog watch{queue, other};
};

TEST_P(looks_after_pools, sleeps_while_there_is_nothing_and_is_woken_by_an_operation) {
    run();
    EXPECT_TRUE(eventually([this] { return sleeps(); }));
    for (int i = 0; i < 3; ++i) {
        queue.begin_operation();
        EXPECT_TRUE(eventually([this] { return !sleeps(); }));
        queue.end_operation();
        EXPECT_TRUE(eventually([this] { return sleeps(); }));
    }
}

TEST_P(looks_after_pools, makes_progress_where_nobody_polls_and_calls_for_somebody) {
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
    for (int i = 0; i < 20000 && (arrived.runs == 0 || host.calls == calls); ++i) // it is the only one that can
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(arrived.runs, 1);
    EXPECT_GT(host.calls, calls);
    EXPECT_NE(arrived.thread, std::this_thread::get_id());
    other.end_operation();
}

THENCE_RULES(looks_after_pools);

} // namespace
