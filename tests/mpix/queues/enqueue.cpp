// SPDX-License-Identifier: BSD-3-Clause
// Enqueued operations: their order, their errors, waits for several of them, and queues that refuse.
#include "scripted_queue.hpp"

#include "core/continuation/lifetime.hpp"
#include "mpix/streams/stream.hpp"

#include <thread>
#include <vector>

namespace {

using namespace thence::fake;
namespace streams = thence::streams;
using thence::queues::enqueuing;

class enqueued : public on_fake {
protected:
    ~enqueued() override { reported(); } // failed operations may have been told to the error handler
};

TEST_P(enqueued, operations_begin_in_order_and_not_before_the_queue_reaches_them) {
    for (const reaching how : {reaching::stores, reaching::launches}) {
        scripted_queue q(how);
        scripted_operation first;
        scripted_operation second;
        EXPECT_EQ(q.enqueue(first), enqueuing::done);
        EXPECT_EQ(q.enqueue(second), enqueuing::done);
        q.make_progress();
        EXPECT_EQ(first.begun, 0);
        EXPECT_EQ(q.not_begun(), 2);
        EXPECT_FALSE(q.go());
        ASSERT_TRUE(first.begins());
        EXPECT_FALSE(q.go());
        q.make_progress();
        EXPECT_EQ(second.begun, 0) << "the first is not complete";
        EXPECT_EQ(q.not_begun(), 1);
        first.complete();
        EXPECT_TRUE(eventually([&] {
            q.go();
            return second.begun.load() != 0;
        }));
        EXPECT_EQ(q.not_begun(), 0);
        second.complete();
        EXPECT_TRUE(q.finishes());
        EXPECT_EQ(first.begun + second.begun, 2);
    }
}

TEST_P(enqueued, the_status_is_there_when_the_queue_goes_on) {
    scripted_queue q;
    scripted_operation receive;
    MPI_Status status{};
    int source = -1;
    q.enqueue(receive, &status);
    q.push([&] { source = status.MPI_SOURCE; });
    q.go();
    ASSERT_TRUE(receive.begins());
    receive.complete({7, 3});
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(source, 7);
    EXPECT_EQ(status.MPI_TAG, 3);
    EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
}

TEST_P(enqueued, the_queue_goes_on_behind_an_operation_that_fails) {
    scripted_queue q;
    scripted_operation fails;
    scripted_operation next;
    MPI_Status status{};
    q.enqueue(fails, &status);
    q.enqueue(next);
    q.go();
    ASSERT_TRUE(fails.begins());
    fails.complete({.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] {
        q.go();
        return next.begun.load() != 0;
    }));
    next.complete();
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(q->take_error(), MPI_ERR_TRUNCATE);
    EXPECT_EQ(q->take_error(), MPI_SUCCESS) << "it is told once";
}

TEST_P(enqueued, the_first_error_is_kept_also_of_operations_that_cannot_start) {
    scripted_queue q;
    scripted_operation first;
    scripted_operation second;
    first.refuses_with = MPI_ERR_RANK;
    second.refuses_with = MPI_ERR_TAG;
    MPI_Status statuses[2]{};
    q.enqueue(first, &statuses[0]);
    q.enqueue(second, &statuses[1]);
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_RANK);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TAG);
    EXPECT_EQ(q.not_begun(), 0);
    EXPECT_EQ(q->take_error(), MPI_ERR_RANK);
    EXPECT_EQ(q->take_error(), MPI_SUCCESS);
}

TEST_P(enqueued, one_wait_takes_complete_pending_failed_and_null_requests) {
    scripted_queue q;
    scripted_operation complete;
    scripted_operation pending;
    scripted_operation fails;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[4]{};
    q.enqueue(complete, &requests[0]);
    q.enqueue(pending, &requests[2]);
    q.enqueue(fails, &requests[3]);
    q.go();
    ASSERT_TRUE(complete.begins() && pending.begins() && fails.begins());
    complete.complete({1});
    q.make_progress(); // before the wait is enqueued
    EXPECT_EQ(q->enqueue_wait(4, requests, statuses), enqueuing::done);
    for (const MPI_Request each : requests) {
        EXPECT_EQ(each, MPI_REQUEST_NULL);
    }
    fails.complete({.source = 3, .error = MPI_ERR_OTHER}); // before the queue reaches it
    q.make_progress();
    bool behind = false;
    q.push([&] { behind = true; });
    q.go();
    q.make_progress();
    EXPECT_FALSE(q.go()) << "one is pending";
    EXPECT_FALSE(behind);
    pending.complete({2});
    EXPECT_TRUE(q.finishes());
    EXPECT_TRUE(behind);
    EXPECT_EQ(statuses[0].MPI_SOURCE, 1);
    EXPECT_EQ(statuses[1].MPI_SOURCE, MPI_ANY_SOURCE) << "the empty status";
    EXPECT_EQ(statuses[2].MPI_SOURCE, 2);
    EXPECT_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[3].MPI_ERROR, MPI_ERR_OTHER);
    EXPECT_EQ(q->take_error(), MPI_ERR_OTHER);
}

