// SPDX-License-Identifier: BSD-3-Clause
// A queue of the test's own, which a thread works off: what a program does to enqueue MPI operations on a queue that
// Thence does not know. Also a stream with such a queue, and its communicator.
#pragma once

#include "support.hpp"

#include <thence/enqueue.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

// How the queue tells that it has reached an operation.
enum class trigger { by_launch_with_mpi, by_launch, by_store };

class thread_queue {
public:
    explicit thread_queue(trigger how) : table_(table(how)), worker_([this] { work(); }) {}
    ~thread_queue() {
        synchronize();
        push([this] { stop_ = true; });
        worker_.join();
    }
    thread_queue(const thread_queue &) = delete;
    thread_queue &operator=(const thread_queue &) = delete;

    void push(std::function<void()> function) {
        const std::scoped_lock guard(mutex_);
        functions_.push_back(std::move(function));
        changed_.notify_all();
    }
    // Makes progress meanwhile, as a thread of the program that has nothing else to do.
    void synchronize() {
        std::atomic<bool> reached{false};
        push([&] { reached = true; });
        while (!reached) {
            thence_progress();
            std::this_thread::yield();
        }
    }
    thence_queue handle() { return {&table_, this}; }

    std::atomic<int> refuse_after{-1}; // so many calls are taken, then all are refused; -1: none is
    std::atomic<int> in_use{0};
    std::atomic<long> memory{0}; // blocks that are allocated

private:
    static thread_queue &of(void *queue) { return *static_cast<thread_queue *>(queue); }
    bool refuses() {
        const int left = refuse_after.load();
        if (left > 0) {
            refuse_after = left - 1;
        }
        return left == 0;
    }
    static int launch(void *queue, void (*function)(void *), void *data) {
        if (of(queue).refuses()) {
            return 1;
        }
        of(queue).push([function, data] { function(data); });
        return 0;
    }
    static int record(void *queue, std::uint32_t *word, std::uint32_t value) {
        if (of(queue).refuses()) {
            return 1;
        }
        of(queue).push([word, value] { std::atomic_ref(*word).store(value); });
        return 0;
    }
    static int wait(void *queue, std::uint32_t *word, std::uint32_t value) {
        if (of(queue).refuses()) {
            return 1;
        }
        of(queue).push([word, value] {
            while (static_cast<std::int32_t>(std::atomic_ref(*word).load() - value) < 0) {
                std::this_thread::yield();
            }
        });
        return 0;
    }
    static void *allocate(void *queue, size_t bytes) {
        ++of(queue).memory;
        return std::aligned_alloc(64, bytes);
    }
    static void release(void *queue, void *block) {
        --of(queue).memory;
        std::free(block);
    }
    static int use(void *queue, int on) {
        of(queue).in_use += on != 0 ? 1 : -1;
        return 0;
    }
    static thence_queue_table table(trigger how) {
        thence_queue_table table{};
        table.size = sizeof table;
        table.name = "a test's thread";
        table.flags = how == trigger::by_launch_with_mpi ? THENCE_QUEUE_CALLS_MPI : 0;
        table.launch = &launch;
        table.record = how == trigger::by_store ? &record : nullptr;
        table.wait = &wait;
        table.allocate = &allocate;
        table.release = &release;
        table.use = &use;
        return table;
    }
    void work() {
        while (!stop_) {
            std::function<void()> next;
            {
                std::unique_lock guard(mutex_);
                changed_.wait(guard, [this] { return !functions_.empty(); });
                next = std::move(functions_.front());
                functions_.pop_front();
            }
            next();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> functions_;
    bool stop_ = false;
    thence_queue_table table_;
    std::thread worker_;
};

// A stream that has the order of `queue`.
inline thence_stream create_stream(const thence_queue &queue) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "thence_queue");
    EXPECT_EQ(thence_info_set_hex(info, "value", &queue, sizeof queue), MPI_SUCCESS);
    thence_stream stream = THENCE_STREAM_NULL;
    EXPECT_EQ(thence_stream_create(info, &stream), MPI_SUCCESS);
    MPI_Info_free(&info);
    return stream;
}

// Such a queue with its stream and a communicator.
struct queued_communicator {
    explicit queued_communicator(trigger how, MPI_Comm of = MPI_COMM_WORLD) : queue(how) {
        stream = create_stream(queue.handle());
        EXPECT_EQ(thence_stream_comm_create(of, stream, &comm), MPI_SUCCESS);
    }
    ~queued_communicator() {
        queue.synchronize();
        MPI_Comm_free(&comm);
        EXPECT_EQ(thence_stream_free(&stream), MPI_SUCCESS);
        EXPECT_EQ(queue.in_use, 0);
        EXPECT_EQ(queue.memory, 0);
    }
    queued_communicator(const queued_communicator &) = delete;
    queued_communicator &operator=(const queued_communicator &) = delete;

    thread_queue queue;
    thence_stream stream = THENCE_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
};

// Tests that run for each way in which a queue can tell where it is.
class enqueue : public ::testing::TestWithParam<trigger> {
protected:
    enqueue() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    }
    ~enqueue() override { MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_); }

    int rank = 0;
    int size = 1;
    int next() const { return (rank + 1) % size; }
    int previous() const { return (rank + size - 1) % size; }

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

inline std::string name_of(const ::testing::TestParamInfo<trigger> &info) {
    return info.param == trigger::by_launch_with_mpi ? "by_launch_with_mpi"
           : info.param == trigger::by_launch        ? "by_launch"
                                                     : "by_store";
}
#define ENQUEUE_RULES(fixture)                                                                                         \
    INSTANTIATE_TEST_SUITE_P(                                                                                          \
        , fixture, ::testing::Values(trigger::by_launch_with_mpi, trigger::by_launch, trigger::by_store), name_of)
