// SPDX-License-Identifier: BSD-3-Clause
// Operations that fail, between two ranks (messages to self never report truncation on some MPIs), and arguments that
// are refused. A failed operation ends its continuation once, with the error in the status and in the callback.
#include "support.hpp"

#include <memory>

namespace {

// Memory that is in use until the first test, and not zero, so that MPI's requests lie in memory with other contents.
std::vector<std::unique_ptr<std::vector<char>>> used_before = [] {
    std::vector<std::unique_ptr<std::vector<char>>> blocks(400);
    for (auto &block : blocks) {
        block = std::make_unique<std::vector<char>>(100000, 'Z');
    }
    return blocks;
}();

int handled = 0;
void count_handled(MPI_Comm *, int *, ...) {
    ++handled;
}

class error : public mpi_test {
protected:
    static constexpr int small = 8;
    static constexpr int large = 1 << 18; // 1 MiB: rendezvous everywhere

    // Rank 0 receives n/2 where rank 1 sends n. `attached`: the continuation is attached before the message is sent.
    void truncate(int n, bool attached) {
        std::vector<int> data(static_cast<std::size_t>(n), rank);
        if (rank == 0) {
            MPI_Request request = MPI_REQUEST_NULL;
            outcome seen;
            MPI_Irecv(data.data(), n / 2, MPI_INT, 1, 3, comm, &request);
            if (attached) {
                seen.attach(request, cr);
                EXPECT_EQ(0, seen.ended());
                tell(1);
            } else {
                tell(1);
                await(1); // rank 1 has sent the message before
                sleep_ms(20);
                seen.attach(request, cr);
            }
            wait();
            EXPECT_EQ(MPI_REQUEST_NULL, request);
            EXPECT_EQ(1, seen.ended());
            EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(seen.error));
            EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(seen.statuses[0].MPI_ERROR));
            EXPECT_EQ(1, seen.statuses[0].MPI_SOURCE);
            EXPECT_EQ(3, seen.statuses[0].MPI_TAG);
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            await(0);
            MPI_Isend(data.data(), n, MPI_INT, 0, 3, comm, &request);
            if (!attached) {
                tell(0);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
};

TEST_F(error, truncated_eager_message_ends_its_continuation) {
    truncate(small, true);
}
TEST_F(error, truncated_rendezvous_message_ends_its_continuation) {
    truncate(large, true);
}
TEST_F(error, truncated_before_attach_eager) {
    truncate(small, false);
}
TEST_F(error, truncated_before_attach_rendezvous) {
    truncate(large, false);
}
TEST_F(error, many_truncated_in_a_row) {
    for (int i = 0; i < 30; ++i) {
        truncate(small, i % 3 != 0);
    }
}

TEST_F(error, of_one_operation_in_a_group_changes_no_other) {
    constexpr int n = 5;
    constexpr int bad = 2;
    for (const int sent : {small, large}) {
        std::vector<int> data(static_cast<std::size_t>(n * sent), -1);
        if (rank == 0) {
            MPI_Request requests[n];
            outcome seen;
            for (int i = 0; i < n; ++i) {
                MPI_Irecv(data.data() + i * sent, i == bad ? sent / 2 : sent, MPI_INT, 1, i, comm, &requests[i]);
            }
            seen.attach(n, requests, cr);
            EXPECT_EQ(0, seen.ended());
            tell(1);
            wait();
            EXPECT_EQ(1, seen.calls.load());
            EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(seen.error));
            for (int i = 0; i < n; ++i) {
                const MPI_Status &status = seen.statuses[static_cast<std::size_t>(i)];
                EXPECT_EQ(i == bad ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class_of(status.MPI_ERROR)) << i;
                EXPECT_EQ(i, status.MPI_TAG);
                if (i != bad) {
                    EXPECT_EQ(sent, seen.count(i));
                    EXPECT_EQ(i, data[static_cast<std::size_t>(i * sent + sent - 1)]);
                }
                EXPECT_EQ(MPI_REQUEST_NULL, requests[i]);
            }
        } else {
            await(0);
            for (int i = 0; i < n; ++i) {
                std::fill(data.begin(), data.end(), i);
                MPI_Send(data.data(), sent, MPI_INT, 0, i, comm);
            }
        }
    }
}

// Open MPI's MPI_Testsome frees pending requests whose error field is not zero when another operation fails.
TEST_F(error, of_a_receive_ends_no_pending_send) {
    constexpr int n = 60;
    used_before.clear();
    std::vector<int> data(small, rank);
    std::vector<outcome> sends(n);
    if (rank == 0) {
        for (int i = 0; i < n; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Issend(data.data(), 1, MPI_INT, 0, 100 + i, comm, &request);
            sends[static_cast<std::size_t>(i)].attach(request, cr);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        outcome failed;
        MPI_Irecv(data.data(), small / 2, MPI_INT, 1, 1, comm, &request);
        failed.attach(request, cr);
        tell(1);
        while (failed.ended() == 0) {
            thence_progress();
        }
        EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(failed.error));
        for (int i = 0; i < n; ++i) {
            MPI_Recv(data.data(), 1, MPI_INT, 0, 100 + i, comm, MPI_STATUS_IGNORE);
        }
        wait();
        for (const outcome &send : sends) {
            EXPECT_EQ(1, send.ended());
            EXPECT_EQ(MPI_SUCCESS, send.error);
        }
    } else {
        await(0);
        MPI_Send(data.data(), small, MPI_INT, 0, 1, comm);
    }
}

// Some MPIs free a persistent request when a call of the user reports its failure. A continuation does not free it.
TEST_F(error, of_a_persistent_receive_ends_each_continuation_on_it) {
    std::vector<int> data(small, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Recv_init(data.data(), small / 2, MPI_INT, 1, 1, comm, &request);
    }
    for (const int n : {small / 2, small, small / 2}) {
        if (rank == 0) {
            outcome seen, twin;
            MPI_Start(&request);
            seen.attach(request, cr, THENCE_PERSISTENT);
            twin.attach(request, cr, THENCE_PERSISTENT);
            tell(1);
            wait();
            for (const outcome *one : {&seen, &twin}) {
                EXPECT_EQ(1, one->ended());
                EXPECT_EQ(n == small ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class_of(one->error));
                EXPECT_EQ(n == small ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class_of(one->statuses[0].MPI_ERROR));
            }
            MPI_Status status;
            const int code = MPI_Wait(&request, &status); // the user's call reports the same
            EXPECT_EQ(n == small ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class_of(code));
            EXPECT_EQ(1, status.MPI_SOURCE);
            ASSERT_NE(MPI_REQUEST_NULL, request);
        } else {
            await(0);
            MPI_Send(data.data(), n, MPI_INT, 0, 1, comm);
        }
    }
    if (rank == 0) {
        MPI_Request_free(&request);
    }
}

// With and without continuation. With such a handler MPICH 5 returns no error, so only the calls are counted. Open MPI
// 4.1 frees the request if the user's call finds the failure.
TEST_F(error, of_a_persistent_receive_calls_its_error_handler_once) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_handled, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    std::vector<int> data(small, -1);
    for (const bool continued : {false, true}) {
        if (rank == 0) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Recv_init(data.data(), small / 2, MPI_INT, 1, 1, comm, &request);
            handled = 0;
            outcome seen;
            MPI_Start(&request);
            if (continued) {
                seen.attach(request, cr, THENCE_PERSISTENT);
                tell(1);
                wait();
                EXPECT_EQ(1, seen.ended());
                EXPECT_EQ(1, handled);
                EXPECT_NE(MPI_REQUEST_NULL, request);
            } else {
                tell(1);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            EXPECT_EQ(1, handled);
            if (request != MPI_REQUEST_NULL) {
                MPI_Request_free(&request);
            }
        } else {
            await(0);
            MPI_Send(data.data(), small, MPI_INT, 0, 1, comm);
        }
    }
}