TEST_P(enqueued, a_thread_may_wait_for_the_request_in_place_of_the_queue) {
    scripted_queue q;
    scripted_operation send;
    MPI_Request request = MPI_REQUEST_NULL;
    q.enqueue(send, &request);
    int flag = -1;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0) << "it has not begun";
    EXPECT_TRUE(q.go()) << "the queue does not wait";
    ASSERT_TRUE(send.begins());
    send.complete({5});
    MPI_Status status{};
    EXPECT_TRUE(eventually([&] { return MPI_Test(&request, &flag, &status) == MPI_SUCCESS && flag == 1; }));
    EXPECT_EQ(status.MPI_SOURCE, 5);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_TRUE(q.finishes());
}

TEST_P(enqueued, what_the_queue_refuses_leaves_nothing_behind) {
    scripted_queue q;
    scripted_operation refused;
    scripted_operation taken;
    MPI_Request request = MPI_REQUEST_NULL;
    q.refuse_after = 0;
    EXPECT_EQ(q.enqueue(refused), enqueuing::refused);
    EXPECT_EQ(q.enqueue(refused, &request), enqueuing::refused);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(q.not_begun(), 0);
    EXPECT_TRUE(q->is_idle());
    q.refuse_after = -1;
    q.enqueue(taken, &request);
    q.refuse_after = 0;
    EXPECT_EQ(q->enqueue_wait(1, &request, MPI_STATUSES_IGNORE), enqueuing::refused);
    EXPECT_NE(request, MPI_REQUEST_NULL) << "it can be waited for later";
    q.refuse_after = -1;
    EXPECT_EQ(q->enqueue_wait(1, &request, MPI_STATUSES_IGNORE), enqueuing::done);
    q.go();
    ASSERT_TRUE(taken.begins());
    taken.complete();
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(refused.begun, 0);
}

TEST_P(enqueued, an_operation_takes_place_although_the_queue_refuses_to_wait_for_it) {
    scripted_queue q;
    scripted_operation taken;
    MPI_Status status{};
    q.refuse_after = 1; // the queue takes the operation
    EXPECT_EQ(q.enqueue(taken, &status), enqueuing::refused_rest);
    EXPECT_EQ(q.not_begun(), 1);
    EXPECT_TRUE(q.go()) << "it does not wait";
    ASSERT_TRUE(taken.begins());
    taken.complete({.source = 5});
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(status.MPI_SOURCE, 5);
}

TEST_P(enqueued, a_stream_is_not_freed_while_its_queue_has_work) {
    scripted_queue q;
    scripted_operation send;
    MPI_Request request = MPI_REQUEST_NULL;
    q.enqueue(send, &request);
    auto owned = std::make_unique<streams::context>();
    owned->queue = q.release();
    streams::context &context = *owned;
    ASSERT_TRUE(streams::add(owned));
    int code = MPI_SUCCESS;
    EXPECT_EQ(streams::destroy(context, code), streams::freeing::has_work) << "it has not begun";
    q.go();
    ASSERT_TRUE(send.begins());
    EXPECT_EQ(streams::destroy(context, code), streams::freeing::has_work) << "it is not complete";
    send.complete();
    int flag = 0;
    EXPECT_TRUE(eventually([&] { return MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 1; }));
    EXPECT_EQ(streams::destroy(context, code), streams::freeing::done);
}

