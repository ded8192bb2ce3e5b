// SPDX-License-Identifier: BSD-3-Clause
// What a handler of active messages may do besides sending: register another handler, and submit tasks of the data-flow
// layer, which send.
#include <thence/am.hpp>
#include <thence/dataflow.hpp>

#include <gtest/gtest.h>

#include <atomic>

namespace {

int rank_of_this() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// The messages for the new handler may come before those that register it, and wait.
TEST(am_tasks, a_handler_registers_another_one) {
    for (const unsigned flags : {0U, THENCE_AM_SHORT}) {
        thence::active_messages am(MPI_COMM_WORLD);
        std::atomic<int> handled{0};
        std::atomic<bool> is_registered{false};
        const int right = (rank_of_this() + 1) % ranks();
        am.on(
            0,
            [&](const thence::am_message &m) {
                const int number = m.value<int>();
                am.on(
                    number, [&](const thence::am_message &) { ++handled; }, flags);
                am.send(rank_of_this(), number); // here it is known at once
                is_registered.store(true);
            },
            flags);
        am.send(right, 0, 7);
        am.progress_until([&] { return is_registered.load(); }); // a sender needs the handler, too
        for (int i = 0; i < 20; ++i) {
            am.send(right, 7);
        }
        am.quiesce();
        EXPECT_EQ(handled, 21);
    }
}

// Each task sends to the next rank, whose handler submits the next task. All is quiet when the last one has ended.
TEST(am_tasks, a_handler_submits_tasks_that_send) {
    thence::flow flow({.workers = 2});
    thence::active_messages am(MPI_COMM_WORLD);
    std::atomic<int> tasks{0};
    std::atomic<int> last{0};
    const int right = (rank_of_this() + 1) % ranks();
    am.on(3, [&](const thence::am_message &m) {
        flow.submit({}, [&, hold = thence::am_hold(am), left = m.value<int>()] {
            ++tasks;
            if (left > 0) {
                am.send(right, 3, left - 1);
            } else {
                ++last;
            }
        });
    });
    constexpr int chains = 10;
    constexpr int hops = 50;
    for (int i = 0; i < chains; ++i) {
        am.send(right, 3, hops);
    }
    am.quiesce();
    flow.taskwait();
    int mine[2] = {tasks, last};
    int all[2] = {};
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all[0], ranks() * chains * (hops + 1));
    EXPECT_EQ(all[1], ranks() * chains);
}

} // namespace
