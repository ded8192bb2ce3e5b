// SPDX-License-Identifier: BSD-3-Clause
// A flow whose tasks are run by the thread that waits for them: its only worker is kept busy. Counts then do not depend on
// how threads share the work.
#pragma once

#include <thence/dataflow.hpp>

#include <array>
#include <semaphore>
#include <span>

namespace measure {

class flow_on_caller {
public:
    flow_on_caller() : flow_({.workers = 1, .most_open = thence::flow_options::no_limit}) {
        flow_.submit({}, [this] {
            busy_.release();
            over_.acquire();
        });
        busy_.acquire(); // this thread does not wait in the flow, so the worker has begun the task
    }
    ~flow_on_caller() {
        over_.release();
        flow_.taskwait();
    }
    flow_on_caller(const flow_on_caller &) = delete;
    flow_on_caller &operator=(const flow_on_caller &) = delete;

    thence::flow &flow() { return flow_; }

    // Wait for accesses: flow().taskwait() without any would wait for the busy worker, too.
    void wait(std::span<const thence::access> accesses) { flow_.taskwait(accesses); }

private:
    thence::flow flow_;
    std::binary_semaphore busy_{0};
    std::binary_semaphore over_{0};
};

} // namespace measure
