// SPDX-License-Identifier: BSD-3-Clause
// Tasks move to ranks that wait (thence/offload.hpp). With `continuations` the library learns by continuations that
// messages are complete, with `polling` by the manager of requests that workers poll between tasks.
#include "polling_manager.hpp"
#include "variants.hpp"

#include <exception>
#include <stop_token>
#include <thence/backoff.h>
#include <thence/offload.hpp>
#include <thread>

namespace offload {
namespace {

template <class Offloader> void solve(Run &run) {
    Offloader tasks(run.comm, run.offloading);
    tasks.template add<CellTask>();
    tasks.begin();
    std::vector<std::jthread> workers; // joined where an exception leaves a step, too
    for (int i = 1; i < run.threads; ++i) {
        workers.emplace_back([&](const std::stop_token &ends) {
            thence_backoff backoff = THENCE_BACKOFF_INIT;
            try {
                while (!ends.stop_requested()) {
                    if (tasks.work()) {
                        thence_backoff_found(&backoff);
                    } else {
                        thence_backoff_pause(&backoff);
                    }
                }
            } catch (const std::exception &) { // finish_step() throws it, too
            }
        });
    }
    for (int step = 0; step < run.settings.steps; ++step) {
        run.begin(step);
        for (int cell = 0; cell < run.cells.count(); ++cell) {
            tasks.template submit<CellTask>(run.cells.metadata(step, cell), run.cells.input(cell),
                                            run.cells.results(cell));
        }
        run.end(step, tasks.finish_step());
    }
}

} // namespace

void solve_continuations(Run &run) {
    solve<thence::offloader>(run);
}

void solve_polling(Run &run) {
    solve<thence::basic_offloader<PollingManager>>(run);
}

} // namespace offload
