// SPDX-License-Identifier: BSD-3-Clause
// omp_fulfill_event is wrapped by the linker, so that every call is counted: once per event, never twice.
// The thread that tests in thence_omp_taskwait() says with each test what it has used of the processor.
#include "mpi_fixture.hpp"

namespace {

use_of_polling_thread use_of_tester;

int watched_test(MPI_Request *cr, int *flag, MPI_Status *status) {
    use_of_tester.record();
    return thence_test(cr, flag, status);
}

} // namespace

#define thence_test watched_test
#include <thence/omp.h>
#undef thence_test

#include <list>
#include <vector>

namespace {
std::atomic<int> fulfilled{0};
}

extern "C" {
void __real_omp_fulfill_event(omp_event_handle_t event);
void __wrap_omp_fulfill_event(omp_event_handle_t event);
void __wrap_omp_fulfill_event(omp_event_handle_t event) {
    ++fulfilled;
    __real_omp_fulfill_event(event);
}
}

namespace {

class omp : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        fulfilled = 0;
        omp_set_num_threads(GetParam());
    }
};

TEST_P(omp, event_is_fulfilled_at_once_when_everything_is_complete) {
    const thence::continuation_request cr; // nobody makes progress
    complete_receive a(1);
    complete_receive b(2);
    std::array<MPI_Request, 2> requests{a.request, b.request};
    std::array<MPI_Status, 2> statuses;
    int rc = -1;
    int inside = -1;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, inside, requests, statuses)
        {
            rc = thence_omp_fulfill_event_after(2, requests.data(), statuses.data(), event, cr);
            inside = fulfilled.load();
        }
#pragma omp taskwait
    }
    EXPECT_EQ(rc, MPI_SUCCESS);
    EXPECT_EQ(inside, 1);
    EXPECT_EQ(fulfilled.load(), 1);
    EXPECT_EQ(statuses[1].MPI_TAG, 2);
}

TEST_P(omp, dependent_task_starts_after_the_last_operation) {
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
    pending_receive a(1);
    pending_receive b(2);
    std::array<MPI_Request, 2> requests{a.request, b.request};
    std::atomic<int> sent = 0;
    int seen = -1;
    int rc = -1;
    std::thread sender([&] {
        b.complete(20);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        sent = 2;
        a.complete(10);
    });
    int token = 0;
    (void)token;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : token) shared(rc, requests)
        rc = thence_omp_fulfill_event_after(2, requests.data(), MPI_STATUSES_IGNORE, event, cr);
#pragma omp task depend(in : token) shared(seen, sent)
        seen = sent.load();
        rc |= thence_omp_taskwait(cr);
    }
    sender.join();
    EXPECT_EQ(rc, MPI_SUCCESS);
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(a.value() + b.value(), 30);
    EXPECT_EQ(fulfilled.load(), 1);
}

// Every message is sent by another task of the same rank; a thread that blocked in a task would stop both.
void exchange_with_self(MPI_Request cr, int count) {
    std::vector<int> in(static_cast<std::size_t>(count), -1);
    std::vector<int> out(static_cast<std::size_t>(count));
    int errors = 0;
    int waited = -1;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < count; ++i) {
            omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i) shared(in, out, errors)
            {
                const auto at = static_cast<std::size_t>(i);
                out[at] = i;
                MPI_Request requests[2];
                MPI_Irecv(&in[at], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[0]);
                MPI_Isend(&out[at], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[1]);
                if (thence_omp_fulfill_event_after(2, requests, MPI_STATUSES_IGNORE, event, cr) != MPI_SUCCESS) {
#pragma omp atomic
                    ++errors;
                }
            }
        }
        waited = thence_omp_taskwait(cr);
    }
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(waited, MPI_SUCCESS);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(in[static_cast<std::size_t>(i)], i);
    }
    EXPECT_EQ(fulfilled.load(), count);
}

TEST_P(omp, thousand_detached_tasks_each_complete_once) {
    exchange_with_self(thence::continuation_request(THENCE_CR_ANY_THREAD), 1000);
}

TEST_P(omp, taskwait_makes_the_progress_that_a_plain_cr_needs) {
    exchange_with_self(thence::continuation_request(), 50);
}

TEST_P(omp, taskwait_tests_a_poll_only_cr) {
    exchange_with_self(thence::continuation_request(THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE), 50);
}

