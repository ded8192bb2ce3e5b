// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize waits for callbacks that run on the helper thread or on a worker in its place. What such a callback may
// call does not wait for MPI_Finalize.
#include "library.hpp"

#include "core/progress/progress.hpp"

namespace {

using namespace thence::fake;
namespace progress = thence::progress;

class helper_ends : public on_fake {
protected:
    // Runs `call` in a callback, on the helper or on a worker, while helper_tear_down() waits for that thread.
    void run_while_it_ends(bool on_worker, const std::function<void()> &call) {
        cr c(THENCE_CR_ANY_THREAD);
        note n;
        std::atomic<bool> inside{false};
        std::atomic<bool> must_end{false};
        n.inside = [&] {
            inside = true;
            while (!must_end) {
                std::this_thread::yield();
            }
            call();
        };
        const ticket t = attach_pending(n, c);
        std::thread worker;
        if (on_worker) {
            // The other rules show that a worker runs the continuation as well as the helper. Here it may be either.
            worker = std::thread([&] {
                while (n.runs == 0 && !must_end) {
                    progress::help_while_idle();
                }
            });
        }
        world.complete(t);
        while (!inside) {
            std::this_thread::yield();
        }
        // A worker is sent away as soon as the helper has been told to stop.
        std::thread observer([&] {
            while (progress::help_while_idle() != progress::idle_help::ended) {
                std::this_thread::yield();
            }
            must_end = true;
        });
        progress::helper_tear_down();
        EXPECT_EQ(n.runs, 1);
        observer.join();
        if (on_worker) {
            worker.join();
        }
    }
};

TEST_P(helper_ends, while_its_callback_creates_a_cr) {
    for (const bool on_worker : {false, true}) {
        run_while_it_ends(on_worker, [] {
            cr another(THENCE_CR_ANY_THREAD);
            EXPECT_NE(another.handle, MPI_REQUEST_NULL);
        });
        progress::helper_set_up(true);
    }
}

TEST_P(helper_ends, while_its_callback_asks_about_it) {
    run_while_it_ends(false, [] { EXPECT_GE(progress::helper_processor_time(), 0); });
}

THENCE_RULES(helper_ends);

} // namespace
