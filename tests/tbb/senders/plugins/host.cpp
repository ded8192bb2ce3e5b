// SPDX-License-Identifier: BSD-3-Clause
// A process has one heap of timers, one set of continuation requests, and one guard against waiting in completions,
// whichever shared objects use senders. An operation of one shared object may be completed or dropped in another.
#include "plugin.hpp"

#include <gtest/gtest.h>
#include <thence/thence.h>

#include <dlfcn.h>

namespace {

class plugins : public testing::Test {
protected:
    static const plugin *load(const char *file) {
        void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            ADD_FAILURE() << dlerror();
            std::abort();
        }
        return reinterpret_cast<get_plugin *>(dlsym(handle, "thence_test_plugin"))();
    }
    static void SetUpTestSuite() {
        first = load(THENCE_TEST_PLUGIN_1);
        second = load(THENCE_TEST_PLUGIN_2);
        ASSERT_NE(first, second);
    }

    static inline const plugin *first;
    static inline const plugin *second;
};

TEST_F(plugins, a_deadline_is_met_while_another_plugin_waits) {
    first->start_deadline(20, 1);
    EXPECT_TRUE(second->wait_for(1));
    second->start_deadline(20, 2);
    EXPECT_TRUE(first->wait_for(2));
}

const plugin *asked;
int completions;
bool refused;

TEST_F(plugins, waiting_in_a_completion_of_another_plugin_is_refused) {
    for (const auto &[completing, waiting] : {std::pair(first, second), std::pair(second, first)}) {
        asked = waiting;
        completions = 0;
        refused = false;
        completing->start_receive(3, [] {
            refused = asked->is_refused();
            ++completions;
        });
        const int word = 1;
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
        while (completions == 0) {
            thence_progress();
        }
        EXPECT_TRUE(refused);
        EXPECT_FALSE(waiting->is_refused()) << "the completion is over";
    }
}

TEST_F(plugins, a_future_may_be_dropped_by_another_plugin) {
    for (const auto &[one, other] : {std::pair(first, second), std::pair(second, first)}) {
        void *const spawned = one->spawn();
        other->drop_future(spawned);
        one->complete(spawned);
    }
}

TEST_F(plugins, a_future_may_be_started_by_another_plugin) {
    for (const auto &[one, other] : {std::pair(first, second), std::pair(second, first)}) {
        completions = 0;
        void *const spawned = one->spawn();
        other->start_future(spawned, [] { ++completions; });
        EXPECT_EQ(completions, 0);
        one->complete(spawned);
        EXPECT_EQ(completions, 1);
    }
}

TEST_F(plugins, operations_share_one_continuation_request) {
    EXPECT_NE(first->shared_request(), MPI_REQUEST_NULL);
    EXPECT_EQ(first->shared_request(), second->shared_request());
}

} // namespace
