// SPDX-License-Identifier: BSD-3-Clause
// The bridge on the fake MPI, so that it runs under sanitizers: event loops, which are threads here, attach to
// channels, sleep in poll() on the eventfd and drain, while other threads complete operations and the bridge's thread
// makes progress. Each operation comes out of its channel once, or was complete when it was attached.
#include "bridge/bridge.h"
#include "library.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <poll.h>
#include <random>

// The bridge is compiled with these names in place of MPI's.
extern "C" int thence_fake_query_thread(int *level) {
    *level = thence::fake::world.offers().thread_level;
    return MPI_SUCCESS;
}

extern "C" int thence_fake_finalized(int *flag) {
    *flag = thence::fake::world.is_finalized() ? 1 : 0;
    return MPI_SUCCESS;
}

namespace {

using namespace thence::fake;

constexpr std::int64_t longest_sleep = 90000;

// Operations that are open, for the threads that complete them.
class open_tickets {
public:
    void add(ticket t) {
        const std::scoped_lock guard(mutex_);
        tickets_.push_back(t);
    }
    bool complete_one(std::size_t which) {
        ticket t;
        {
            const std::scoped_lock guard(mutex_);
            if (tickets_.empty()) {
                return false;
            }
            std::swap(tickets_[which % tickets_.size()], tickets_.back());
            t = tickets_.back();
            tickets_.pop_back();
        }
        world.complete(t);
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<ticket> tickets_;
};

// What Python keeps of an operation.
struct entry {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    thence_python_operation *operation = nullptr;
    int ends = 0;
};

class python_bridge : public on_fake {
protected:
    python_bridge() { EXPECT_EQ(thence_python_start(longest_sleep), 1); }
    ~python_bridge() override {
        thence_python_stop();
        EXPECT_EQ(thence_python_outstanding(), 0);
    }

    open_tickets open_;
};

// One event loop.
class event_loop {
public:
    event_loop(open_tickets &open, unsigned seed) : random_(seed), open_(open) {
        channel_ = thence_python_open(&descriptor_);
    }
    ~event_loop() { EXPECT_EQ(thence_python_close(channel_), 1); }
    event_loop &operator=(event_loop &&) = delete;

    void run(std::chrono::steady_clock::time_point end) {
        while (std::chrono::steady_clock::now() < end) {
            attach(1 + random_() % 8);
            if (random_() % 4 == 0 && !pending_.empty()) {
                thence_python_cancel(pending_[random_() % pending_.size()]->operation);
            }
            if (random_() % 2 == 0) {
                wait();
            }
        }
        while (!pending_.empty() && wait()) {
        }
    }
    std::size_t wrong() const {
        std::size_t count = pending_.size();
        for (const entry &each : entries_) {
            count += each.ends != 1 ? 1 : 0;
        }
        return count;
    }

private:
    void attach(std::size_t count) {
        std::vector<entry *> made;
        std::vector<MPI_Request *> requests;
        std::vector<MPI_Status *> statuses;
        for (std::size_t i = 0; i < count; i++) {
            entry &each = entries_.emplace_back();
            each.request = world.start();
            open_.add(world.ticket_of(each.request));
            made.push_back(&each);
            requests.push_back(&each.request);
            statuses.push_back(&each.status);
        }
        const std::vector<unsigned char> flags(count, 0);
        std::vector<thence_python_operation *> operations(count);
        std::vector<int> errors(count, -1);
        thence_python_attach(channel_, static_cast<int>(count), requests.data(), statuses.data(), flags.data(),
                             operations.data(), errors.data());
        for (std::size_t i = 0; i < count; i++) {
            EXPECT_EQ(errors[i], MPI_SUCCESS);
            made[i]->operation = operations[i];
            if (operations[i] == nullptr) {
                made[i]->ends++;
            } else {
                pending_.push_back(made[i]);
            }
        }
    }

