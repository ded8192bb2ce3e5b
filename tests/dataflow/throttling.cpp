// SPDX-License-Identifier: BSD-3-Clause
// Who waits in submit(), since too many tasks are open, goes on as soon as half of them are complete or no task runs.
#include "support.hpp"

#include <thence/dataflow.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace {

using namespace std::chrono_literals;

class throttling : public testing::TestWithParam<unsigned> {};

// The last task that runs ends on the thread of a taskwait, which then leaves the workers.
TEST_P(throttling, submit_goes_on_when_the_last_task_ends_on_a_thread_in_taskwait) {
    const unsigned most_open = GetParam();
    thence::flow flow({.workers = 1, .most_open = most_open});
    int of_long = 0;
    int of_first = 0;
    std::atomic<bool> runs{false};
    test::held first;
    flow.submit({}, {.label = "parent"}, [&] {
        test::wait_until([&] { return runs.load(); }); // on the only worker
        flow.submit({thence::out(&of_first)}, [&] { first.hold(); });
        for (unsigned i = 0; i < most_open + 2; ++i) {
            flow.submit({thence::in(&of_first)}, [] {});
        }
        while (!first.holds()) {
            thence::wait_for(10);
        }
        first.release(); // what the others wait for: so all of them have been submitted
        flow.taskwait();
    });
    flow.submit({thence::out(&of_long)}, [&] {
        runs = true;
        std::this_thread::sleep_for(50ms);
    });
    flow.taskwait({thence::in(&of_long)});
    flow.taskwait();
}

// Children whose events another thread lowers, beside a task that runs on.
class children_with_events {
public:
    explicit children_with_events(thence::flow &flow) : flow_(flow) {}
    // All are complete when it returns.
    void submit(int count) {
        std::atomic<int> submitted{0};
        std::thread lowers([&] {
            for (int lowered = 0; lowered < count; ++lowered) {
                thence::lower_events(next());
            }
        });
        for (; submitted < count; ++submitted) {
            flow_.submit({}, [this] { raise(); });
        }
        flow_.taskwait();
        lowers.join();
    }

private:
    void raise() {
        const thence::task_ref self = thence::current_task();
        thence::raise_events(self);
        const std::scoped_lock guard(mutex_);
        open_.push_back(self);
    }
    thence::task_ref next() {
        for (;;) {
            {
                const std::scoped_lock guard(mutex_);
                if (!open_.empty()) {
                    const thence::task_ref taken = open_.back();
                    open_.pop_back();
                    return taken;
                }
            }
            std::this_thread::yield();
        }
    }

    thence::flow &flow_;
    std::mutex mutex_;
    std::vector<thence::task_ref> open_;
};

// A task that runs until it is told to end, and is a sibling of none: so the flow is never idle.
class endless_task {
public:
    explicit endless_task(thence::flow &flow) {
        flow.submit({}, [this] { thence_flow_spawn(run, this, nullptr, nullptr, "endless"); });
        // Not by taskwait, in which this thread might run that task itself.
        test::wait_until([&] { return runs_.load(); });
    }
    endless_task(const endless_task &) = delete;
    endless_task &operator=(const endless_task &) = delete;
    ~endless_task() {
        test::wait_until([&] { return ended_.load(); });
    }
    void end() { ends_ = true; }

private:
    static void run(void *object) {
        endless_task &self = *static_cast<endless_task *>(object);
        self.runs_ = true;
        test::wait_until([&] { return self.ends_.load(); });
        self.ended_ = true;
    }
    std::atomic<bool> runs_{false};
    std::atomic<bool> ends_{false};
    std::atomic<bool> ended_{false};
};

TEST_P(throttling, submit_of_a_task_goes_on_when_events_are_lowered_elsewhere) {
    thence::flow flow({.workers = 3, .most_open = GetParam()});
    endless_task other(flow);
    flow.submit({}, [&] {
        children_with_events(flow).submit(1000);
        other.end();
    });
    flow.taskwait();
}

TEST_P(throttling, submit_of_a_thread_goes_on_when_events_are_lowered_elsewhere) {
    thence::flow flow({.workers = 2, .most_open = GetParam()});
    endless_task other(flow);
    children_with_events(flow).submit(1000);
    other.end();
}

TEST(throttled_tasks, a_task_that_waits_in_submit_is_reported) {
    thence::flow flow({.workers = 2, .most_open = 2});
    endless_task other(flow);
    std::vector<test::held> gates(4);
    flow.submit({}, {.label = "submits"}, [&] {
        for (test::held &each : gates) {
            flow.submit({}, [&each] { each.hold(); });
        }
        flow.taskwait();
    });
    const auto is_reported = [] {
        const std::vector<thence::waiting_task> all = thence::waiting_tasks();
        return std::any_of(all.begin(), all.end(), [](const thence::waiting_task &one) {
            return one.label == "submits" && one.state.find("is in submit()") != std::string::npos;
        });
    };
    test::wait_until(is_reported);
    for (test::held &each : gates) {
        each.release();
    }
    test::wait_until([&] { return !is_reported(); });
    flow.taskwait();
    other.end();
}

INSTANTIATE_TEST_SUITE_P(most_open, throttling, testing::Values(1U, 2U, 3U, 8U, 100U));

} // namespace
