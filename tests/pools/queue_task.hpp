// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the queue of a pool, as tests write them.
#pragma once

#include <thence/pools/detail/work_queue.hpp>

#include <functional>
#include <utility>

namespace queue_tests {

struct task : thence::detail::pool_task {
    std::function<void()> body;
    explicit task(std::function<void()> what) : body(std::move(what)) {
        run = [](thence::detail::pool_task *self) noexcept { static_cast<task *>(self)->body(); };
    }
};

} // namespace queue_tests
