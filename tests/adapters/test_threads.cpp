// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_fixture.hpp"

#include <thence/pthread.h>
#include <thence/threads.hpp>

#include <vector>

namespace {

using thence::threads::block;

// Another thread sends to both, to the second one later, and makes progress.
class two_late_receives {
    pending_receive a_{1};
    pending_receive b_{2};
    std::atomic<bool> second_sent_ = false;

public:
    std::array<MPI_Request, 2> requests{a_.request, b_.request};

    void expect_complete(const MPI_Status statuses[]) const {
        EXPECT_TRUE(second_sent_.load());
        EXPECT_EQ(statuses[0].MPI_TAG, 1);
        EXPECT_EQ(statuses[1].MPI_TAG, 2);
        EXPECT_EQ(a_.value() + b_.value(), 30);
    }
    ~two_late_receives() { sender_.join(); }

private:
    static void make_progress() {
        for (int i = 0; i < 1000; ++i) {
            thence_progress();
        }
    }
    std::thread sender_{[this] {
        a_.complete(10);
        make_progress();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        second_sent_ = true;
        b_.complete(20);
        make_progress();
    }};
};

TEST(threads_block, returns_at_once_when_complete_already) {
    const thence::continuation_request cr;
    complete_receive r(1);
    const MPI_Status status = block(r.request, cr); // nobody makes progress: would sleep for ever otherwise
    EXPECT_EQ(status.MPI_TAG, 1);
    EXPECT_EQ(r.request, MPI_REQUEST_NULL);
}

TEST(threads_block, of_no_requests_returns_at_once) {
    const thence::continuation_request cr;
    std::vector<MPI_Request> none;
    EXPECT_TRUE(block(none, cr).empty());
    EXPECT_TRUE(thence::threads::wait(none, cr).empty());
}

TEST(threads_block, wakes_after_the_last_operation_of_the_group) {
    const thence::continuation_request cr;
    two_late_receives both;
    const std::vector<MPI_Status> statuses = block(both.requests, cr);
    both.expect_complete(statuses.data());
}

TEST(threads_block, throws_the_error_of_the_failed_operation_with_all_statuses) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    complete_receive good(2);
    std::array<MPI_Request, 2> requests{good.request, bad.request};
    const background_progress others;
    bad.ask();
    try {
        block(requests, cr);
        FAIL() << "no exception";
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_TRUNCATE);
        EXPECT_EQ(class_of(e.code()), MPI_ERR_TRUNCATE);
        ASSERT_EQ(e.statuses().size(), 2U);
        EXPECT_EQ(e.statuses()[0].MPI_ERROR, MPI_SUCCESS);
        EXPECT_EQ(class_of(e.statuses()[1].MPI_ERROR), MPI_ERR_TRUNCATE);
        EXPECT_NE(std::string(e.what()).find("blocked thread"), std::string::npos);
    }
}

TEST(threads_block, delivers_a_failure_also_where_the_cr_keeps_failed_continuations) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    thence::continuation_request cr(THENCE_CR_REPORT_FAILED);
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    bad.ask();
    EXPECT_THROW(thence::threads::wait(bad.request, cr), thence::error);
}

