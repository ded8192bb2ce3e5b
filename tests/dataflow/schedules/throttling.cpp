// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits in submit() is resumed when few tasks are open, or when no task runs: in all schedules with at
// most two preemptions (one or none beside a long task) of small programs with the real sources.
// tests/model/submit_throttle.pml has the protocol alone, with more threads.
#include "threads.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace {

// The tasks of one schedule.
class program {
public:
    explicit program(thence::flow_options options) : flow_(std::make_unique<thence::flow>(options)) {}
    program(const program &) = delete;
    program &operator=(const program &) = delete;
    // All tasks have been waited for, and have run once.
    ~program() {
        flow_->taskwait();
        if (run_ != submitted_) {
            schedules::fail("a task has not run once");
        }
        schedules::block_until_quiet(); // workers leave
        flow_.reset();
    }

    thence::flow &flow() { return *flow_; }
    template <class Body> void submit(std::initializer_list<thence::access> accesses, Body body) {
        ++submitted_;
        flow_->submit(accesses, [this, body] {
            body();
            ++run_;
        });
    }
    // A task that is complete only after its event is lowered.
    void submit_with_event(std::initializer_list<thence::access> accesses = {}) {
        submit(accesses, [this] {
            thence::raise_events(thence::current_task());
            open_.push_back(thence::current_task());
        });
    }
    void lower_one() {
        schedules::block_until([this] { return !open_.empty(); });
        const thence::task_ref lowered = open_.back();
        open_.pop_back();
        thence::lower_events(lowered);
    }

private:
    std::unique_ptr<thence::flow> flow_;
    int submitted_ = 0;
    int run_ = 0;
    std::vector<thence::task_ref> open_;
};

void expect_no_fault(const std::function<void()> &body, long least_schedules) {
    const schedules::result found = schedules::explore(body);
    EXPECT_EQ(found.fault, "") << "in schedule " << found.count;
    EXPECT_GE(found.count, least_schedules);
    testing::Test::RecordProperty("schedules", std::to_string(found.count));
}

TEST(throttled_schedules, a_thread_of_the_program_submits) {
    expect_no_fault(
        [] {
            program all({.workers = 1, .most_open = 1});
            schedules::allow_preemptions(2);
            for (int i = 0; i < 3; ++i) {
                all.submit({}, [] {});
            }
        },
        1000);
}

// The task waits in submit() with children that wait for its event. The last task that runs ends on the thread in
// taskwait, which leaves the workers then.
TEST(throttled_schedules, a_task_submits_beside_a_thread_in_taskwait) {
    expect_no_fault(
        [] {
            program all({.workers = 1, .most_open = 1});
            schedules::allow_preemptions(2);
            int of_children = 0;
            int of_other = 0;
            all.submit({}, [&] {
                all.submit_with_event({thence::out(&of_children)});
                all.submit({thence::in(&of_children)}, [] {});
                all.lower_one();
                all.flow().taskwait();
            });
            all.submit({thence::out(&of_other)}, [] {});
            all.flow().taskwait({thence::in(&of_other)});
        },
        1000);
}

// The only task that runs is suspended, and the thread in submit() would resume it.
TEST(throttled_schedules, the_last_task_that_runs_is_suspended) {
    expect_no_fault(
        [] {
            program all({.workers = 1, .most_open = 1});
            schedules::allow_preemptions(2);
            int datum = 0;
            thence::task_ref blocked;
            all.submit({thence::out(&datum)}, [&] {
                blocked = thence::current_task();
                thence::block_current();
            });
            for (int i = 0; i < 2; ++i) {
                all.submit({thence::in(&datum)}, [] {});
            }
            schedules::block_until([&] { return static_cast<bool>(blocked); });
            thence::unblock(blocked);
        },
        1000);
}

// A long task runs that is a sibling of none, so only the number of open tasks ends the wait. A thread outside of the
// flow lowers the events of so many children that few are open, and of the others afterwards.
void beside_a_long_task(unsigned most_open, bool in_task, int most_preemptions) {
    expect_no_fault(
        [=] {
            struct {
                bool begun = false;
                bool ends = false;
            } long_task;
            const int count = static_cast<int>(most_open) + 1;
            program all({.workers = 2, .most_open = most_open});
            all.submit({}, [&] {
                const auto body = [](void *object) {
                    auto &self = *static_cast<decltype(long_task) *>(object);
                    self.begun = true;
                    schedules::block_until([&self] { return self.ends; });
                };
                thence_flow_spawn(body, &long_task, nullptr, nullptr, "long");
            });
            schedules::block_until([&] { return long_task.begun; });
            schedules::block_until_quiet();
            schedules::allow_preemptions(most_preemptions);
            schedules::start([&, count] {
                for (int i = 0; i < count; ++i) {
                    if (count - i <= static_cast<int>(most_open) / 2) {
                        schedules::block_until([&] { return long_task.ends; });
                    }
                    all.lower_one();
                }
            });
            const auto submit_all = [&, count] {
                for (int i = 0; i < count; ++i) {
                    all.submit_with_event();
                }
                long_task.ends = true;
            };
            if (in_task) {
                all.submit({}, submit_all);
            } else {
                submit_all();
            }
            all.flow().taskwait();
        },
        50);
}

TEST(throttled_schedules, a_thread_outside_completes_children_of_no_task) {
    beside_a_long_task(1, false, 1);
    beside_a_long_task(2, false, 0);
}

TEST(throttled_schedules, a_thread_outside_completes_children_of_a_task) {
    beside_a_long_task(1, true, 1);
    beside_a_long_task(2, true, 0);
}

} // namespace
