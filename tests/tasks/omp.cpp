// SPDX-License-Identifier: BSD-3-Clause
// Detached tasks of OpenMP as tasks of a runtime: what depends on them starts after their messages.
#include <thence/omp.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>

namespace {

class omp : public testing::Test {
protected:
    omp() {
        EXPECT_EQ(thence_task_runtime_add(thence_task_runtime_detached()), MPI_SUCCESS);
        EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr_), MPI_SUCCESS);
    }
    ~omp() override {
        EXPECT_EQ(thence_free(&cr_), MPI_SUCCESS);
        EXPECT_EQ(thence_task_runtime_remove(thence_task_runtime_detached()), MPI_SUCCESS);
    }
    // As code that knows nothing of OpenMP's events does.
    void delay_end(MPI_Request &request, MPI_Status &status) const {
        thence_task self{};
        EXPECT_EQ(thence_task_current(&self), MPI_SUCCESS);
        ASSERT_EQ(self.runtime, thence_task_runtime_detached());
        EXPECT_EQ(thence_task_attach(1, &request, 0, &status, &self, cr_), MPI_SUCCESS);
    }
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

// Each task receives two messages, and so attaches twice. Its successor sends their sum on.
TEST_F(omp, successors_of_a_task_start_after_its_messages) {
    constexpr int rounds = 50;
    std::array<std::array<int, 2>, rounds> received{};
    std::array<std::array<MPI_Status, 2>, rounds> statuses{};
    std::array<int, rounds> sums{};
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (std::size_t i = 0; i < rounds; ++i) {
            omp_event_handle_t event;
            auto *const room = &received[i];
            auto *const status = &statuses[i];
            auto *const sum = &sums[i];
            const int tag = static_cast<int>(2 * i);
#pragma omp task depend(out : room[0]) detach(event) firstprivate(room, status, tag)
            {
                EXPECT_EQ(thence_omp_task_begin(event), MPI_SUCCESS);
                for (int k = 0; k < 2; ++k) {
                    MPI_Request request = MPI_REQUEST_NULL;
                    MPI_Irecv(&(*room)[static_cast<std::size_t>(k)], 1, MPI_INT, 0, tag + k, MPI_COMM_SELF, &request);
                    delay_end(request, (*status)[static_cast<std::size_t>(k)]);
                }
                EXPECT_EQ(thence_omp_task_end(), MPI_SUCCESS);
            }
#pragma omp task depend(in : room[0]) firstprivate(room, status, sum, tag)
            {
                EXPECT_EQ((*status)[1].MPI_TAG, tag + 1);
                *sum = (*room)[0] + (*room)[1];
            }
#pragma omp task firstprivate(tag)
            for (int k = 0; k < 2; ++k) {
                MPI_Send(&tag, 1, MPI_INT, 0, tag + k, MPI_COMM_SELF);
            }
        }
    }
    for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(sums[static_cast<std::size_t>(i)], 4 * i);
    }
}

// Plain tasks that the thread of a detached body runs there: they are no task of the table, and the detached one ends
// after its own message only. No task blocks in MPI: with libomp a thread that waits for its children does not run them
// while the last task in its queue is one that it may not run there, and the other thread must take that.
TEST_F(omp, plain_tasks_inside_of_a_body_do_not_count_as_it) {
    constexpr int rounds = 20;
    std::array<int, rounds> received{};
    std::array<MPI_Status, rounds> statuses{};
    std::array<int, rounds> sent{};
    std::array<MPI_Request, rounds> sends{};
    std::atomic<int> taken_for_it{0};
    std::atomic<int> lost{0};
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (std::size_t i = 0; i < rounds; ++i) {
            omp_event_handle_t event;
            auto *const room = &received[i];
            auto *const status = &statuses[i];
            const int tag = static_cast<int>(i);
            sent[i] = tag;
            auto *const send = &sends[i];
            const bool waits_with_progress = i % 2 == 1;
#pragma omp task depend(out : room[0]) detach(event) firstprivate(room, status, tag, waits_with_progress)
            {
                EXPECT_EQ(thence_omp_task_begin(event), MPI_SUCCESS);
                const auto child = [&] {
                    thence_task self{};
                    thence_task_current(&self);
                    taken_for_it += self.handle != nullptr ? 1 : 0;
                };
                void *paused = nullptr;
                EXPECT_EQ(thence_omp_task_pause(&paused), MPI_SUCCESS);
                for (int k = 0; k < 4; ++k) {
#pragma omp task shared(child)
                    child();
                }
                if (waits_with_progress) {
                    EXPECT_EQ(thence_omp_task_resume(paused), MPI_SUCCESS);
                    MPI_Request own = MPI_REQUEST_NULL; // one thread at a time may wait with a CR
                    EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &own), MPI_SUCCESS);
                    EXPECT_EQ(thence_omp_taskwait(own), MPI_SUCCESS);
                    EXPECT_EQ(thence_free(&own), MPI_SUCCESS);
                } else {
#pragma omp taskwait
                    EXPECT_EQ(thence_omp_task_resume(paused), MPI_SUCCESS);
                }
                thence_task self{};
                thence_task_current(&self);
                lost += self.handle == nullptr ? 1 : 0;
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(room, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
                delay_end(request, *status);
                EXPECT_EQ(thence_omp_task_end(), MPI_SUCCESS);
            }
#pragma omp task depend(in : room[0]) firstprivate(room, tag)
            EXPECT_EQ(*room, tag);
#pragma omp task firstprivate(tag, send) shared(sent)
            MPI_Isend(&sent[static_cast<std::size_t>(tag)], 1, MPI_INT, 0, tag, MPI_COMM_SELF, send);
        }
    }
    MPI_Waitall(rounds, sends.data(), MPI_STATUSES_IGNORE);
    EXPECT_EQ(taken_for_it, 0);
    EXPECT_EQ(lost, 0);
}

} // namespace
