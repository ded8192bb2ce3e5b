// SPDX-License-Identifier: BSD-3-Clause
// What the tests of ALPI share.
#pragma once

#include "dataflow/alpi/alpi.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace test {

template <class Condition> void wait_until(Condition &&holds) {
    while (!holds()) {
        std::this_thread::yield();
    }
}

// A task with that body. Its end waits until the task is complete.
class spawned {
public:
    explicit spawned(std::function<void()> body) : body_(std::move(body)) {
        EXPECT_EQ(alpi_task_spawn([](void *self) { static_cast<spawned *>(self)->body_(); }, this,
                                  [](void *self) { static_cast<spawned *>(self)->complete_ = true; }, this, "of a test",
                                  nullptr),
                  ALPI_SUCCESS);
    }
    ~spawned() {
        wait_until([this] { return complete(); });
    }
    spawned(const spawned &) = delete;
    spawned &operator=(const spawned &) = delete;
    bool complete() const { return complete_; }

private:
    std::function<void()> body_;
    std::atomic<bool> complete_{false};
};

inline alpi_task *self() {
    alpi_task *task = nullptr;
    EXPECT_EQ(alpi_task_self(&task), ALPI_SUCCESS);
    return task;
}

} // namespace test
