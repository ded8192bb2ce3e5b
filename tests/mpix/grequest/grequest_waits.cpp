// SPDX-License-Identifier: BSD-3-Clause
// Wait functions of generalized requests: they are called in calls that block, once for all requests that are left, if
// these have the same wait function and nothing else is left.
#include "polled_work.hpp"

#include "core/progress/interposed.hpp"

#include <thence/mpix.h>

#include <algorithm>
#include <vector>

namespace {

using namespace thence::fake;

// What the last call of the wait function was given.
struct {
    int calls = 0;
    int most = 0;
    double timeout = 0;
    bool no_states = false;
    int answer = MPI_SUCCESS;
    std::function<void()> before;
} seen;

// Completes those whose work has ended.
int wait_for(int count, void **states, double timeout, MPI_Status *status) {
    ++seen.calls;
    seen.most = std::max(seen.most, count);
    seen.timeout = timeout;
    seen.no_states = states == nullptr || status == nullptr;
    if (seen.before) {
        seen.before();
    }
    for (int i = 0; i < count; ++i) {
        work &w = *static_cast<work *>(states[i]);
        const work::call in_call(w);
        ++w.waits;
        if (w.ended) {
            w.complete();
        }
    }
    return seen.answer;
}
int another_wait_for(int count, void **states, double timeout, MPI_Status *status) {
    return wait_for(count, states, timeout, status);
}

// The form that the paper prints.
int wait_as_printed(int count, void *array_of_states, double timeout, MPI_Status *status) {
    return wait_for(count, static_cast<void **>(array_of_states), timeout, status);
}

class grequest_waits : public on_fake {
protected:
    grequest_waits() { seen = {}; }
    static bool marked() { return (thence::progress::slow_path_reasons & thence::progress::waited_grequests) != 0; }
};

TEST_P(grequest_waits, wait_calls_the_wait_function_with_a_short_time_out) {
    work w;
    w.start(&work::poll, &wait_for);
    EXPECT_TRUE(marked());
    seen.before = [&] { w.ended = seen.calls == 3; };
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_GE(seen.calls, 1);
    EXPECT_EQ(seen.most, 1);
    EXPECT_GT(seen.timeout, 0);
    EXPECT_LE(seen.timeout, 0.01) << "so that MPI makes progress";
    EXPECT_FALSE(seen.no_states);
    EXPECT_FALSE(marked());
    w.expect_over();
}

TEST_P(grequest_waits, one_with_a_wait_function_alone_completes_in_every_call_that_blocks) {
    for (int form = 0; form < 4; ++form) {
        work w;
        w.start(nullptr, &wait_for);
        seen.before = [&] { w.ended = true; };
        int index = -1;
        int found = -1;
        switch (form) {
        case 0:
            EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            break;
        case 1:
            EXPECT_EQ(MPI_Waitall(1, &w.request, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            break;
        case 2:
            EXPECT_EQ(MPI_Waitany(1, &w.request, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(index, 0);
            break;
        default:
            EXPECT_EQ(MPI_Waitsome(1, &w.request, &found, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(found, 1);
        }
        EXPECT_EQ(w.polls, 0);
        w.expect_over();
    }
}

// MPICH calls it once for each, one after the other.
TEST_P(grequest_waits, waitall_waits_for_all_together) {
    constexpr int count = 100;
    std::vector<work> all(count);
    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses(count + 1);
    for (int i = 0; i < count; ++i) {
        all[i].tag = i;
        all[i].start(i % 2 == 0 ? nullptr : &work::poll, &wait_for);
        requests.push_back(all[i].request);
    }
    requests.push_back(MPI_REQUEST_NULL);
    seen.before = [&] {
        for (work &each : all) {
            each.ended = true;
        }
    };
    EXPECT_EQ(MPI_Waitall(count + 1, requests.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(seen.most, count);
    EXPECT_EQ(seen.calls, 1);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(statuses[i].MPI_TAG, i);
        all[i].expect_over();
    }
}

TEST_P(grequest_waits, it_is_not_called_while_anything_else_is_left) {
    work w;
    w.start(nullptr, &wait_for);
    MPI_Request message = world.start();
    MPI_Request requests[] = {w.request, message};
    bool early = false;
    seen.before = [&] { early = early || !w.ended; };
    // The message completes after a while; only then may the wait function be called.
    std::thread sends([&, t = world.ticket_of(message)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        w.ended = true;
        world.complete(t);
    });
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    sends.join();
    EXPECT_FALSE(early);
    EXPECT_GE(seen.calls, 1);
    w.expect_over();
}

TEST_P(grequest_waits, two_wait_functions_are_no_common_one_so_both_are_polled) {
    work a;
    work b;
    a.inside = [&] { a.ended = a.polls > 3; };
    b.inside = [&] { b.ended = b.polls > 6; };
    a.start(&work::poll, &wait_for);
    b.start(&work::poll, &another_wait_for);
    MPI_Request requests[] = {a.request, b.request};
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_LE(seen.most, 1);
    a.expect_over();
    b.expect_over();
}

TEST_P(grequest_waits, mpi_makes_progress_between_two_calls) {
    work w;
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    world.complete_in_progress(t);
    w.start(nullptr, &wait_for);
    seen.before = [&] { w.ended = n.runs != 0; };
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    w.expect_over();
}

TEST_P(grequest_waits, an_error_ends_those_that_are_left) {
    work a;
    work b;
    a.start(nullptr, &wait_for);
    b.start(nullptr, &wait_for);
    a.ended = true;
    seen.answer = MPI_ERR_IO;
    MPI_Request requests[] = {a.request, b.request};
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS) << "its work had ended";
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_IO);
    EXPECT_EQ(reported(), codes{MPI_ERR_IO});
    a.expect_over();
    b.expect_over();
}

TEST_P(grequest_waits, other_requests_are_waited_for_as_always) {
    work w;
    w.start(nullptr, &wait_for);
    MPI_Request message = world.start();
    world.complete_in_progress(message);
    EXPECT_EQ(MPI_Wait(&message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Request two[] = {world.start(), world.start()};
    world.complete_in_progress(two[0]);
    world.complete_in_progress(two[1]);
    EXPECT_EQ(MPI_Waitall(2, two, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen.calls, 0);
    w.ended = true;
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(grequest_waits, crs_beside_them_complete_too) {
    work w;
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    w.start(nullptr, &wait_for);
    w.ended = true;
    world.complete_in_progress(t);
    MPI_Request requests[] = {w.request, c};
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    w.expect_over();
}

// Another thread completes a request while the wait function blocks on it: MPI is told when that has returned.
TEST_P(grequest_waits, a_completion_from_outside_waits_for_the_wait_function) {
    work w;
    w.start(nullptr, &wait_for);
    std::atomic<bool> inside{false};
    std::atomic<bool> told{false};
    seen.before = [&] {
        inside = true;
        while (!told) {
            std::this_thread::yield();
        }
        EXPECT_EQ(thence_is_cr(w.handle), 0);
        EXPECT_EQ(w.queries, 0);
    };
    std::thread completes([&] {
        while (!inside) {
            std::this_thread::yield();
        }
        w.complete();
        told = true;
    });
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    completes.join();
    EXPECT_EQ(seen.calls, 1);
    w.expect_over();
}

TEST_P(grequest_waits, a_wait_function_of_the_form_of_the_paper_gets_all_states) {
    MPIX_Grequest_class made = 0;
    MPIX_Grequest_poll_fn *const poll = &work::poll;
    MPIX_Grequest_wait_fn *const wait = &wait_as_printed;
    work of_class[2];
    ASSERT_EQ(MPIX_Grequest_class_create(&work::query, &work::free, &work::cancel, poll, wait, &made), MPI_SUCCESS);
    for (work &each : of_class) {
        ASSERT_EQ(MPIX_Grequest_class_allocate(made, &each, &each.handle), MPI_SUCCESS);
    }
    MPI_Request requests[] = {of_class[0].handle, of_class[1].handle};
    seen.before = [&] { of_class[0].ended = of_class[1].ended = true; };
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen.most, 2);
    EXPECT_FALSE(seen.no_states);
    work alone;
    ASSERT_EQ(MPIX_Grequest_start(&work::query, &work::free, &work::cancel, nullptr, wait, &alone, &alone.handle),
              MPI_SUCCESS);
    alone.ended = true;
    MPI_Request request = alone.handle;
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    alone.expect_over();
    EXPECT_EQ(thence_grequest_class_free(&made), MPI_SUCCESS);
}

// Any null pointer may stand for no function.
TEST_P(grequest_waits, no_wait_function_is_a_null_pointer_of_any_kind) {
    work w[3];
    ASSERT_EQ(MPIX_Grequest_start(&work::query, &work::free, &work::cancel, &work::poll, nullptr, &w[0], &w[0].handle),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Grequest_start(&work::query, &work::free, &work::cancel, &work::poll, NULL, &w[1], &w[1].handle),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Grequest_start(&work::query, &work::free, &work::cancel, &work::poll,
                                  static_cast<MPIX_Grequest_wait_fn *>(nullptr), &w[2], &w[2].handle),
              MPI_SUCCESS);
    for (work &each : w) {
        each.ended = true;
        MPI_Request request = each.handle;
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        each.expect_over();
    }
    EXPECT_EQ(seen.calls, 0);
}

THENCE_RULES(grequest_waits);

} // namespace
