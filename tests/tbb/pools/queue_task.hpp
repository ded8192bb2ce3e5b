// SPDX-License-Identifier: BSD-3-Clause
// A task of the queue of a pool that runs a function of the test, and a host that counts the calls of the queue.
#pragma once

#include "tbb/pools/work_queue.hpp"

#include <functional>
#include <utility>

namespace queue_tests {

struct task : thence::detail::pool_task {
    std::function<void()> body;
    explicit task(std::function<void()> what) : body(std::move(what)) {
        run = [](thence::detail::pool_task *self) noexcept { static_cast<task *>(self)->body(); };
    }
};

struct counting_host final : thence::detail::runner_host {
    int calls = 0;
    int polls = 0;
    int yields = 0;
    bool has_threads = true;
    bool finds_something = false;
    bool polls_while_waiting = false;
    int begins = 0;
    std::function<void()> in_progress;
    std::function<void()> in_yield;

    bool call() override { return has_threads && ++calls != 0; }
    bool progress() noexcept override {
        ++polls;
        if (in_progress) {
            in_progress();
        }
        return finds_something;
    }
    bool polls_for_waiting() noexcept override { return polls_while_waiting; }
    void yield() noexcept override {
        ++yields;
        if (in_yield) {
            in_yield();
        }
    }
    void began() noexcept override { ++begins; }
};

} // namespace queue_tests