// The threads of OpenMP may spin meanwhile, so only the thread that tests is looked at.
TEST_P(omp, taskwait_pauses_while_nothing_arrives) {
    const thence::continuation_request cr;
    int rc = -1;
    use_of_tester.restart();
    expect_pauses_while_nothing_arrives(
        [&](MPI_Request request) {
#pragma omp parallel
#pragma omp single
            {
                omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, request)
                rc = thence_omp_fulfill_event_after(1, &request, MPI_STATUSES_IGNORE, event, cr);
                rc |= thence_omp_taskwait(cr);
            }
        },
        [] { return use_of_tester.read(); });
    EXPECT_EQ(rc, MPI_SUCCESS);
}

TEST_P(omp, failed_operation_fulfils_the_event_and_its_error_is_kept) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD | THENCE_CR_REPORT_FAILED);
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    MPI_Status status{};
    int rc = -1;
    int waited = -1;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, bad, status)
        {
            rc = thence_omp_fulfill_event_after(1, &bad.request, &status, event, cr);
            bad.ask();
        }
        waited = thence_omp_taskwait(cr);
    }
    EXPECT_EQ(rc, MPI_SUCCESS);
    EXPECT_EQ(fulfilled.load(), 1);
    EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(waited), MPI_ERR_TRUNCATE);
}

TEST_P(omp, operation_that_had_failed_already_fulfils_the_event_and_returns_its_error) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    const thence::continuation_request cr;
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    bad.ask();
    int flag = 0;
    while (!flag) {
        MPI_Request_get_status(bad.request, &flag, MPI_STATUS_IGNORE);
    }
    int rc = -1;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, bad)
        rc = thence_omp_fulfill_event_after(1, &bad.request, MPI_STATUSES_IGNORE, event, cr);
#pragma omp taskwait
    }
    EXPECT_EQ(class_of(rc), MPI_ERR_TRUNCATE);
    EXPECT_EQ(fulfilled.load(), 1);
}

TEST_P(omp, bad_argument_leaves_event_and_request_to_the_caller) {
    const errors_return scope;
    pending_receive r(1);
    const MPI_Request before = r.request;
    int rc = -1;
    int inside = -1;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, inside, r)
        {
            rc = thence_omp_fulfill_event_after(1, &r.request, MPI_STATUSES_IGNORE, event, MPI_REQUEST_NULL);
            inside = fulfilled.load();
            omp_fulfill_event(event);
        }
#pragma omp taskwait
    }
    EXPECT_EQ(class_of(rc), MPI_ERR_REQUEST);
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(r.request, before);
    EXPECT_EQ(class_of(thence_omp_taskwait(MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    const thence::continuation_request started(THENCE_CR_NEEDS_START);
    EXPECT_EQ(thence_omp_taskwait(started), MPI_ERR_ARG) << "it might have to be started again while it is waited for";
    r.complete();
    MPI_Wait(&r.request, MPI_STATUS_IGNORE);
}

struct relay {
    pending_receive second{2};
    omp_event_handle_t event{};
    MPI_Request cr = MPI_REQUEST_NULL;
    int rc = -1;
};

TEST_P(omp, event_can_be_bound_inside_a_callback) {
    const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
    relay state;
    state.cr = cr;
    pending_receive first(1);
    int rc = -1;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(rc, state, first)
        {
            const auto callback = [](int, MPI_Status *, void *data) -> int {
                auto *self = static_cast<relay *>(data);
                self->rc = thence_omp_fulfill_event_after(1, &self->second.request, MPI_STATUSES_IGNORE, self->event,
                                                          self->cr);
                self->second.complete(7);
                return MPI_SUCCESS;
            };
            int flag = 0;
            state.event = event;
            rc = thence_attach(1, &first.request, callback, &state, 0, MPI_STATUSES_IGNORE, cr, &flag);
            first.complete();
        }
        rc |= thence_omp_taskwait(cr);
    }
    EXPECT_EQ(rc, MPI_SUCCESS);
    EXPECT_EQ(state.rc, MPI_SUCCESS);
    EXPECT_EQ(state.second.value(), 7);
    EXPECT_EQ(fulfilled.load(), 1);
}

INSTANTIATE_TEST_SUITE_P(threads, omp, testing::Values(1, 2, 4));

} // namespace
