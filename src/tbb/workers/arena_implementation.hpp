// SPDX-License-Identifier: BSD-3-Clause
// The arena of oneTBB inside of an arena, for rooms that call oneTBB themselves.
#pragma once

#include "tbb/workers/arena.hpp"

#include <thence/detail/start_thread.hpp>

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <optional>

namespace thence::workers {

struct arena::implementation {
    ::tbb::task_arena arena;
    std::optional<detail::workers_without_signals<::tbb::task_scheduler_observer>> signals;

    // As for ::tbb::task_arena.
    template <class... Arguments> explicit implementation(Arguments... arguments) : arena(arguments...) {
        arena.initialize();
        signals.emplace(arena);
    }
};

} // namespace thence::workers
