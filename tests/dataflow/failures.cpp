// SPDX-License-Identifier: BSD-3-Clause
// Exceptions in bodies, and events that are lowered with an error.
#include "support.hpp"

#include "tbb/workers/repeat_without_memory.hpp"

#include <new>

namespace {

using test::held;

struct expected_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

TEST(failures, an_exception_ends_the_wave_and_taskwait_rethrows_it) {
    thence::flow flow(test::two_workers());
    int x = 0;
    bool onready_ran = false;
    bool ran = false;
    flow.submit({thence::out(&x)}, [] { throw expected_failure("first"); });
    flow.submit({thence::in(&x)}, thence::onready([&] { onready_ran = true; }), [&] { ran = true; });
    try {
        flow.taskwait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const expected_failure &failure) {
        EXPECT_STREQ(failure.what(), "first");
    }
    EXPECT_FALSE(ran);
    EXPECT_FALSE(onready_ran);
    flow.submit({thence::in(&x)}, [&] { ran = true; }); // the next wave runs
    flow.taskwait();
    EXPECT_TRUE(ran);
}

TEST(failures, tasks_that_run_and_events_go_on) {
    thence::flow flow(test::two_workers());
    held gate;
    int x = 0;
    flow.submit({}, [&] { gate.hold(); });
    test::wait_until([&] { return gate.holds(); });
    flow.submit({thence::out(&x)}, [] { throw expected_failure("while another one waits"); });
    std::thread releases([&] {
        for (int i = 0; i < 100; ++i) {
            std::this_thread::yield();
        }
        gate.release();
    });
    EXPECT_THROW(flow.taskwait(), expected_failure);
    EXPECT_FALSE(gate.holds());
    releases.join();
}

TEST(failures, captures_of_tasks_that_did_not_run_are_destroyed) {
    thence::flow flow(test::two_workers());
    int x = 0;
    const auto data = std::make_shared<int>(1);
    flow.submit({thence::out(&x)}, [] { throw expected_failure("first"); });
    for (int i = 0; i < 10; ++i) {
        flow.submit({thence::inout(&x)}, [data] { ADD_FAILURE(); });
    }
    EXPECT_THROW(flow.taskwait(), expected_failure);
    EXPECT_EQ(data.use_count(), 1);
}

TEST(failures, a_parent_gets_the_exception_of_its_child) {
    thence::flow flow(test::two_workers());
    bool caught = false;
    flow.submit({}, [&] {
        flow.submit({}, [] { throw expected_failure("child"); });
        try {
            flow.taskwait();
        } catch (const expected_failure &) {
            caught = true;
        }
    });
    flow.taskwait();
    EXPECT_TRUE(caught);
}

TEST(failures, where_the_parent_does_not_wait_its_own_wave_fails) {
    thence::flow flow(test::two_workers());
    int x = 0;
    bool ran = false;
    flow.submit({thence::out(&x)}, [&] { flow.submit({}, [] { throw expected_failure("child"); }); });
    flow.submit({thence::in(&x)}, [&] { ran = true; });
    EXPECT_THROW(flow.taskwait(), expected_failure);
    EXPECT_FALSE(ran);
}

TEST(failures, an_exception_of_onready_counts_as_one_of_the_body) {
    thence::flow flow(test::two_workers());
    bool ran = false;
    flow.submit({}, thence::onready([] { throw expected_failure("onready"); }), [&] { ran = true; });
    EXPECT_THROW(flow.taskwait(), expected_failure);
    EXPECT_FALSE(ran);
}

TEST(failures, an_event_lowered_with_an_error_ends_the_wave) {
    thence::flow flow(test::two_workers());
    int x = 0;
    held gate;
    bool ran = false;
    flow.submit({thence::out(&x)}, {.label = "receive"}, [&] { gate.hold(); });
    flow.submit({thence::in(&x)}, [&] { ran = true; });
    gate.release(17);
    try {
        flow.taskwait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const thence::event_error &error) {
        EXPECT_EQ(error.code(), 17);
        EXPECT_NE(std::string(error.what()).find("receive"), std::string::npos);
    }
    EXPECT_FALSE(ran);
}

TEST(failures, an_error_of_an_event_of_onready_skips_the_body) {
    thence::flow flow(test::two_workers());
    held gate;
    bool ran = false;
    flow.submit({}, thence::onready([&] { gate.hold(); }), [&] { ran = true; });
    gate.release(17);
    EXPECT_THROW(flow.taskwait(), thence::event_error);
    EXPECT_FALSE(ran);
}

TEST(failures, taskwait_on_accesses_rethrows_and_leaves_it_for_taskwait) {
    thence::flow flow(test::two_workers());
    int x = 0;
    flow.submit({thence::out(&x)}, [] { throw expected_failure("first"); });
    EXPECT_THROW(flow.taskwait({thence::in(&x)}), expected_failure);
    EXPECT_THROW(flow.taskwait(), expected_failure);
    flow.taskwait();
}

TEST(failures, a_task_that_lets_others_run_gets_the_exception_in_taskwait_only) {
    thence::flow flow(test::two_workers());
    flow.submit({}, [&flow] {
        int x = 0;
        flow.submit({thence::out(&x)}, [] { throw expected_failure("child"); });
        EXPECT_THROW(flow.taskwait({thence::in(&x)}), expected_failure);
        EXPECT_NO_THROW(thence::wait_for(0));
        EXPECT_THROW(flow.taskwait(), expected_failure);
    });
    flow.taskwait();
}

TEST(failures, the_first_of_many_is_rethrown_once) {
    thence::flow flow(test::two_workers());
    for (int i = 0; i < 100; ++i) {
        flow.submit({}, [] { throw expected_failure("one of many"); });
    }
    EXPECT_THROW(flow.taskwait(), expected_failure);
    flow.taskwait();
}

TEST(failures, a_body_that_cannot_be_copied_into_the_task_leaves_no_task) {
    struct bad {
        bad() = default;
        bad(const bad &) { throw expected_failure("copy"); }
        void operator()() const { ADD_FAILURE(); }
    };
    thence::flow flow(test::two_workers());
    const bad body;
    int x = 0;
    EXPECT_THROW(flow.submit({thence::out(&x)}, body), expected_failure);
    flow.taskwait();
}

TEST(failures, the_destructor_waits_and_drops_exceptions) {
    std::atomic<int> ran{0};
    {
        thence::flow flow(test::two_workers());
        flow.submit({}, [&] {
            ++ran;
            throw expected_failure("dropped");
        });
    }
    EXPECT_EQ(ran, 1);
}

TEST(failures, a_worker_is_called_as_soon_as_there_is_memory) {
    int calls = 0;
    thence::workers::repeat_without_memory([&] { // as arena::call() does
        if (++calls < 4) {
            throw std::bad_alloc();
        }
    });
    EXPECT_EQ(calls, 4);
}

} // namespace
