// SPDX-License-Identifier: BSD-3-Clause
// A callback that waits for a continuation request, by thence_wait() or by a loop of tests. If only the return of a
// callback below it on the stack could end the wait, the call returns MPI_ERR_PENDING.
#include "library.hpp"

#include <chrono>
#include <memory>

namespace {

using namespace thence::fake;

class waiting_in_callbacks : public on_fake {
protected:
    // A loop of tests with a time limit. Returns the code of the last test, or -1.
    static int loop_on(MPI_Request *c) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        int code = MPI_SUCCESS;
        for (int flag = 0; code == MPI_SUCCESS && flag == 0;) {
            code = thence_test(c, &flag, MPI_STATUS_IGNORE);
            if (std::chrono::steady_clock::now() > end) {
                return -1;
            }
        }
        return code;
    }
};

TEST_P(waiting_in_callbacks, a_callback_that_loops_on_its_own_cr_ends_with_pending) {
    cr c;
    note n;
    int code = MPI_SUCCESS;
    n.inside = [&] { code = loop_on(&c); };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(code, MPI_ERR_PENDING);
    EXPECT_EQ(reported(), codes{MPI_ERR_PENDING});
    EXPECT_TRUE(c.test());
}

TEST_P(waiting_in_callbacks, the_loop_on_its_own_cr_ends_although_others_ran_just_before) {
    cr c;
    note before;
    note n;
    int code = MPI_SUCCESS;
    n.inside = [&] { code = loop_on(&c); };
    const ticket first = attach_pending(before, c);
    const ticket second = attach_pending(n, c);
    world.complete(first);
    world.complete(second);
    EXPECT_TRUE(eventually([&] { return n.runs == 1 && before.runs == 1; }));
    EXPECT_EQ(code, MPI_ERR_PENDING);
    EXPECT_EQ(reported(), codes{MPI_ERR_PENDING});
}

TEST_P(waiting_in_callbacks, a_callback_that_loops_on_another_cr_ends_with_pending) {
    cr c;
    cr other;
    note n;
    note m;
    int code = MPI_SUCCESS;
    const ticket t = attach_pending(m, other);
    n.inside = [&] {
        world.complete(t);
        code = loop_on(&other);
    };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(code, MPI_ERR_PENDING);
    EXPECT_EQ(reported(), codes{MPI_ERR_PENDING});
    EXPECT_TRUE(eventually([&] { return m.runs == 1; })) << "it still runs afterwards";
}

TEST_P(waiting_in_callbacks, a_callback_that_loops_on_several_crs_in_turn_ends_with_pending) {
    cr c;
    cr other(THENCE_CR_POLL_ONLY);
    note n;
    note m;
    int codes_seen[2] = {MPI_SUCCESS, MPI_SUCCESS};
    const ticket t = attach_pending(m, other);
    n.inside = [&] {
        world.complete(t);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        MPI_Request *crs[2] = {&c, &other};
        for (bool left = true; left && std::chrono::steady_clock::now() < end;) {
            left = false;
            for (int i = 0; i < 2; ++i) { // until each is complete or its test returns MPI_ERR_PENDING
                int flag = 0;
                if (codes_seen[i] == MPI_SUCCESS) {
                    codes_seen[i] = thence_test(crs[i], &flag, MPI_STATUS_IGNORE);
                    left = left || (flag == 0 && codes_seen[i] == MPI_SUCCESS);
                }
            }
        }
    };
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(codes_seen[0], MPI_ERR_PENDING);
    EXPECT_EQ(codes_seen[1], MPI_ERR_PENDING);
    EXPECT_EQ(reported(), (codes{MPI_ERR_PENDING, MPI_ERR_PENDING}));
    EXPECT_EQ(thence_wait(&other, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(m.runs, 1) << "it still runs afterwards";
}

TEST_P(waiting_in_callbacks, a_callback_may_wait_for_what_another_thread_runs) {
    cr c;
    cr other;
    note n;
    note m;
    const ticket t = attach_pending(m, other);
    int code = -1;
    std::atomic<bool> inside{false};
    n.inside = [&] {
        inside = true;
        code = thence_wait(&other, MPI_STATUS_IGNORE);
    };
    world.complete(attach_pending(n, c));
    std::thread helper([&] {
        while (!inside) {
            std::this_thread::yield();
        }
        world.complete(t);
        while (m.runs == 0) {
            thence_progress();
        }
    });
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    helper.join();
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_EQ(m.runs, 1);
}

THENCE_RULES(waiting_in_callbacks);

} // namespace
