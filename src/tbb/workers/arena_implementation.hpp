// SPDX-License-Identifier: BSD-3-Clause
// The arena of oneTBB inside of an arena, for rooms that call oneTBB themselves.
#pragma once

#include "tbb/workers/arena.hpp"

#include <thence/detail/start_thread.hpp>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <cstddef>
#include <optional>

namespace thence::workers {

struct arena::implementation {
    std::optional<::tbb::global_control> threads;
    ::tbb::task_arena arena;
    std::optional<detail::workers_without_signals<::tbb::task_scheduler_observer>> signals;

    // `least_threads`: of the process, if oneTBB has fewer by default. The rest is as for ::tbb::task_arena.
    template <class... Arguments>
    explicit implementation(std::size_t least_threads, Arguments... arguments) : arena(arguments...) {
        if (least_threads > static_cast<std::size_t>(::tbb::info::default_concurrency())) {
            threads.emplace(::tbb::global_control::max_allowed_parallelism, least_threads);
        }
        arena.initialize();
        signals.emplace(arena);
    }
};

} // namespace thence::workers
