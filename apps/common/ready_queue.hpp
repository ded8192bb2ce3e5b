// SPDX-License-Identifier: BSD-3-Clause
// The work that is ready in a variant with callbacks and one thread that computes. Queue is a std::queue or a
// std::priority_queue of pointers. A callback may put work in on the helper thread, where `thence run --progress` has
// raised the thread level, so a lock guards it.
#pragma once

#include "common/check.hpp"

#include <mutex>
#include <thence/backoff.h>
#include <thence/thence.h>

namespace apps {

template <class Queue> class ReadyQueue {
public:
    using Pointer = typename Queue::value_type;

    void push(Pointer work) {
        const std::scoped_lock guard(lock);
        queue.push(work);
    }
    // The next one; null: none is ready.
    Pointer next() {
        const std::scoped_lock guard(lock);
        return first();
    }
    // The same, and takes it out.
    Pointer take() {
        const std::scoped_lock guard(lock);
        const Pointer work = first();
        if (work != nullptr) {
            queue.pop();
        }
        return work;
    }

    // Lets MPI make progress. Pauses after many polls that find nothing: other programs may want the processor.
    void poll() {
        check(thence_progress());
        if (next() != nullptr) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }

private:
    Pointer first() const {
        if (queue.empty()) {
            return nullptr;
        }
        if constexpr (requires { queue.top(); }) {
            return queue.top();
        } else {
            return queue.front();
        }
    }

    std::mutex lock;
    Queue queue;
    thence_backoff backoff = THENCE_BACKOFF_INIT;
};

} // namespace apps