TEST_F(error, returned_by_a_callback_leaves_the_cr_usable) {
    if (rank != 0) {
        return;
    }
    for (int i = 0; i < 3; ++i) {
        int value = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        outcome seen;
        seen.result = MPI_ERR_OTHER;
        MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
        seen.attach(request, cr);
        MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
        wait();
        EXPECT_EQ(1, seen.calls.load());
        EXPECT_EQ(1, thence_is_cr(cr));
    }
}

TEST_F(error, failed_is_counted) {
    thence_stats_info before{}, after{};
    thence_stats_query(&before, sizeof before);
    truncate(small, true);
    thence_stats_query(&after, sizeof after);
    EXPECT_EQ(rank == 0 ? 1U : 0U, after.failed - before.failed);
}

TEST_F(error, bad_arguments_change_nothing) {
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    MPI_Request before = request;
    outcome seen;
    int flag = 77;
    MPI_Request requests[2] = {request, cr};
    const auto refuse = [&](int expected, int code) {
        EXPECT_EQ(expected, class_of(code));
        EXPECT_EQ(77, flag);
        EXPECT_EQ(before, request);
        EXPECT_EQ(before, requests[0]);
        EXPECT_EQ(0, registered(cr));
    };
    MPI_Status status;
    refuse(MPI_ERR_ARG, thence_attach(-1, &request, &outcome::callback, &seen, 0, &status, cr, &flag));
    refuse(MPI_ERR_ARG, thence_attach(1, nullptr, &outcome::callback, &seen, 0, &status, cr, &flag));
    refuse(MPI_ERR_ARG, thence_attach(1, &request, nullptr, &seen, 0, &status, cr, &flag));
    refuse(MPI_ERR_ARG, thence_attach(1, &request, &outcome::callback, &seen, 1U << 30, &status, cr, &flag));
    refuse(MPI_ERR_ARG, thence_attach(1, &request, &outcome::callback, &seen, 0, &status, cr, nullptr));
    refuse(MPI_ERR_REQUEST, thence_attach(1, &request, &outcome::callback, &seen, 0, &status, MPI_REQUEST_NULL, &flag));
    refuse(MPI_ERR_REQUEST, thence_attach(1, &request, &outcome::callback, &seen, 0, &status, before, &flag));
    refuse(MPI_ERR_REQUEST, thence_attach(2, requests, &outcome::callback, &seen, 0, MPI_STATUSES_IGNORE, cr, &flag));
    refuse(MPI_ERR_REQUEST, thence_test(&request, &flag, &status));
    refuse(MPI_ERR_REQUEST, thence_start(&request));
    refuse(MPI_ERR_REQUEST, thence_free(&request));
    refuse(MPI_ERR_REQUEST, thence_cancel(&request));
    refuse(MPI_ERR_ARG, thence_test(nullptr, &flag, &status));
    refuse(MPI_ERR_ARG, thence_test(&cr, nullptr, &status));
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE); // the request is unchanged
    EXPECT_EQ(rank, value);
    EXPECT_EQ(0, seen.ended());
}