TEST_P(enqueued, to_free_a_stream_is_to_wait_for_the_work_of_its_queue) {
    scripted_queue q;
    scripted_operation send;
    q.enqueue(send);
    auto owned = std::make_unique<streams::context>();
    owned->queue = q.release();
    thence_stream handle = THENCE_STREAM_NULL;
    streams::context &context = *owned;
    ASSERT_TRUE(streams::add(owned));
    handle = context.handle;
    std::atomic<bool> completed{false};
    std::thread works([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        q.go();
        while (send.begun == 0) { // by the thread that waits
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        completed = true;
        send.complete();
    });
    EXPECT_EQ(thence_stream_free(&handle), MPI_SUCCESS);
    EXPECT_TRUE(completed);
    EXPECT_EQ(handle, THENCE_STREAM_NULL);
    works.join();
}

TEST_P(enqueued, a_callback_does_not_free_a_stream_whose_queue_has_work) {
    scripted_queue q;
    scripted_operation send;
    q.enqueue(send);
    auto owned = std::make_unique<streams::context>();
    owned->queue = q.release();
    streams::context &context = *owned;
    ASSERT_TRUE(streams::add(owned));
    thence_stream handle = context.handle;
    int code = MPI_SUCCESS;
    cr c;
    note n;
    n.inside = [&] { code = thence_stream_free(&handle); };
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(code, MPI_ERR_PENDING);
    EXPECT_EQ(handle, context.handle) << "nothing has changed";
    q.go();
    ASSERT_TRUE(send.begins());
    send.complete();
    EXPECT_EQ(thence_stream_free(&handle), MPI_SUCCESS);
}

// Several threads see the trigger word. Each operation begins once, in order, and no two begin at a time.
TEST_P(enqueued, operations_begin_once_whichever_threads_look) {
    constexpr int rounds = 200;
    constexpr int batch = 4;
    scripted_queue q;
    std::atomic<bool> stop{false};
    std::vector<std::thread> lookers;
    for (int i = 0; i < 2; ++i) {
        lookers.emplace_back([&] {
            while (!stop) {
                q->begin_triggered();
                std::this_thread::yield();
            }
        });
    }
    std::atomic<int> inside{0};
    std::atomic<int> begun{0};
    std::vector<std::unique_ptr<scripted_operation>> all;
    std::vector<MPI_Request> requests(batch);
    for (int round = 0; round < rounds; ++round) {
        for (MPI_Request &request : requests) {
            all.push_back(std::make_unique<scripted_operation>());
            all.back()->at_start = [&, number = static_cast<int>(all.size()) - 1] {
                EXPECT_EQ(inside.fetch_add(1), 0);
                EXPECT_EQ(begun.fetch_add(1), number);
                inside.fetch_sub(1);
            };
            all.back()->refuses_with = MPI_ERR_OTHER; // it ends at once
            q.enqueue(*all.back(), &request);
        }
        EXPECT_TRUE(q.go());
        ASSERT_TRUE(eventually([&] { return begun.load() == batch * (round + 1); }));
        ASSERT_EQ(q->enqueue_wait(batch, requests.data(), MPI_STATUSES_IGNORE), enqueuing::done);
        ASSERT_TRUE(q.finishes());
    }
    stop = true;
    for (std::thread &each : lookers) {
        each.join();
    }
    for (const auto &each : all) {
        EXPECT_EQ(each->begun, 1);
    }
}

THENCE_RULES(enqueued);

[[noreturn]] void finalize_with_enqueued_calls(const variant &v) {
    library l(v);
    scripted_queue q;
    scripted_operation operations[2];
    MPI_Request request = MPI_REQUEST_NULL;
    q.enqueue(operations[0]);
    q.enqueue(operations[1], &request);
    q->enqueue_wait(1, &request, MPI_STATUSES_IGNORE);
    thence::continuation::finalizing(); // as the interposed MPI_Finalize
    world.finalize();
    std::_Exit(operations[0].begun + operations[1].begun == 0 ? 0 : 1);
}

class enqueued_at_finalize : public ::testing::TestWithParam<variant> {};

TEST_P(enqueued_at_finalize, calls_that_have_not_begun_are_reported) {
    EXPECT_EXIT(finalize_with_enqueued_calls(GetParam()), ::testing::ExitedWithCode(0),
                "MPI_Finalize: 3 enqueued calls have not begun: their queue is a scripted queue");
}

THENCE_RULES(enqueued_at_finalize);

} // namespace
