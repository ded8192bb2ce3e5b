// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests, between two ranks: they stay usable, can be restarted, tested and waited for by the user, and
// carry several continuations.
#include "support.hpp"

#include <string>

namespace {

constexpr int small = 8;
constexpr int large = 1 << 18; // 1 MiB: rendezvous everywhere

class persistent : public mpi_test {
protected:
    std::vector<int> data;
    MPI_Request request = MPI_REQUEST_NULL;

    // Rank 0 receives, rank 1 sends.
    void init(int n, bool synchronous = false) {
        data.assign(static_cast<std::size_t>(n), -1);
        if (rank == 0) {
            MPI_Recv_init(data.data(), n, MPI_INT, 1, 2, comm, &request);
        } else if (synchronous) {
            MPI_Ssend_init(data.data(), n, MPI_INT, 0, 2, comm, &request);
        } else {
            MPI_Send_init(data.data(), n, MPI_INT, 0, 2, comm, &request);
        }
    }
    void start(int value) {
        std::fill(data.begin(), data.end(), rank == 1 ? value : -1);
        ASSERT_EQ(MPI_SUCCESS, MPI_Start(&request));
    }
    void expect_data(int value) {
        EXPECT_EQ(value, data.front());
        EXPECT_EQ(value, data.back());
    }
    void TearDown() override {
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        }
        mpi_test::TearDown();
    }
    void restarted_repeatedly(int n, bool synchronous = false) {
        init(n, synchronous);
        for (int turn = 0; turn < 20; ++turn) {
            start(turn);
            outcome seen;
            seen.attach(request, cr, THENCE_PERSISTENT);
            ASSERT_NE(MPI_REQUEST_NULL, request);
            wait();
            ASSERT_EQ(1, seen.ended()) << "turn " << turn;
            ASSERT_EQ(MPI_SUCCESS, seen.error);
            expect_data(turn);
            if (rank == 0) {
                EXPECT_EQ(n, seen.count());
                EXPECT_EQ(1, seen.statuses[0].MPI_SOURCE);
            }
        }
    }
};

TEST_F(persistent, restarted_and_continued_repeatedly_small) {
    restarted_repeatedly(small);
}
TEST_F(persistent, restarted_and_continued_repeatedly_large) {
    restarted_repeatedly(large);
}
TEST_F(persistent, synchronous_restarted_and_continued_repeatedly) {
    restarted_repeatedly(large, true);
}

// With UCX the operation then uses the request of an earlier operation, whose old contents matter.
TEST_F(persistent, started_when_its_message_is_there_already) {
    for (int turn = 0; turn < 20; ++turn) {
        int before = -1;
        MPI_Request plain = MPI_REQUEST_NULL;
        outcome seen;
        if (rank == 0) {
            MPI_Irecv(&before, 1, MPI_INT, 1, 3, comm, &plain);
            seen.attach(plain, cr);
            tell(1);
        } else {
            await(0);
            MPI_Isend(&turn, 1, MPI_INT, 0, 3, comm, &plain);
            seen.attach(plain, cr);
        }
        wait();
        EXPECT_EQ(1, seen.ended());
        init(small);
        if (rank == 0) {
            MPI_Probe(1, 2, comm, MPI_STATUS_IGNORE);
        }
        start(turn);
        outcome started;
        started.attach(request, cr, THENCE_PERSISTENT);
        wait();
        EXPECT_EQ(1, started.ended());
        expect_data(turn);
        MPI_Request_free(&request);
    }
}

TEST_F(persistent, is_not_completed_by_take_complete) {
    thence_info info{};
    thence_query(&info, sizeof info);
    init(small);
    start(1);
    outcome seen;
    seen.attach(request, cr, THENCE_PERSISTENT);
    wait();
    MPI_Status status{};
    int flag = -1;
    if (std::string(info.engine) == "openmpi") {
        const MPI_Request before = request;
        EXPECT_EQ(MPI_SUCCESS, thence_take_complete(&request, &flag, &status));
        EXPECT_EQ(0, flag) << "it is unchanged and keeps its results";
        EXPECT_EQ(before, request);
    }
    EXPECT_EQ(MPI_SUCCESS, MPI_Test(&request, &flag, &status));
    EXPECT_EQ(1, flag);
    if (rank == 0) {
        EXPECT_EQ(1, status.MPI_SOURCE);
    }
}

TEST_F(persistent, recognized_without_the_flag) {
    thence_info info{};
    thence_query(&info, sizeof info);
    if (info.detects_persistent == 0) {
        GTEST_SKIP() << "this engine does not recognize persistent requests";
    }
    init(small);
    for (int turn = 0; turn < 3; ++turn) {
        start(turn);
        outcome seen;
        seen.attach(request, cr);
        EXPECT_NE(MPI_REQUEST_NULL, request);
        wait();
        EXPECT_EQ(1, seen.ended());
        expect_data(turn);
    }
}

// The interposed MPI_Recv_init registers them, on MPIs that cannot tell them from others.
TEST_F(persistent, recognized_without_the_flag_when_interposed) {
    init(small);
    start(1);
    outcome seen;
    seen.attach(request, cr);
    EXPECT_NE(MPI_REQUEST_NULL, request);
    wait();
    EXPECT_EQ(1, seen.ended());
}

