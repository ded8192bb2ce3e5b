// SPDX-License-Identifier: BSD-3-Clause
// One continuation on several operations of different kinds: it runs after the last of them, and each status is the one
// of its own operation. Runs on any number of ranks; messages go to the rank itself and to its neighbours in a ring.
#include "support.hpp"

namespace {

class group : public mpi_test {};

TEST_F(group, of_every_size_runs_after_the_last) {
    for (const int n : {1, 2, 3, 8, 65, 300}) {
        const auto count = static_cast<std::size_t>(n);
        std::vector<MPI_Request> requests(count);
        std::vector<int> values(count, -1);
        outcome seen;
        for (int i = 0; i < n; ++i) {
            MPI_Irecv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, rank, i, comm,
                      &requests[static_cast<std::size_t>(i)]);
        }
        seen.attach(n, requests.data(), cr);
        for (const MPI_Request request : requests) {
            ASSERT_EQ(MPI_REQUEST_NULL, request);
        }
        for (int i = n - 1; i >= 0; --i) { // the first operation is the last to complete
            ASSERT_EQ(0, seen.ended()) << i << " of " << n << " are still missing";
            MPI_Send(&i, 1, MPI_INT, rank, i, comm);
        }
        wait();
        ASSERT_EQ(1, seen.calls.load());
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(i, values[static_cast<std::size_t>(i)]);
            ASSERT_EQ(i, seen.statuses[static_cast<std::size_t>(i)].MPI_TAG);
            ASSERT_EQ(MPI_SUCCESS, seen.statuses[static_cast<std::size_t>(i)].MPI_ERROR);
        }
    }
}

// One call, as many continuations as operations: 500 receives and 500 sends round the ring.
TEST_F(group, each_of_many_operations_gets_its_own_callback_with_its_index) {
    constexpr int messages = 500;
    struct all {
        std::vector<int> in = std::vector<int>(messages, -1);
        std::vector<MPI_Status> statuses = std::vector<MPI_Status>(2 * messages);
        std::vector<std::atomic<int>> ends = std::vector<std::atomic<int>>(2 * messages);
        std::atomic<int> wrong{0};

        void ended(int index, const MPI_Status &status) {
            ends[static_cast<std::size_t>(index)].fetch_add(1);
            if (index < messages && (in[static_cast<std::size_t>(index)] != index || status.MPI_TAG != index)) {
                wrong.fetch_add(1);
            }
        }
        static int callback(int index, int error, MPI_Status *status, void *data) {
            auto &self = *static_cast<all *>(data);
            self.ended(index, *status);
            self.wrong.fetch_add(error == MPI_SUCCESS ? 0 : 1);
            return MPI_SUCCESS;
        }
    } a;
    std::vector<int> out(messages);
    std::vector<MPI_Request> requests(2 * messages);
    for (int i = 0; i < messages; ++i) {
        const auto at = static_cast<std::size_t>(i);
        out[at] = i;
        MPI_Irecv(&a.in[at], 1, MPI_INT, (rank + size - 1) % size, i, comm, &requests[at]);
    }
    for (int i = 0; i < messages; ++i) {
        const auto at = static_cast<std::size_t>(i);
        MPI_Isend(&out[at], 1, MPI_INT, (rank + 1) % size, i, comm, &requests[messages + at]);
    }
    int complete = -1;
    std::vector<int> indices(2 * messages, -1);
    ASSERT_EQ(MPI_SUCCESS, thence_attach_each(2 * messages, requests.data(), &all::callback, &a, 0, a.statuses.data(),
                                              cr, &complete, indices.data()));
    for (int i = 0; i < complete; ++i) {
        const auto index = static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]);
        a.ended(static_cast<int>(index), a.statuses[index]);
    }
    for (const MPI_Request request : requests) {
        EXPECT_EQ(MPI_REQUEST_NULL, request);
    }
    wait();
    EXPECT_EQ(0, a.wrong.load());
    for (const std::atomic<int> &n : a.ends) {
        EXPECT_EQ(1, n.load());
    }
}

