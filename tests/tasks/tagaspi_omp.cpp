// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI in detached tasks of OpenMP, whose table tagaspi_proc_init() adds.
#include "tagaspi_fixture.hpp"

#include <thence/omp.h>

#include <array>
#include <atomic>

namespace {

using tagaspi_omp = tagaspi;

// Each value goes to the next rank, and its notification back as an acknowledgement.
TEST_F(tagaspi_omp, successors_start_after_notifications) {
    constexpr int rounds =
        20; // GCC runs a task at once when 64 for each thread are unfinished, and waits for its event
    int *const data = make<int>(1, 2 * rounds);
    std::array<gaspi_notification_t, rounds> seen{};
    std::array<int, rounds> values{};
    std::atomic<int> acknowledged{0};
    meet();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < rounds; ++i) {
            omp_event_handle_t event;
            int *const in = data + rounds + i;
            auto *const value = &seen[static_cast<std::size_t>(i)];
            auto *const result = &values[static_cast<std::size_t>(i)];
            const auto id = static_cast<gaspi_notification_id_t>(i);
#pragma omp task depend(out : in[0]) detach(event) firstprivate(value, id)
            {
                EXPECT_EQ(thence_omp_task_begin(event), MPI_SUCCESS);
                EXPECT_EQ(tagaspi_notify_iwait(1, id, value), GASPI_SUCCESS);
                EXPECT_EQ(thence_omp_task_end(), MPI_SUCCESS);
            }
#pragma omp task depend(in : in[0]) firstprivate(in, value, result, id)
            {
                *result = *in + static_cast<int>(*value);
                EXPECT_EQ(tagaspi_notify(1, static_cast<gaspi_rank_t>(previous_rank), rounds + id, 1, 0),
                          GASPI_SUCCESS);
            }
#pragma omp task detach(event) firstprivate(i, id) shared(acknowledged)
            {
                EXPECT_EQ(thence_omp_task_begin(event), MPI_SUCCESS);
                data[i] = 100 * rank + i;
                EXPECT_EQ(tagaspi_write_notify(1, i * sizeof(int), static_cast<gaspi_rank_t>(next_rank), 1,
                                               (rounds + i) * sizeof(int), sizeof(int), id, 7, 0),
                          GASPI_SUCCESS);
                EXPECT_EQ(tagaspi_notify_iwait(1, rounds + id, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS);
                ++acknowledged;
                EXPECT_EQ(thence_omp_task_end(), MPI_SUCCESS);
            }
        }
#pragma omp taskwait // see thence/omp.h: a barrier of GCC 12 may miss the last event
    }
    EXPECT_EQ(acknowledged, rounds);
    for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], 100 * previous_rank + i + 7);
    }
    meet();
}

} // namespace

int main(int argc, char **argv) {
    return run_all_tests(argc, argv, MPI_THREAD_MULTIPLE);
}
