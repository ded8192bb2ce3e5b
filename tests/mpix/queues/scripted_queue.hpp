// SPDX-License-Identifier: BSD-3-Clause
// A queue that the test moves on step by step, and operations for it that the test completes: thence/enqueue.h on the
// fake MPI.
#pragma once

#include "library.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/queues/queue.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>

namespace thence::fake {

// One that the test completes. Threads may begin it.
struct scripted_operation {
    std::atomic<int> begun{0};
    int refuses_with = MPI_SUCCESS; // what the function that starts it returns
    ticket started;                 // valid once it has begun
    std::function<void()> at_start;

    static int start(MPI_Comm, void *data, MPI_Request *request) {
        auto &self = **static_cast<scripted_operation **>(data);
        if (self.at_start) {
            self.at_start();
        }
        if (self.refuses_with == MPI_SUCCESS) {
            *request = world.start();
            self.started = world.ticket_of(*request);
        }
        self.begun.fetch_add(1);
        return self.refuses_with;
    }
    bool begins() const {
        return eventually([this] { return begun.load() != 0; });
    }
    void complete(const result &how = {}) const { EXPECT_TRUE(world.complete(started, how)); }
};

enum class reaching { stores, launches }; // how the queue says that it has reached a call

class scripted_queue {
public:
    explicit scripted_queue(reaching how = reaching::stores) : table_(make_table(how)) {
        queue_ = queues::queue::create({&table_, this});
        EXPECT_NE(queue_, nullptr);
    }

    // Enqueues an operation for which the queue waits, or, with `request`, does not.
    queues::enqueuing enqueue(scripted_operation &what, MPI_Status *status = MPI_STATUS_IGNORE) {
        scripted_operation *const pointer = &what;
        return queue_->enqueue(operation_of(pointer), status);
    }
    queues::enqueuing enqueue(scripted_operation &what, MPI_Request *request) {
        scripted_operation *const pointer = &what;
        return queue_->enqueue(operation_of(pointer), {}, request);
    }
    queues::enqueued_operation operation_of(scripted_operation *const &pointer) {
        return {&scripted_operation::start, &pointer, sizeof pointer, MPI_COMM_SELF, not_begun_, nullptr};
    }
    void push(std::function<void()> function) {
        steps_.push_back([function] {
            function();
            return true;
        });
    }

    // Does what is enqueued until it waits. True if nothing is left.
    bool go() {
        while (!steps_.empty() && steps_.front()()) {
            steps_.pop_front();
        }
        return steps_.empty();
    }
    bool finishes() {
        return eventually([this] { return go() && queue_->is_idle(); });
    }
    // What has not begun does not begin, however often MPI makes progress.
    static void make_progress() {
        for (int i = 0; i < 5; ++i) {
            let_run();
        }
    }

    queues::queue &operator*() { return *queue_; }
    queues::queue *operator->() { return queue_.get(); }
    queues::owned_queue release() { return std::move(queue_); }
    long not_begun() const { return not_begun_->load(); }

    int refuse_after = -1; // so many calls are taken, then all are refused; -1: none is
    int refuse_once = -1;  // so many calls are taken, then one is refused
    int users = 0;         // streams that use it
    std::function<void(bool)> on_use;
    bool in_device = false;    // buffers have to be copied
    std::set<void *> in_use;   // memory of such copies, and the words
    int copies_to_nothing = 0; // into such memory, after it was given back

private:
    static scripted_queue &of(void *handle) { return *static_cast<scripted_queue *>(handle); }
    template <class Step> int add(Step step) {
        if (refuse_after == 0 || refuse_once-- == 0) {
            return 1;
        }
        refuse_after -= refuse_after > 0 ? 1 : 0;
        steps_.emplace_back(step);
        return 0;
    }
    static thence_queue_table make_table(reaching how) {
        thence_queue_table table{};
        table.size = sizeof table;
        table.name = "scripted queue";
        table.flags = THENCE_QUEUE_CALLS_MPI;
        table.launch = [](void *queue, void (*function)(void *), void *data) {
            return of(queue).add([=] {
                function(data);
                return true;
            });
        };
        if (how == reaching::stores) {
            table.record = [](void *queue, std::uint32_t *word, std::uint32_t value) {
                return of(queue).add([=] {
                    std::atomic_ref(*word).store(value);
                    return true;
                });
            };
        }
        table.allocate = [](void *queue, std::size_t bytes) {
            return *of(queue).in_use.insert(std::aligned_alloc(64, bytes)).first;
        };
        table.release = [](void *queue, void *memory) {
            of(queue).in_use.erase(memory);
            std::free(memory);
        };
        table.needs_copy = [](void *queue, const void *, int *is) {
            *is = of(queue).in_device ? 1 : 0;
            return 0;
        };
        table.copy = [](void *queue, void *to, const void *from, std::size_t bytes) {
            return of(queue).add([=, &q = of(queue)] {
                const bool is_there = q.in_use.contains(to) || q.in_use.contains(const_cast<void *>(from));
                q.copies_to_nothing += is_there ? 0 : 1;
                if (is_there) {
                    std::memcpy(to, from, bytes);
                }
                return true;
            });
        };
        table.use = [](void *queue, int on) {
            of(queue).users += on != 0 ? 1 : -1;
            if (of(queue).on_use) {
                of(queue).on_use(on != 0);
            }
            return 0;
        };
        table.wait = [](void *queue, std::uint32_t *word, std::uint32_t value) {
            return of(queue).add([=] { return static_cast<std::int32_t>(std::atomic_ref(*word).load() - value) >= 0; });
        };
        return table;
    }

    thence_queue_table table_;
    std::shared_ptr<std::atomic<long>> not_begun_ = std::make_shared<std::atomic<long>>(0);
    std::deque<std::function<bool()>> steps_;
    queues::owned_queue queue_;
};

} // namespace thence::fake