TEST_F(group, of_none_is_complete) {
    outcome seen;
    seen.attach(0, nullptr, cr);
    EXPECT_EQ(1, seen.at_once);
    wait();
    EXPECT_EQ(1, seen.ended());
}

TEST_F(group, of_mixed_kinds_has_each_its_own_status) {
    enum { receive, send, barrier, null, inactive, started, other_cr, kinds };
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    std::vector<int> in(10, -1), out(20, rank);
    int late = 0, again = -1, never = 0;
    MPI_Request requests[kinds];
    MPI_Request persistent_receive = MPI_REQUEST_NULL;
    MPI_Request inactive_receive = MPI_REQUEST_NULL;
    MPI_Request second = MPI_REQUEST_NULL;
    MPI_Request pending = MPI_REQUEST_NULL;
    outcome inner, seen;

    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &second));
    MPI_Irecv(&late, 1, MPI_INT, rank, 31, comm, &pending);
    inner.attach(pending, second);
    ASSERT_EQ(0, inner.ended());

    MPI_Recv_init(&again, 1, MPI_INT, before, 12, comm, &persistent_receive);
    MPI_Recv_init(&never, 1, MPI_INT, before, 13, comm, &inactive_receive);
    MPI_Irecv(in.data(), 10, MPI_INT, MPI_ANY_SOURCE, 11, comm, &requests[receive]);
    MPI_Start(&persistent_receive);
    MPI_Isend(out.data(), 7, MPI_INT, next, 11, comm, &requests[send]);
    MPI_Ibarrier(comm, &requests[barrier]);
    requests[null] = MPI_REQUEST_NULL;
    requests[inactive] = inactive_receive;
    requests[started] = persistent_receive;
    requests[other_cr] = second;
    seen.attach(kinds, requests, cr);
    ASSERT_EQ(MPI_SUCCESS, seen.code);
    EXPECT_EQ(0, seen.ended());
    EXPECT_EQ(MPI_REQUEST_NULL, requests[receive]);
    EXPECT_EQ(MPI_REQUEST_NULL, requests[send]);
    EXPECT_EQ(MPI_REQUEST_NULL, requests[barrier]);
    EXPECT_EQ(inactive_receive, requests[inactive]);
    EXPECT_EQ(persistent_receive, requests[started]);
    EXPECT_EQ(second, requests[other_cr]) << "a continuation request stays usable";

    MPI_Send(&rank, 1, MPI_INT, next, 12, comm);
    MPI_Barrier(comm); // all but the inner continuation will be complete
    for (int i = 0; i < 5; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, seen.ended()) << "the continuation request in the group has a continuation left";
    MPI_Send(&rank, 1, MPI_INT, rank, 31, comm);
    wait();
    EXPECT_EQ(1, seen.calls.load());
    EXPECT_EQ(1, inner.calls.load());

    const auto status = [&](int i) { return seen.statuses[static_cast<std::size_t>(i)]; };
    EXPECT_EQ(before, status(receive).MPI_SOURCE);
    EXPECT_EQ(11, status(receive).MPI_TAG);
    EXPECT_EQ(7, seen.count(receive));
    EXPECT_EQ(before, in[6]);
    EXPECT_EQ(before, status(started).MPI_SOURCE);
    EXPECT_EQ(12, status(started).MPI_TAG);
    EXPECT_EQ(1, seen.count(started));
    EXPECT_EQ(before, again);
    for (const int i : {null, inactive, other_cr}) {
        EXPECT_EQ(MPI_ANY_SOURCE, status(i).MPI_SOURCE) << i;
        EXPECT_EQ(MPI_ANY_TAG, status(i).MPI_TAG) << i;
        EXPECT_EQ(0, seen.count(i)) << i;
        EXPECT_FALSE(seen.cancelled(i)) << i;
    }
    for (int i = 0; i < kinds; ++i) {
        EXPECT_EQ(MPI_SUCCESS, status(i).MPI_ERROR) << i;
    }
    MPI_Request_free(&persistent_receive);
    MPI_Request_free(&inactive_receive);
    thence_free(&second);
}

