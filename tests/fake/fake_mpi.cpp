// SPDX-License-Identifier: BSD-3-Clause
// Tests of the fake: it behaves as MPI where the rules of the library depend on that, and it detects misuse.
#include "library.hpp"

#include "core/progress/interposed.hpp"

#include "core/mpi/calls.hpp"

#include <gtest/gtest-spi.h>

namespace {

using namespace thence::fake;
using thence::mpi::table;

class fake_mpi : public ::testing::Test {
protected:
    fake_mpi() {
        features what;
        what.opal_progress = true;
        what.is_complete = true;
        world.begin(what);
    }
    ~fake_mpi() override { world.end(); }
};

bool test(MPI_Request &request) {
    int flag = 0;
    EXPECT_EQ(table.Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return flag != 0;
}

TEST_F(fake_mpi, an_operation_completes_when_the_test_says_so) {
    MPI_Request r = world.start();
    EXPECT_FALSE(test(r));
    EXPECT_FALSE(test(r));
    world.complete(r, {3, 4, 5});
    MPI_Status status{};
    int flag = 0;
    table.Test(&r, &flag, &status);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_SOURCE, 3);
    EXPECT_EQ(status.MPI_TAG, 4);
    EXPECT_EQ(mpi::bytes_of(status), 5);
}

TEST_F(fake_mpi, an_operation_completes_once) {
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_TRUE(world.complete(t));
    EXPECT_FALSE(world.complete(t));
    EXPECT_TRUE(test(r));
    EXPECT_FALSE(world.complete(t)) << "not even when its memory is another request's";
}

TEST_F(fake_mpi, a_persistent_request_is_inactive_active_complete_inactive) {
    MPI_Request r = world.persistent();
    for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(test(r)) << "inactive counts as complete";
        table.Start(&r);
        EXPECT_FALSE(test(r));
        world.complete(r);
        EXPECT_TRUE(test(r));
        EXPECT_NE(r, MPI_REQUEST_NULL);
    }
    table.Request_free(&r);
}

TEST_F(fake_mpi, a_failed_operation_meets_the_error_handler) {
    MPI_Request r = world.start();
    world.complete(r, {0, 0, 0, MPI_ERR_TRUNCATE});
    int found = 0;
    int index = 0;
    MPI_Status status{};
    EXPECT_EQ(table.Testsome(1, &r, &found, &index, &status), MPI_ERR_IN_STATUS);
    EXPECT_EQ(found, 1);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(reported(), codes{MPI_ERR_TRUNCATE});
}

TEST_F(fake_mpi, a_message_to_self_arrives_in_progress) {
    char in[4] = {};
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    table.Irecv(in, 4, MPI_CHAR, 0, 9, MPI_COMM_SELF, &receive);
    table.Isend("abc", 4, MPI_CHAR, 0, 9, MPI_COMM_SELF, &send);
    EXPECT_STREQ(in, "");
    table.Wait(&receive, MPI_STATUS_IGNORE);
    EXPECT_STREQ(in, "abc");
    table.Wait(&send, MPI_STATUS_IGNORE);
}

TEST_F(fake_mpi, notices_a_test_of_a_released_request) {
    MPI_Request r = world.start();
    MPI_Request stale = r;
    world.complete(r);
    EXPECT_TRUE(test(r));
    int flag = 0;
    EXPECT_NONFATAL_FAILURE(table.Test(&stale, &flag, MPI_STATUS_IGNORE), "released");
    EXPECT_NONFATAL_FAILURE(table.Request_free(&stale), "released");
}

TEST_F(fake_mpi, notices_a_handle_that_is_none) {
    MPI_Request r = make_handle<MPI_Request>(0x12345670);
    int flag = 0;
    EXPECT_NONFATAL_FAILURE(table.Test(&r, &flag, MPI_STATUS_IGNORE), "no handle of this MPI");
}

