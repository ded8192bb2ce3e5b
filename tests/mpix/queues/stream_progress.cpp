// SPDX-License-Identifier: BSD-3-Clause
// Progress for one stream serves that stream first: its queue's operations begin before those of other queues.
#include "scripted_queue.hpp"

#include "core/continuation/lifetime.hpp"
#include "mpix/streams/stream.hpp"

#include <thence/progress.h>

#include <chrono>
#include <string>
#include <thread>

namespace {

using namespace thence::fake;
namespace streams = thence::streams;

// A stream with a scripted queue and one operation, which notes when it begins.
struct queued_stream {
    queued_stream(std::string &order, char name) {
        operation.at_start = [&order, name] { order += name; };
        queue.enqueue(operation);
        auto context = std::make_unique<streams::context>();
        context->queue = queue.release();
        const streams::context &added = *context;
        EXPECT_TRUE(streams::add(context));
        handle = added.handle;
    }
    ~queued_stream() { EXPECT_EQ(thence_stream_free(&handle), MPI_SUCCESS); }
    queued_stream(const queued_stream &) = delete;
    queued_stream &operator=(const queued_stream &) = delete;

    scripted_queue queue;
    scripted_operation operation;
    thence_stream handle = THENCE_STREAM_NULL;
};

// Without a helper thread, which could begin an operation at any time.
TEST(stream_progress, begins_what_the_queue_of_the_stream_has_reached_before_others) {
    for (const variant &each : all_variants()) {
        variant v = each;
        v.offers.thread_level = MPI_THREAD_SERIALIZED;
        const library here(v);
        for (const bool first : {true, false}) {
            std::string order;
            queued_stream a(order, 'a');
            queued_stream b(order, 'b');
            a.queue.go();
            b.queue.go();
            EXPECT_EQ(thence_stream_progress(first ? a.handle : b.handle), MPI_SUCCESS);
            EXPECT_EQ(order.substr(0, 1), first ? "a" : "b") << v.engine;
            EXPECT_TRUE(eventually([&] { return order.size() == 2; }));
            a.operation.complete();
            b.operation.complete();
        }
    }
}

class progress_threads_of_streams : public on_fake {
protected:
    // Without any MPI call of this thread.
    static bool soon(const std::function<bool()> &done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done() && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return done();
    }
};

// The operation of `c` begins on the thread, which then finds that the queues of both others have come on. Of all
// queues that of `b` is the next.
TEST_P(progress_threads_of_streams, serve_their_stream_first) {
    std::string order;
    queued_stream c(order, 'c');
    queued_stream a(order, 'a');
    queued_stream b(order, 'b');
    c.operation.at_start = [&] {
        order += 'c';
        a.queue.go();
        b.queue.go();
    };
    ASSERT_EQ(thence_start_progress_thread(a.handle), MPI_SUCCESS);
    c.queue.go();
    EXPECT_TRUE(soon([&] { return a.operation.begun + b.operation.begun + c.operation.begun == 3; }));
    EXPECT_EQ(order, "cab");
    EXPECT_EQ(thence_stop_progress_thread(a.handle), MPI_SUCCESS);
    for (const queued_stream *each : {&a, &b, &c}) {
        each->operation.complete();
    }
}

// The thread outlives the stream for which it was started.
TEST_P(progress_threads_of_streams, survive_the_end_of_their_stream) {
    std::string order;
    thence_stream handle = THENCE_STREAM_NULL;
    {
        queued_stream a(order, 'a');
        handle = a.handle;
        ASSERT_EQ(thence_start_progress_thread(handle), MPI_SUCCESS);
        a.queue.go();
        EXPECT_TRUE(soon([&] { return a.operation.begun == 1; }));
        a.operation.complete();
    }
    const unsigned long long before = world.progress_calls;
    EXPECT_TRUE(soon([&] { return world.progress_calls > before + 10; }));
    EXPECT_EQ(thence_stop_progress_thread(handle), MPI_SUCCESS);
}

// What starts an operation may itself start and stop threads.
TEST_P(progress_threads_of_streams, may_be_started_and_stopped_by_what_they_start) {
    std::string order;
    queued_stream a(order, 'a');
    int codes = 0;
    a.operation.at_start = [&] {
        codes += thence_start_progress_thread(THENCE_STREAM_NULL) != MPI_SUCCESS;
        codes += thence_stop_progress_thread(THENCE_STREAM_NULL) != MPI_SUCCESS;
        codes += thence_stop_progress_thread(a.handle) != MPI_SUCCESS;
    };
    ASSERT_EQ(thence_start_progress_thread(a.handle), MPI_SUCCESS);
    a.queue.go();
    EXPECT_TRUE(soon([&] { return a.operation.begun == 1; }));
    EXPECT_EQ(codes, 0);
    a.operation.complete();
}

THENCE_RULES(progress_threads_of_streams);

} // namespace
