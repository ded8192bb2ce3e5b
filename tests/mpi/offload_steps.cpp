// SPDX-License-Identifier: BSD-3-Clause
// Which step a task counts in (thence/offload.hpp), where a worker gets one of the next step while the thread that
// finishes steps has not left finish_step() yet.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thence/offload.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int steps = 60, tasks_of_step = 20;

int rank = 0;
std::array<std::atomic<int>, steps> run_here; // tasks of rank 0, by their step

struct numbered {
    struct metadata {
        int step;
    };
    static std::size_t input_bytes(const metadata &) { return 0; }
    static std::array<std::size_t, 3> result_bytes(const metadata &) { return {0, 0, 0}; }
    static void run(const metadata &m, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 3> &) noexcept {
        for (const double end = MPI_Wtime() + 300e-6; MPI_Wtime() < end;) {
        }
        if (rank != 0) {
            ++run_here.at(static_cast<std::size_t>(m.step));
        }
    }
};

// On a rank that has run tasks of rank 0 in a step, the end of the step is noticed only once it has run another one, of
// the next step; or after 50 ms, since how many tasks move depends on measured times. Three times.
class slow_to_leave : public thence::detail::offload_continuations {
public:
    using offload_continuations::offload_continuations;
    int attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        if (count == 3) { // results of a task of another rank, which counts already
            ran.fetch_add(1);
        }
        // The first is of a barrier: no task moves in the first step.
        if (count == 1 && !persistent && together == nullptr) {
            together = done;
        }
        if (done == together && ++meetings % 2 == 0) {
            const int until_now = ran.load();
            const bool has_run = until_now != std::exchange(ran_before_step, until_now);
            const std::scoped_lock guard(lock);
            done = has_run && overlaps < 3 ? &defer : done;
        }
        return offload_continuations::attach(count, requests, done, data, statuses, persistent);
    }
    void poll() {
        offload_continuations::poll();
        const std::scoped_lock guard(lock);
        if (deferred == nullptr) {
            return;
        }
        const bool has_run = ran.load() != ran_before;
        if (has_run || MPI_Wtime() > patience_ends) {
            overlaps += has_run ? 1 : 0;
            together.load()(MPI_SUCCESS, nullptr, std::exchange(deferred, nullptr));
        }
    }
    static inline int overlaps = 0; // by whoever holds `lock`

private:
    static int defer(int code, MPI_Status *, void *data) {
        EXPECT_EQ(code, MPI_SUCCESS);
        const std::scoped_lock guard(lock);
        deferred = data, ran_before = ran.load(), patience_ends = MPI_Wtime() + 0.05;
        return MPI_SUCCESS;
    }
    static inline std::atomic<thence_callback *> together{nullptr}; // a barrier or a gather has ended
    static inline std::atomic<int> ran{0};
    static inline int meetings = 0, ran_before_step = 0; // of the thread that finishes steps
    static inline std::mutex lock;                       // guards what follows
    static inline void *deferred = nullptr;
    static inline int ran_before = 0;
    static inline double patience_ends = 0;
};

TEST(OffloadSteps, a_task_counts_in_the_step_that_it_was_submitted_in) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    thence::offload_settings settings;
    settings.workers = 2, settings.late = 100;
    thence::basic_offloader<slow_to_leave> tasks(MPI_COMM_WORLD, settings);
    tasks.add<numbered>();
    tasks.begin();
    std::atomic<bool> ends{false};
    std::thread worker([&] {
        while (!ends) {
            if (!tasks.work()) {
                std::this_thread::yield();
            }
        }
    });
    std::vector<thence::offload_step> did;
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; rank == 0 && i < tasks_of_step; ++i) {
            tasks.submit<numbered>({step}, {}, {});
        }
        did.push_back(tasks.finish_step());
    }
    ends = true;
    worker.join();
    for (std::size_t step = 0; step < did.size(); ++step) {
        EXPECT_EQ(did[step].foreign, run_here.at(step)) << "step " << step;
        EXPECT_EQ(did[step].own + did[step].offloaded, rank == 0 ? tasks_of_step : 0) << "step " << step;
    }
    int overlaps = slow_to_leave::overlaps;
    MPI_Allreduce(MPI_IN_PLACE, &overlaps, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_GT(overlaps, 0) << "no rank was slow enough";
}

} // namespace