    // Sleeps until the eventfd is readable, as a loop does. Returns false after 20 seconds: a wake-up was lost.
    bool wait() {
        if (pending_.empty()) {
            return true;
        }
        pollfd readable{descriptor_, POLLIN, 0};
        if (poll(&readable, 1, 20000) != 1) {
            ADD_FAILURE() << "the eventfd is not readable, " << pending_.size() << " operations are pending";
            return false;
        }
        constexpr int capacity = 16;
        thence_python_operation *done[capacity];
        int errors[capacity];
        const int count = thence_python_drain(channel_, done, errors, capacity);
        for (int i = 0; i < count; i++) {
            const auto found = std::find_if(pending_.begin(), pending_.end(),
                                            [&](const entry *each) { return each->operation == done[i]; });
            if (found == pending_.end()) {
                ADD_FAILURE() << "an operation that is not pending";
                return false;
            }
            (*found)->ends++;
            pending_.erase(found);
        }
        return true;
    }

    std::mt19937 random_;
    open_tickets &open_;
    thence_python_channel *channel_;
    int descriptor_ = -1;
    std::deque<entry> entries_;
    std::vector<entry *> pending_;
};

TEST_P(python_bridge, every_operation_comes_out_of_its_channel_once) {
    std::atomic<bool> stop{false};
    std::thread completer([&] {
        std::mt19937 random(7);
        while (!stop) {
            if (!open_.complete_one(random())) {
                std::this_thread::yield();
            }
        }
    });
    {
        event_loop first(open_, 1);
        event_loop second(open_, 2);
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        std::thread other([&] { second.run(end); });
        first.run(end);
        other.join();
        EXPECT_EQ(first.wrong(), 0U);
        EXPECT_EQ(second.wrong(), 0U);
    }
    stop = true;
    completer.join();
}

TEST_P(python_bridge, a_channel_with_operations_is_not_freed) {
    int descriptor = -1;
    thence_python_channel *channel = thence_python_open(&descriptor);
    ASSERT_NE(channel, nullptr);
    entry one;
    one.request = world.start();
    const ticket operation = world.ticket_of(one.request);
    MPI_Request *requests[] = {&one.request};
    MPI_Status *statuses[] = {&one.status};
    const unsigned char flags[] = {0};
    int error = -1;
    thence_python_attach(channel, 1, requests, statuses, flags, &one.operation, &error);
    ASSERT_NE(one.operation, nullptr);
    EXPECT_EQ(one.request, MPI_REQUEST_NULL);
    EXPECT_EQ(thence_python_close(channel), 0);
    result how;
    how.source = 3;
    world.complete(operation, how);
    pollfd readable{descriptor, POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 20000), 1); // nobody but the bridge's thread makes progress
    EXPECT_EQ(thence_python_close(channel), 0) << "it was not drained";
    thence_python_operation *done = nullptr;
    EXPECT_EQ(thence_python_drain(channel, &done, &error, 1), 1);
    EXPECT_EQ(done, one.operation);
    EXPECT_EQ(error, MPI_SUCCESS);
    EXPECT_EQ(one.status.MPI_SOURCE, 3);
    EXPECT_EQ(poll(&readable, 1, 0), 0);
    EXPECT_EQ(thence_python_close(channel), 1);
}

TEST_P(python_bridge, an_operation_that_starts_wakes_the_thread_from_its_rest) {
    for (int round = 0; round < 3; round++) {
        // Longer than the thread stays awake without operations. If it has not gone to rest yet, the round tests less.
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        int descriptor = -1;
        thence_python_channel *channel = thence_python_open(&descriptor);
        entry one;
        one.request = world.start();
        world.complete_in_progress(one.request);
        MPI_Request *requests[] = {&one.request};
        MPI_Status *statuses[] = {&one.status};
        const unsigned char flags[] = {0};
        int error = -1;
        thence_python_attach(channel, 1, requests, statuses, flags, &one.operation, &error);
        thence_python_operation *done = nullptr;
        if (one.operation != nullptr) {
            pollfd readable{descriptor, POLLIN, 0};
            ASSERT_EQ(poll(&readable, 1, 20000), 1);
            EXPECT_EQ(thence_python_drain(channel, &done, &error, 1), 1);
        }
        EXPECT_EQ(done, one.operation);
        EXPECT_EQ(thence_python_close(channel), 1);
    }
}

THENCE_RULES(python_bridge);

} // namespace