TEST_F(fake_mpi, notices_two_completing_calls_on_one_request) {
    MPI_Request r = world.start();
    completing_call other(*find_request(r), "MPI_Wait");
    int flag = 0;
    EXPECT_NONFATAL_FAILURE(table.Test(&r, &flag, MPI_STATUS_IGNORE), "inside MPI_Wait");
    world.complete(r);
    EXPECT_NONFATAL_FAILURE(table.Test(&r, &flag, MPI_STATUS_IGNORE), "inside MPI_Wait");
}

TEST_F(fake_mpi, notices_requests_that_are_left) {
    MPI_Request r = world.start();
    EXPECT_NONFATAL_FAILURE(world.end(), "not released");
    world.complete(r);
    EXPECT_TRUE(test(r));
}

int hook_calls = 0;
int hook() {
    ++hook_calls;
    return 0;
}

TEST_F(fake_mpi, a_hook_runs_in_every_call_that_makes_progress) {
    table.progress_register(&hook);
    MPI_Request r = world.start();
    hook_calls = 0;
    test(r);
    EXPECT_EQ(hook_calls, 1);
    table.opal_progress();
    EXPECT_EQ(hook_calls, 2);
    int flag = 0;
    table.Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(hook_calls, 3);
    world.complete(r);
    test(r);
    EXPECT_EQ(hook_calls, 3) << "a complete request needs no progress";
    table.progress_unregister(&hook);
    table.opal_progress();
    EXPECT_EQ(hook_calls, 3);
}

// The layout and the steps of completion that the native engine needs.
void *called_with = nullptr;
int take_over(void *object) {
    called_with = object;
    from_object(object)->complete.store(is_complete);
    return 1;
}
int leave(void *object) {
    called_with = object;
    return 0;
}

TEST_F(fake_mpi, a_completion_callback_that_returns_1_takes_the_request_over) {
    MPI_Request r = world.start();
    request &q = *find_request(r);
    struct {
        std::int32_t count = 100, status = 0;
    } sync;
    q.callback.store(reinterpret_cast<void *>(&take_over));
    q.complete.store(&sync);
    world.complete(r);
    EXPECT_EQ(called_with, &q);
    EXPECT_EQ(q.callback.load(), nullptr);
    EXPECT_EQ(sync.count, 100);
    EXPECT_TRUE(test(r));
}

TEST_F(fake_mpi, otherwise_the_wait_sync_is_counted_down_and_an_error_sets_it_to_zero) {
    struct {
        std::int32_t count = 100, status = 0;
    } sync;
    MPI_Request r = world.start();
    find_request(r)->callback.store(reinterpret_cast<void *>(&leave));
    find_request(r)->complete.store(&sync);
    world.complete(r);
    EXPECT_EQ(sync.count, 99);
    EXPECT_TRUE(test(r));

    MPI_Request failed = world.start();
    find_request(failed)->complete.store(&sync);
    world.complete(failed, {0, 0, 0, MPI_ERR_OTHER});
    EXPECT_EQ(sync.count, 0);
    EXPECT_EQ(sync.status, MPI_ERR_OTHER);
    int flag = 0;
    EXPECT_EQ(table.Test(&failed, &flag, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    EXPECT_EQ(reported(), codes{MPI_ERR_OTHER});
}

// Each variant gives the library the engine and the hook that it names.
class library_on_fake : public on_fake {};

TEST_P(library_on_fake, runs_the_engine_and_the_hook_that_the_mpi_offers) {
    thence_info info{};
    ASSERT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
    EXPECT_STREQ(info.engine, GetParam().engine);
    const features &offers = GetParam().offers;
    EXPECT_STREQ(info.hook, offers.opal_progress ? "opal_progress_register"
                            // MPI_Finalize would wait for it, so it is not used without interposition
                            : offers.async_start && thence::progress::interposed.finalize ? "MPIX_Async_start"
                                                                                          : "none");
}

THENCE_RULES(library_on_fake);

} // namespace
