// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_fixture.hpp"

#include <thence/future.hpp>

#include <list>
#include <vector>

namespace {

using namespace std::chrono_literals;
using thence::as_future;

TEST(future, is_ready_at_once_when_complete_already) {
    const thence::continuation_request cr;
    complete_receive r(3);
    std::future<MPI_Status> future = as_future(r.request, cr);
    ASSERT_EQ(future.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(future.get().MPI_TAG, 3);
}

TEST(future, of_no_requests_is_ready) {
    const thence::continuation_request cr;
    std::vector<MPI_Request> none;
    EXPECT_TRUE(as_future(none, cr).get().empty());
}

TEST(future, becomes_ready_only_after_the_last_operation) {
    const thence::continuation_request cr;
    pending_receive a(1);
    pending_receive b(2);
    std::array<MPI_Request, 2> requests{a.request, b.request};
    std::future<std::vector<MPI_Status>> future = as_future(requests, cr);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    b.complete();
    for (int i = 0; i < 1000; ++i) {
        thence_progress();
    }
    EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
    a.complete();
    const std::vector<MPI_Status> statuses = thence::get(future);
    EXPECT_EQ(statuses[0].MPI_TAG, 1);
    EXPECT_EQ(statuses[1].MPI_TAG, 2);
}

TEST(future, throws_the_error_and_keeps_every_status) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    truncated_receive bad_alone(2);
    if (rank() == 0) {
        bad.send_when_asked();
        bad_alone.send_when_asked();
        return;
    }
    pending_receive good(3);
    std::array<MPI_Request, 2> requests{bad.request, good.request};
    std::future<std::vector<MPI_Status>> future = as_future(requests, cr);
    bad.ask();
    good.complete(5);
    try {
        thence::get(future);
        FAIL() << "no exception";
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_TRUNCATE);
        ASSERT_EQ(e.statuses().size(), 2U);
        EXPECT_EQ(class_of(e.statuses()[0].MPI_ERROR), MPI_ERR_TRUNCATE);
        EXPECT_EQ(e.statuses()[1].MPI_ERROR, MPI_SUCCESS);
    }
    EXPECT_EQ(good.value(), 5);
    std::future<MPI_Status> single = as_future(bad_alone.request, cr);
    bad_alone.ask();
    EXPECT_THROW(thence::get(single), thence::error);
}

TEST(future, holds_an_error_that_was_there_before) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    truncated_receive bad_in_group(2);
    if (rank() == 0) {
        bad.send_when_asked();
        bad_in_group.send_when_asked();
        return;
    }
    for (truncated_receive *r : {&bad, &bad_in_group}) {
        r->ask();
        int flag = 0;
        while (!flag) {
            MPI_Request_get_status(r->request, &flag, MPI_STATUS_IGNORE);
        }
    }
    std::future<MPI_Status> future = as_future(bad.request, cr);
    EXPECT_EQ(future.wait_for(0s), std::future_status::ready);
    EXPECT_THROW(future.get(), thence::error);
    complete_receive good(3);
    std::array<MPI_Request, 2> requests{good.request, bad_in_group.request};
    try {
        as_future(requests, cr).get();
        FAIL() << "no exception";
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_TRUNCATE); // the operation's, not MPI_ERR_IN_STATUS
        EXPECT_EQ(e.statuses().size(), 2U);
    }
}

TEST(future, changes_nothing_when_nothing_can_be_attached) {
    const errors_return scope;
    pending_receive r(1);
    const MPI_Request before = r.request;
    EXPECT_THROW(as_future(r.request, MPI_REQUEST_NULL), thence::error);
    EXPECT_EQ(r.request, before);
    r.complete();
    MPI_Wait(&r.request, MPI_STATUS_IGNORE);
}

TEST(future, may_be_dropped_before_its_operation_is_complete) {
    thence::continuation_request cr;
    pending_receive r(1);
    (void)as_future(r.request, cr);
    r.complete(9);
    cr.wait();
    EXPECT_EQ(r.value(), 9);
}

TEST(future, can_be_made_inside_a_callback) {
    thence::continuation_request cr;
    struct chain {
        pending_receive second{2};
        std::future<MPI_Status> future;
        MPI_Request cr;
    } c{pending_receive(2), {}, cr};
    pending_receive first(1);
    int flag = 0;
    const auto callback = [](int, MPI_Status *, void *data) -> int {
        auto *self = static_cast<chain *>(data);
        self->future = as_future(self->second.request, self->cr);
        return MPI_SUCCESS;
    };
    ASSERT_EQ(thence_attach(1, &first.request, callback, &c, 0, MPI_STATUSES_IGNORE, cr, &flag), MPI_SUCCESS);
    ASSERT_EQ(flag, 0);
    first.complete();
    thence::progress_until([&] { return c.future.valid(); });
    EXPECT_EQ(c.future.wait_for(0s), std::future_status::timeout);
    c.second.complete();
    EXPECT_EQ(thence::get(c.future).MPI_TAG, 2);
}

TEST(future, get_of_the_standard_library_works_with_the_librarys_thread) {
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
    int in = 0;
    const int out = 8;
    std::array<MPI_Request, 2> requests;
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    std::future<MPI_Status> future = as_future(requests[0], cr);
    MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    std::future<MPI_Status> sent = as_future(requests[1], cr);
    future.get();
    sent.get();
    EXPECT_EQ(in, 8);
}

TEST(future, thousand_at_a_time_each_get_their_own_status) {
    const thence::continuation_request cr;
    std::list<pending_receive> receives;
    std::vector<std::future<MPI_Status>> futures;
    for (int i = 0; i < 1000; ++i) {
        receives.emplace_back(i);
        futures.push_back(as_future(receives.back().request, cr));
    }
    int i = 0;
    for (auto r = receives.rbegin(); r != receives.rend(); ++r) {
        r->complete(++i);
    }
    for (int tag = 0; tag < 1000; ++tag) {
        EXPECT_EQ(thence::get(futures[static_cast<std::size_t>(tag)]).MPI_TAG, tag);
    }
    EXPECT_EQ(receives.front().value(), 1000);
}

} // namespace
