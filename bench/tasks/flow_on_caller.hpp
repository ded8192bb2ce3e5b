// SPDX-License-Identifier: BSD-3-Clause
// A flow whose tasks are run by the thread that waits for them: its only worker is kept busy. Counts then do not depend
// on how threads share the work. And the data-flow layer as a task runtime, so that counts do not depend on time.
#pragma once

#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

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

// Adds the data-flow layer as a task runtime, and what its workers do between two tasks: nothing, if counted. Else they
// poll every 20 us. Under callgrind tasks take some 30 times longer, so one would poll after nearly every task.
class flow_runtime {
public:
    explicit flow_runtime(int (*between_tasks)(void) = nullptr) {
        thence_task_runtime_add(thence_flow_task_runtime());
        thence_flow_between_tasks(between_tasks);
    }
    ~flow_runtime() { thence_task_runtime_remove(thence_flow_task_runtime()); }
    flow_runtime(const flow_runtime &) = delete;
    flow_runtime &operator=(const flow_runtime &) = delete;
};

} // namespace measure
