// SPDX-License-Identifier: BSD-3-Clause
// The end of a stream with a queue: requests that are left, MPI_Finalize, exit().
#include "scripted_queue.hpp"

#include "core/continuation/lifetime.hpp"
#include "mpix/streams/info.hpp"
#include "mpix/streams/stream.hpp"

#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace thence::fake;
namespace streams = thence::streams;
using thence::queues::enqueuing;

// A stream with the queue. The context owns it.
streams::context &stream_of(scripted_queue &q) {
    auto owned = std::make_unique<streams::context>();
    owned->queue = q.release();
    streams::context &context = *owned;
    EXPECT_TRUE(streams::add(owned));
    return context;
}

class ended_queues : public on_fake {};

TEST_P(ended_queues, a_request_may_be_waited_for_after_its_stream_was_freed) {
    scripted_queue q;
    scripted_operation operations[2];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(q.enqueue(operations[i], &requests[i]), enqueuing::done);
    }
    q.go();
    ASSERT_TRUE(operations[0].begins() && operations[1].begins());
    operations[0].complete({4});
    operations[1].complete({5});
    thence_stream handle = stream_of(q).handle;
    EXPECT_EQ(thence_stream_free(&handle), MPI_SUCCESS);
    EXPECT_EQ(q.users, 0) << "the program may destroy its queue";
    MPI_Status status{};
    EXPECT_EQ(thence_wait_enqueue(&requests[0], &status), MPI_ERR_REQUEST);
    EXPECT_EQ(thence_waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(reported(), (codes{MPI_ERR_REQUEST, MPI_ERR_REQUEST}));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(MPI_Wait(&requests[i], &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, 4 + i);
    }
}

// The stream is freed while other threads wait for the requests: whoever is last ends the queue.
TEST_P(ended_queues, requests_and_stream_end_in_any_order) {
    constexpr int rounds = 200;
    for (int round = 0; round < rounds; ++round) {
        scripted_queue q;
        scripted_operation operation;
        MPI_Request request = MPI_REQUEST_NULL;
        q.enqueue(operation, &request);
        q.go();
        ASSERT_TRUE(operation.begins());
        thence_stream handle = stream_of(q).handle;
        std::atomic<bool> waits{false};
        std::thread waiter([&] {
            waits = true;
            int flag = 0;
            while (flag == 0) {
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                std::this_thread::yield();
            }
        });
        while (!waits) {
            std::this_thread::yield();
        }
        operation.complete();
        EXPECT_EQ(thence_stream_free(&handle), MPI_SUCCESS);
        waiter.join();
        EXPECT_EQ(q.users, 0);
    }
}

// Streams and infos of MPI's own that are in use.
std::atomic<int> natives{0};
std::atomic<int> infos{0};

void count_what_mpi_makes() {
    auto &table = thence::mpi::table;
    table.stream_create = [](MPI_Info, int *stream) -> int {
        *stream = ++natives;
        return MPI_SUCCESS;
    };
    table.stream_free = [](int *stream) -> int {
        --natives;
        *stream = thence::mpi::stream_null;
        return MPI_SUCCESS;
    };
    table.Info_get_nkeys = [](MPI_Info, int *keys) -> int {
        *keys = 0;
        return MPI_SUCCESS;
    };
    table.Info_free = [](MPI_Info *info) -> int {
        EXPECT_NE(*info, MPI_INFO_NULL);
        --infos;
        *info = MPI_INFO_NULL;
        return MPI_SUCCESS;
    };
}

TEST_P(ended_queues, a_stream_that_cannot_be_added_gives_back_what_mpi_made_for_it) {
    count_what_mpi_makes();
    auto made = std::make_unique<streams::context>();
    made->native = streams::take_native();
    made->assertions = world.info({});
    infos = 1;
    EXPECT_EQ(natives, 1);
    made.reset();
    EXPECT_EQ(natives, 0);
    EXPECT_EQ(infos, 0);
}

TEST_P(ended_queues, a_queue_that_refuses_its_stream_gives_an_error) {
    count_what_mpi_makes();
    thence_queue_table table{};
    table.size = sizeof table;
    table.launch = [](void *, void (*)(void *), void *) -> int { return 1; };
    table.wait = [](void *, std::uint32_t *, std::uint32_t) -> int { return 1; };
    table.use = [](void *, int) -> int { return 1; };
    const thence_queue queue{&table, nullptr};
    thence_stream stream = 7;
    EXPECT_EQ(thence_stream_create(
                  world.info({{"type", "thence_queue"}, {"value", streams::to_hex(&queue, sizeof queue)}}), &stream),
              MPI_ERR_OTHER);
    EXPECT_EQ(stream, 7);
    EXPECT_EQ(reported(), (codes{MPI_ERR_OTHER}));
}

THENCE_RULES(ended_queues);

// The queue waits for an operation that MPI_Finalize has abandoned.
[[noreturn]] void free_after_finalize(const variant &v) {
    library l(v);
    scripted_queue q;
    scripted_operation operation;
    q.enqueue(operation);
    q.go();
    operation.begins();
    thence_stream handle = stream_of(q).handle;
    const thence_stream before = handle;
    thence::continuation::finalizing();
    world.finalize();
    const int code = thence_stream_free(&handle);
    std::_Exit(code == MPI_ERR_PENDING && handle == before ? 0 : 1);
}

// exit() without MPI_Finalize: nothing of the program is called, since its static objects may be gone.
[[noreturn]] void exit_with_stream(const variant &v) {
    static library &l = *new library(v); // the helper thread goes on
    static_cast<void>(l);
    static scripted_queue q;
    stream_of(q);
    q.on_use = [](bool) { std::_Exit(1); };
    std::exit(0);
}

class streams_that_are_left : public ::testing::TestWithParam<variant> {};

TEST_P(streams_that_are_left, are_not_waited_for_after_finalize) {
    EXPECT_EXIT(free_after_finalize(GetParam()), ::testing::ExitedWithCode(0), "");
}

TEST_P(streams_that_are_left, use_nothing_of_the_program_in_exit) {
    EXPECT_EXIT(exit_with_stream(GetParam()), ::testing::ExitedWithCode(0), "");
}

THENCE_RULES(streams_that_are_left);

} // namespace