TEST(threads_block, changes_nothing_when_nothing_can_be_attached) {
    const errors_return scope;
    pending_receive r(1);
    const MPI_Request before = r.request;
    EXPECT_THROW(block(r.request, MPI_REQUEST_NULL), thence::error);
    EXPECT_EQ(r.request, before);
    r.complete();
    EXPECT_EQ(MPI_Wait(&r.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(pthread_block, sleeps_until_all_are_complete) {
    const thence::continuation_request cr;
    complete_receive known(1);
    EXPECT_EQ(thence_pthread_block(1, &known.request, MPI_STATUSES_IGNORE, cr), MPI_SUCCESS);
    EXPECT_EQ(known.request, MPI_REQUEST_NULL);
    EXPECT_EQ(thence_pthread_block(0, nullptr, MPI_STATUSES_IGNORE, cr), MPI_SUCCESS);

    two_late_receives both;
    std::array<MPI_Status, 2> statuses{};
    EXPECT_EQ(thence_pthread_block(2, both.requests.data(), statuses.data(), cr), MPI_SUCCESS);
    both.expect_complete(statuses.data());
}

TEST(pthread_block, returns_the_error_of_the_failed_operation) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr(THENCE_CR_REPORT_FAILED);
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    const background_progress others;
    bad.ask();
    EXPECT_EQ(class_of(thence_pthread_block(1, &bad.request, MPI_STATUSES_IGNORE, cr)), MPI_ERR_TRUNCATE);
}

TEST(pthread_block, refuses_where_it_would_sleep_for_ever) {
    const errors_return scope;
    pending_receive r(3);
    const MPI_Request before = r.request;
    for (const unsigned flags : {THENCE_CR_POLL_ONLY, THENCE_CR_NEEDS_START}) {
        const thence::continuation_request cr(flags);
        EXPECT_EQ(thence_pthread_block(1, &r.request, MPI_STATUSES_IGNORE, cr), MPI_ERR_ARG);
    }
    EXPECT_EQ(class_of(thence_pthread_block(1, &r.request, MPI_STATUSES_IGNORE, MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    EXPECT_EQ(r.request, before);
    r.complete();
    MPI_Wait(&r.request, MPI_STATUS_IGNORE);
}

TEST(threads_wait, makes_progress_when_it_is_the_only_thread) {
    const thence::continuation_request cr;
    pending_receive r(1);
    const int value = 42;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &send);
    thence::threads::wait(r.request, cr);
    EXPECT_EQ(r.value(), 42);
    thence::threads::wait(send, cr);
}

// Rank 1 calls MPI only in the waiting threads, so a polling thread that leaves without a successor leaves the rest
// asleep.
TEST(threads_wait, pauses_while_nothing_arrives) {
    const thence::continuation_request cr;
    expect_pauses_while_nothing_arrives([&](MPI_Request request) { thence::threads::wait(request, cr); });
}

TEST(threads_wait, hands_the_polling_on_when_the_polling_thread_is_served) {
    NEEDS_TWO_RANKS();
    const thence::continuation_request cr;
    constexpr int count = 6;
    if (rank() == 0) {
        for (int tag = 0; tag < count; ++tag) {
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
        return;
    }
    std::array<int, count> values{};
    std::vector<std::thread> threads;
    for (int tag = 0; tag < count; ++tag) {
        threads.emplace_back([&, tag] {
            MPI_Request request = MPI_REQUEST_NULL;
            int &value = values[static_cast<std::size_t>(tag)];
            MPI_Irecv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
            thence::threads::wait(request, cr);
            value = -value;
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(values, (std::array<int, count>{0, -1, -2, -3, -4, -5}));
}

TEST(threads_wait, serves_many_threads_with_many_operations) {
    const thence::continuation_request cr;
    constexpr int threads_count = 8;
    constexpr int rounds = 100;
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < threads_count; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                const int out = 1000 * t + i;
                int in = -1;
                std::array<MPI_Request, 2> requests;
                MPI_Irecv(&in, 1, MPI_INT, 0, t, MPI_COMM_SELF, &requests[0]);
                MPI_Isend(&out, 1, MPI_INT, 0, t, MPI_COMM_SELF, &requests[1]);
                thence::threads::wait(requests, cr);
                right += in == out;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(right.load(), threads_count * rounds);
}

TEST(threads_wait, refuses_a_cr_that_nobody_would_test) {
    const errors_return scope;
    const thence::continuation_request cr(THENCE_CR_POLL_ONLY);
    pending_receive r(1);
    const MPI_Request before = r.request;
    try {
        thence::threads::wait(r.request, cr);
        FAIL() << "no exception";
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_ARG);
    }
    EXPECT_EQ(r.request, before);
    r.complete();
    MPI_Wait(&r.request, MPI_STATUS_IGNORE);
}

TEST(threads_wait, keeps_persistent_requests_usable) {
    const thence::continuation_request cr;
    int in = 0;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Recv_init(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &receive);
    for (int i = 1; i <= 3; ++i) {
        MPI_Start(&receive);
        MPI_Request send = MPI_REQUEST_NULL;
        MPI_Isend(&i, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &send);
        thence::threads::wait(receive, cr);
        EXPECT_EQ(in, i);
        EXPECT_NE(receive, MPI_REQUEST_NULL);
        thence::threads::wait(send, cr);
    }
    MPI_Request_free(&receive);
}

} // namespace
