// SPDX-License-Identifier: BSD-3-Clause
// MPI initialized for fewer threads (see --level= of the main program): everything works on the threads that may call
// MPI. There is no helper thread then: a hint for it has no effect, and the flag that demands it is refused.
#include "support.hpp"

namespace {

class level : public mpi_test {};

TEST_F(level, is_at_least_the_required_one) {
    int provided = -1;
    MPI_Query_thread(&provided);
    EXPECT_GE(provided, asked_level);
}

TEST_F(level, continuations_run) {
    std::vector<int> data(1 << 18, -1);
    for (int turn = 0; turn < 20; ++turn) {
        const int n = turn % 2 == 0 ? 4 : 1 << 18;
        const std::vector<int> out(static_cast<std::size_t>(n), turn);
        MPI_Request requests[3];
        outcome seen;
        MPI_Irecv(data.data(), n, MPI_INT, (rank + size - 1) % size, turn, comm, &requests[0]);
        MPI_Isend(out.data(), n, MPI_INT, (rank + 1) % size, turn, comm, &requests[1]);
        MPI_Ibarrier(comm, &requests[2]);
        seen.attach(3, requests, cr);
        EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
        EXPECT_EQ(1, seen.ended());
        EXPECT_EQ(turn, data[static_cast<std::size_t>(n - 1)]);
        EXPECT_EQ(turn, seen.statuses[0].MPI_TAG);
    }
}

TEST_F(level, any_thread_runs_callbacks_or_is_refused) {
    int provided = 0;
    MPI_Query_thread(&provided);
    MPI_Request any = MPI_REQUEST_NULL;
    const int code = thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &any);
    if (provided < MPI_THREAD_MULTIPLE) {
        EXPECT_EQ(MPI_ERR_UNSUPPORTED_OPERATION, class_of(code));
        EXPECT_EQ(MPI_REQUEST_NULL, any);
    } else {
        EXPECT_EQ(MPI_SUCCESS, code);
        EXPECT_EQ(MPI_SUCCESS, thence_free(&any));
    }
}

TEST_F(level, the_info_key_any_is_a_hint) {
    // At every level the CR is created and its continuations run, on this thread if there is no helper.
    MPI_Request any = create_with_thread("any");
    static std::thread::id ran_on;
    ran_on = {};
    int value = 0;
    int flag = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    thence_attach(
        1, &request,
        [](int, MPI_Status *, void *) -> int {
            ran_on = std::this_thread::get_id();
            return MPI_SUCCESS;
        },
        nullptr, 0, MPI_STATUS_IGNORE, any, &flag);
    ASSERT_EQ(0, flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&any, MPI_STATUS_IGNORE));
    EXPECT_NE(std::thread::id{}, ran_on);
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        EXPECT_EQ(std::this_thread::get_id(), ran_on) << "no other thread may call MPI";
        thence_stats_info stats{};
        thence_stats_query(&stats, sizeof stats);
        EXPECT_EQ(0U, stats.helper_wakeups);
    }
    MPI_Request_free(&any);
}

TEST_F(level, callback_may_block) {
    struct job {
        MPI_Comm comm;
        int peer, value = -1;
        static int callback(int, MPI_Status *, void *d) {
            auto &self = *static_cast<job *>(d);
            return MPI_Sendrecv(&self.peer, 1, MPI_INT, self.peer, 2, &self.value, 1, MPI_INT, self.peer, 2, self.comm,
                                MPI_STATUS_IGNORE);
        }
    } self{comm, rank};
    int first = 0;
    int flag = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&first, 1, MPI_INT, rank, 1, comm, &request);
    thence_attach(1, &request, &job::callback, &self, 0, MPI_STATUS_IGNORE, cr, &flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
    EXPECT_EQ(rank, self.value);
}

TEST_F(level, other_threads_may_take_turns_when_serialized) {
    if (asked_level != MPI_THREAD_SERIALIZED) {
        GTEST_SKIP() << "for --level=serialized";
    }
    std::vector<outcome> seen(8);
    std::vector<int> values(8);
    for (std::size_t i = 0; i < 8; ++i) {
        std::thread([&, i] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&values[i], 1, MPI_INT, rank, static_cast<int>(i), comm, &request);
            seen[i].attach(request, cr);
        }).join();
    }
    for (std::size_t i = 0; i < 8; ++i) {
        std::thread([&, i] { MPI_Send(&rank, 1, MPI_INT, rank, static_cast<int>(i), comm); }).join();
    }
    std::thread([&] { EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE)); }).join();
    for (const outcome &one : seen) {
        EXPECT_EQ(1, one.ended());
    }
}

} // namespace