TEST_F(persistent, restarted_by_its_callback) {
    struct restarting {
        MPI_Request *request, cr;
        int turns = 0;
        static int again(int, MPI_Status *, void *d) {
            auto &self = *static_cast<restarting *>(d);
            int flag = 1;
            while (flag != 0 && self.turns < 20) {
                ++self.turns;
                MPI_Start(self.request);
                thence_attach(1, self.request, &again, d, THENCE_PERSISTENT, MPI_STATUS_IGNORE, self.cr, &flag);
            }
            return MPI_SUCCESS;
        }
    };
    init(large);
    std::fill(data.begin(), data.end(), rank == 1 ? 5 : -1);
    restarting self{&request, cr};
    restarting::again(MPI_SUCCESS, nullptr, &self);
    wait();
    EXPECT_EQ(20, self.turns);
    expect_data(5);
}

TEST_F(persistent, carries_several_continuations) {
    for (const int n : {small, large}) {
        init(n);
        for (int turn = 0; turn < 5; ++turn) {
            outcome seen[4];
            std::fill(data.begin(), data.end(), rank == 1 ? turn : -1);
            if (rank == 1) {
                await(0);
            }
            MPI_Start(&request);
            for (outcome &one : seen) {
                one.attach(request, cr, THENCE_PERSISTENT);
                EXPECT_EQ(rank == 1 ? one.at_once : 0, one.at_once);
            }
            if (rank == 0) {
                tell(1);
            }
            wait();
            for (const outcome &one : seen) {
                ASSERT_EQ(1, one.ended());
                if (rank == 0) {
                    ASSERT_EQ(n, one.count());
                    ASSERT_EQ(2, one.statuses[0].MPI_TAG);
                }
            }
            expect_data(turn);
        }
        MPI_Request_free(&request);
    }
}

TEST_F(persistent, user_waits_for_it_too) {
    init(large);
    for (int turn = 0; turn < 10; ++turn) {
        start(turn);
        outcome seen;
        MPI_Status status;
        seen.attach(request, cr, THENCE_PERSISTENT);
        ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&request, &status));
        ASSERT_NE(MPI_REQUEST_NULL, request);
        expect_data(turn);
        wait();
        ASSERT_EQ(1, seen.ended());
        if (rank == 0) {
            EXPECT_EQ(large, seen.count());
        }
    }
}

TEST_F(persistent, user_tests_it_too) {
    init(small);
    for (int turn = 0; turn < 10; ++turn) {
        start(turn);
        outcome seen;
        seen.attach(request, cr, THENCE_PERSISTENT);
        int flag = 0;
        while (flag == 0) {
            ASSERT_EQ(MPI_SUCCESS, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        }
        expect_data(turn);
        wait();
        ASSERT_EQ(1, seen.ended());
    }
}

TEST_F(persistent, freed_while_its_continuation_waits) {
    init(small);
    if (rank == 1) {
        await(0);
    }
    start(6);
    outcome seen;
    seen.attach(request, cr, THENCE_PERSISTENT);
    EXPECT_EQ(MPI_SUCCESS, MPI_Request_free(&request));
    EXPECT_EQ(MPI_REQUEST_NULL, request);
    if (rank == 0) {
        tell(1);
    }
    wait();
    EXPECT_EQ(1, seen.ended());
    expect_data(6);
}

TEST_F(persistent, inactive_counts_as_complete) {
    init(small);
    outcome seen;
    seen.attach(request, cr, THENCE_PERSISTENT);
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(MPI_ANY_SOURCE, seen.statuses[0].MPI_SOURCE);
    EXPECT_EQ(MPI_ANY_TAG, seen.statuses[0].MPI_TAG);
    EXPECT_EQ(0, seen.count());
    EXPECT_NE(MPI_REQUEST_NULL, request);
    start(3); // and it is still usable
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_data(3);
}

TEST_F(persistent, group_started_by_startall) {
    constexpr int n = 6;
    MPI_Request requests[n];
    int values[n];
    for (int i = 0; i < n; ++i) {
        if (rank == 0) {
            MPI_Recv_init(&values[i], 1, MPI_INT, 1, i, comm, &requests[i]);
        } else {
            MPI_Send_init(&values[i], 1, MPI_INT, 0, i, comm, &requests[i]);
        }
    }
    for (int turn = 0; turn < 5; ++turn) {
        for (int i = 0; i < n; ++i) {
            values[i] = rank == 1 ? 10 * turn + i : -1;
        }
        ASSERT_EQ(MPI_SUCCESS, MPI_Startall(n, requests));
        outcome seen;
        seen.attach(n, requests, cr, THENCE_PERSISTENT);
        wait();
        ASSERT_EQ(1, seen.ended());
        for (int i = 0; i < n; ++i) {
            EXPECT_EQ(10 * turn + i, values[i]);
            if (rank == 0) {
                EXPECT_EQ(i, seen.statuses[static_cast<std::size_t>(i)].MPI_TAG);
            }
        }
    }
    for (MPI_Request &one : requests) {
        MPI_Request_free(&one);
    }
}

} // namespace