TEST_F(error, invalid_info_values_are_refused) {
    const struct {
        const char *key, *value;
        bool good;
    } cases[] = {
        {"mpi_continue_poll_only", "yes please", false},
        {"mpi_continue_poll_only", "true", true},
        {"mpi_continue_enqueue_complete", "2", false},
        {"mpi_continue_enqueue_complete", "false", true},
        {"mpi_continue_max_poll", "many", false},
        {"mpi_continue_max_poll", "-2", false},
        {"mpi_continue_max_poll", "3x", false},
        {"mpi_continue_max_poll", "99999999999", false},
        {"mpi_continue_max_poll", "-1", true},
        {"mpi_continue_max_poll", "5", true},
        {"mpi_continue_thread", "some", false},
        {"mpi_continue_thread", "application", true},
        {"mpi_continue_async_signal_safe", "TRUE", false},
        {"mpi_continue_async_signal_safe", "true", true},
        {"not_our_key", "anything", true},
    };
    for (const auto &one : cases) {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, one.key, one.value);
        MPI_Request made = MPI_REQUEST_NULL;
        const int code = thence_cr_create(0, -1, info, &made);
        EXPECT_EQ(one.good ? MPI_SUCCESS : MPI_ERR_INFO_VALUE, class_of(code)) << one.key << '=' << one.value;
        EXPECT_EQ(one.good, made != MPI_REQUEST_NULL) << one.key << '=' << one.value;
        if (made != MPI_REQUEST_NULL) {
            thence_free(&made);
        }
        MPI_Info_free(&info);
    }
    MPI_Request made = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_ERR_ARG, class_of(thence_cr_create(1U << 30, -1, MPI_INFO_NULL, &made)));
    EXPECT_EQ(MPI_ERR_ARG, class_of(thence_cr_create(0, -2, MPI_INFO_NULL, &made)));
    EXPECT_EQ(MPI_ERR_ARG, class_of(thence_cr_create(0, -1, MPI_INFO_NULL, nullptr)));
    EXPECT_EQ(MPI_ERR_INFO_VALUE, class_of(thence_cr_create(THENCE_CR_POLL_ONLY, 0, MPI_INFO_NULL, &made)));
    EXPECT_EQ(MPI_REQUEST_NULL, made);
}

TEST_F(error, info_values_are_in_force) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_continue_poll_only", "true");
    MPI_Info_set(info, "mpi_continue_enqueue_complete", "true");
    MPI_Info_set(info, "mpi_continue_max_poll", "4");
    MPI_Request made = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, info, &made));
    MPI_Info_free(&info);
    thence_cr_info got{};
    thence_cr_query(made, &got, sizeof got);
    EXPECT_EQ(THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE, got.flags);
    EXPECT_EQ(4, got.max_poll);
    outcome seen;
    seen.attach(0, nullptr, made);
    EXPECT_EQ(0, seen.at_once) << "enqueue_complete: never at once";
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&made, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, seen.calls.load());
    thence_free(&made);
}

} // namespace
