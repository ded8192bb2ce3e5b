// SPDX-License-Identifier: BSD-3-Clause
// Pools of a process work together, whichever shared objects use them: their queues, the timers, and the guard against
// waiting in completions are the same for two plug-ins with hidden symbols.
#include "plugin.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <dlfcn.h>

#include <utility>

namespace {

const plugin *load(const char *file) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        ADD_FAILURE() << dlerror();
        std::abort();
    }
    return reinterpret_cast<get_plugin *>(dlsym(handle, "thence_test_plugin"))();
}

int calls;
bool called() {
    return calls != 0;
}

const plugin *asked;
void *asked_pools;
bool refused;

class pools_of_plugins : public testing::Test {
protected:
    static void SetUpTestSuite() {
        first = load(THENCE_TEST_PLUGIN_1);
        second = load(THENCE_TEST_PLUGIN_2);
        ASSERT_NE(first, second);
    }
    void SetUp() override { calls = 0; }

    static void send(int tag) {
        const int word = 1;
        MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
    }

    static inline const plugin *first;
    static inline const plugin *second;
};

TEST_F(pools_of_plugins, one_plugin_runs_the_tasks_of_another) {
    for (const auto &[one, other] : {std::pair(first, second), std::pair(second, first)}) {
        calls = 0;
        void *const pools = one->make_pools();
        other->start_receive(pools, 1, false, [] { ++calls; });
        send(1);
        one->work_until(pools, called);
        EXPECT_EQ(calls, 1);
        one->destroy_pools(pools);
    }
}

TEST_F(pools_of_plugins, a_deadline_is_met_while_another_plugin_waits_in_its_own_pools) {
    void *const mine = first->make_pools();
    void *const others = second->make_pools();
    first->start_receive(mine, 2, true, [] { ++calls; });
    first->start_deadline(mine, 20, [] { send(2); });
    second->work_until(others, called);
    EXPECT_EQ(calls, 1);
    first->destroy_pools(mine);
    second->destroy_pools(others);
}

TEST_F(pools_of_plugins, waiting_in_a_completion_of_another_plugin_is_refused) {
    for (const auto &[completing, waiting] : {std::pair(first, second), std::pair(second, first)}) {
        calls = 0;
        refused = false;
        void *const mine = completing->make_pools();
        asked = waiting;
        asked_pools = waiting->make_pools();
        completing->start_receive(mine, 3, true, [] {
            refused = asked->is_refused(asked_pools);
            ++calls;
        });
        send(3);
        waiting->work_until(asked_pools, called);
        EXPECT_TRUE(refused);
        EXPECT_FALSE(waiting->is_refused(asked_pools)) << "the completion is over";
        completing->destroy_pools(mine);
        waiting->destroy_pools(asked_pools);
    }
}

} // namespace