TEST_F(group, of_null_and_inactive_requests_only_is_complete) {
    int value = 0;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Send_init(&value, 1, MPI_INT, rank, 1, comm, &requests[1]);
    MPI_Request persistent = requests[1];
    outcome seen;
    seen.attach(3, requests, cr);
    EXPECT_EQ(1, seen.at_once);
    EXPECT_EQ(persistent, requests[1]);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(MPI_ANY_SOURCE, seen.statuses[static_cast<std::size_t>(i)].MPI_SOURCE);
        EXPECT_EQ(0, seen.count(i));
    }
    wait();
    MPI_Request_free(&persistent);
}

TEST_F(group, statuses_may_be_ignored) {
    int value[2] = {};
    MPI_Request requests[4];
    for (int i = 0; i < 2; ++i) {
        MPI_Irecv(&value[i], 1, MPI_INT, rank, i, comm, &requests[i]);
        MPI_Isend(&rank, 1, MPI_INT, rank, i, comm, &requests[2 + i]);
    }
    std::atomic<int> calls{0};
    int flag = 0;
    ASSERT_EQ(MPI_SUCCESS, thence_attach(
                               4, requests,
                               [](int, MPI_Status *, void *data) -> int {
                                   ++*static_cast<std::atomic<int> *>(data);
                                   return MPI_SUCCESS;
                               },
                               &calls, 0, MPI_STATUSES_IGNORE, cr, &flag));
    wait();
    EXPECT_EQ(1, calls + flag);
    EXPECT_EQ(rank, value[1]);
}

TEST_F(group, all_complete_already_sets_flag_and_statuses_and_calls_nothing) {
    int value[3] = {};
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) {
        MPI_Irecv(&value[i], 1, MPI_INT, rank, 20 + i, comm, &requests[i]);
    }
    for (int i = 0; i < 3; ++i) {
        MPI_Send(&i, 1, MPI_INT, rank, 20 + i, comm);
    }
    for (MPI_Request request : requests) {
        for (int flag = 0; flag == 0;) {
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        }
    }
    outcome seen;
    seen.attach(3, requests, cr);
    EXPECT_EQ(1, seen.at_once);
    EXPECT_EQ(0, registered(cr));
    wait();
    EXPECT_EQ(0, seen.calls.load());
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(MPI_REQUEST_NULL, requests[i]);
        EXPECT_EQ(20 + i, seen.statuses[static_cast<std::size_t>(i)].MPI_TAG);
        EXPECT_EQ(1, seen.count(i));
    }
}

TEST_F(group, chain_of_continuation_requests_runs_in_order) {
    constexpr int n = 5;
    static std::vector<int> order;
    order.clear();
    MPI_Request crs[n];
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    static int numbers[n];
    const auto note = [](int, MPI_Status *, void *data) -> int {
        order.push_back(*static_cast<int *>(data));
        return MPI_SUCCESS;
    };
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    for (int i = 0; i < n; ++i) {
        numbers[i] = i;
        int flag = 1;
        thence_cr_create(0, -1, MPI_INFO_NULL, &crs[i]);
        ASSERT_EQ(MPI_SUCCESS, thence_attach(1, i == 0 ? &request : &crs[i - 1], note, &numbers[i], 0,
                                             MPI_STATUS_IGNORE, crs[i], &flag));
        ASSERT_EQ(0, flag);
    }
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&crs[n - 1], MPI_STATUS_IGNORE));
    ASSERT_EQ(static_cast<std::size_t>(n), order.size());
    for (int i = 0; i < n; ++i) {
        EXPECT_EQ(i, order[static_cast<std::size_t>(i)]);
        EXPECT_EQ(MPI_SUCCESS, thence_free(&crs[i]));
    }
}

} // namespace
