// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests with poll functions. Wait functions: grequest_waits.cpp.
#include "polled_work.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/source.hpp"
#include "mpix/grequest/request.hpp"
#include "mpix/grequest/source.hpp"

#include <thence/progress.h>

#include <algorithm>
#include <vector>

namespace {

using namespace thence::fake;

class grequests : public on_fake {
protected:
    static int test(MPI_Request &request) {
        int flag = -1;
        EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        return flag;
    }
};

TEST_P(grequests, wait_calls_the_poll_function_until_it_completes) {
    work w;
    w.tag = 7;
    w.inside = [&] { w.ended = w.polls == 5; };
    w.start();
    MPI_Status status{};
    status.MPI_ERROR = 99;
    EXPECT_EQ(MPI_Wait(&w.request, &status), MPI_SUCCESS);
    EXPECT_EQ(w.request, MPI_REQUEST_NULL);
    EXPECT_EQ(status.MPI_TAG, 7);
    EXPECT_EQ(status.MPI_ERROR, 99) << "calls on one request do not set it";
    EXPECT_EQ(w.polls, 5);
    w.expect_over();
}

// As in MPICH: one test is enough, with and without a hook.
TEST_P(grequests, a_test_finds_work_complete_that_has_ended_before) {
    work w;
    w.start();
    EXPECT_EQ(test(w.request), 0);
    EXPECT_GE(w.polls, 1);
    w.ended = true;
    EXPECT_EQ(test(w.request), 1);
    w.expect_over();
}

// A test with a limit polls as if inside a callback.
TEST_P(grequests, a_limited_test_of_a_continuation_request_polls_them) {
    cr c(0, 1);
    work w;
    w.inside = [&] { w.ended = w.polls > 3; };
    w.start();
    note n;
    EXPECT_EQ(attach(w.request, n, c), 0);
    for (int i = 0; i < 1000 && n.runs == 0; ++i) {
        c.test();
    }
    EXPECT_EQ(n.runs, 1);
    w.expect_over();
}

TEST_P(grequests, get_status_polls_too) {
    work w;
    w.start();
    int flag = -1;
    EXPECT_EQ(MPI_Request_get_status(w.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    w.ended = true;
    MPI_Status status{};
    EXPECT_EQ(MPI_Request_get_status(w.request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(w.frees, 0);
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over(2);
}

TEST_P(grequests, waitall_completes_many_and_messages_among_them) {
    constexpr int count = 300;
    std::vector<work> all(count);
    std::vector<MPI_Request> requests;
    for (int i = 0; i < count; ++i) {
        all[i].tag = i;
        all[i].inside = [&w = all[i], i] { w.ended = w.polls > i % 7; };
        all[i].start();
        requests.push_back(all[i].request);
    }
    requests.push_back(world.start());
    world.complete_in_progress(requests.back(), {3});
    requests.push_back(MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(requests.size());
    EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()), MPI_SUCCESS);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(statuses[i].MPI_TAG, i);
        all[i].expect_over();
    }
    EXPECT_EQ(statuses[count].MPI_SOURCE, 3);
}

TEST_P(grequests, any_and_some_and_testall_complete_them) {
    work a;
    work b;
    work c;
    for (work *each : {&a, &b, &c}) {
        each->start();
    }
    MPI_Request requests[] = {a.request, b.request, c.request};
    int index = -1;
    int flag = -1;
    EXPECT_EQ(MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    b.inside = [&] { b.ended = b.polls > 10; };
    EXPECT_EQ(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    c.inside = [&] { c.ended = c.polls > 20; };
    int found = -1;
    int indices[3];
    EXPECT_EQ(MPI_Waitsome(3, requests, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(found, 1);
    EXPECT_EQ(indices[0], 2);
    EXPECT_EQ(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    a.ended = true;
    EXPECT_EQ(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    for (work *each : {&a, &b, &c}) {
        each->expect_over();
    }
}

// A wait that does not come through libthence. Where no hook may call MPI, a function that calls none is polled.
TEST_P(grequests, waits_that_are_not_interposed_complete_them_where_a_hook_calls_them) {
    work w;
    w.inside = [&] { w.ended = w.polls == 3; };
    if (!GetParam().has_hook()) {
        return;
    }
    w.start(&work::poll, nullptr, GetParam().hook ? 0 : THENCE_POLL_CALLS_NO_MPI);
    EXPECT_EQ(thence::mpi::table.Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(w.polls, 3);
    w.expect_over();
}

// A poll function that may call MPI must not run where MPI holds a lock.
TEST_P(grequests, a_locked_hook_calls_no_function_that_may_call_mpi) {
    work w;
    w.start();
    world.progress();
    EXPECT_EQ(w.polls, GetParam().hook ? 1 : 0);
    w.ended = true;
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

TEST_P(grequests, thence_progress_polls_them) {
    work w;
    w.start();
    let_run();
    EXPECT_GE(w.polls, 1);
    w.ended = true;
    let_run();
    EXPECT_EQ(thence_request_is_complete(w.request), 1);
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(w.frees, 1);
}

TEST_P(grequests, a_request_without_poll_function_is_completed_by_another) {
    work w;
    w.start(nullptr);
    EXPECT_EQ(test(w.request), 0);
    w.complete();
    EXPECT_EQ(test(w.request), 1);
    EXPECT_EQ(w.polls, 0);
    w.expect_over();
}

TEST_P(grequests, one_that_is_completed_by_another_is_polled_no_more) {
    work w;
    w.start();
    let_run();
    const int before = w.polls;
    w.complete();
    w.completed = true;
    let_run();
    EXPECT_EQ(w.polls, before);
    EXPECT_EQ(test(w.request), 1);
    w.expect_over();
}

// MPI_Grequest_complete in the poll function takes effect when that has returned.
TEST_P(grequests, no_function_runs_beside_the_poll_function) {
    work w;
    std::atomic<bool> waiting{false};
    std::atomic<int> after_waiting{0};
    w.inside = [&] {
        if (waiting && ++after_waiting == 3) {
            w.complete();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    };
    w.start();
    std::thread waits([&] {
        waiting = true;
        EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    });
    while (after_waiting < 3 && w.frees == 0) {
        let_run();
    }
    waits.join();
    EXPECT_EQ(after_waiting, 3);
    w.expect_over();
}

TEST_P(grequests, an_error_of_the_poll_function_is_that_of_the_completing_call) {
    work w;
    w.answer = MPI_ERR_IO;
    w.start();
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    EXPECT_EQ(w.request, MPI_REQUEST_NULL);
    EXPECT_EQ(w.polls, 1);
    w.expect_over();
    EXPECT_EQ(reported(), codes{MPI_ERR_IO});
}

TEST_P(grequests, waitall_tells_which_poll_function_failed) {
    work good;
    work bad;
    good.ended = true;
    bad.answer = MPI_ERR_IO;
    good.start();
    bad.start();
    MPI_Request requests[] = {good.request, bad.request};
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_IO);
    reported();
    good.expect_over();
    bad.expect_over();
}

TEST_P(grequests, the_query_function_finds_what_the_poll_function_has_set) {
    work w;
    w.in_status = true;
    w.tag = 12;
    w.ended = true;
    w.start();
    MPI_Status status{};
    EXPECT_EQ(MPI_Wait(&w.request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_TAG, 12);
    w.expect_over();
}

long polls_of(const std::vector<work> &all) {
    long sum = 0;
    for (const work &each : all) {
        sum += each.polls;
    }
    return sum;
}

void end_all(std::vector<work> &all) {
    for (work &each : all) {
        each.ended = true;
    }
    for (work &each : all) {
        EXPECT_EQ(MPI_Wait(&each.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        each.expect_over();
    }
}

TEST_P(grequests, one_pass_polls_a_bounded_number) {
    constexpr long count = 1000;
    constexpr long window = thence::grequest::polled_list::window;
    std::vector<work> all(count);
    for (work &each : all) {
        each.start();
    }
    const long before = polls_of(all);
    thence::progress::run_sources(1);
    EXPECT_LE(polls_of(all) - before, 2 * window);
    EXPECT_GT(polls_of(all) - before, 0);
    for (long i = 0; i < count / window + 1; ++i) {
        thence::progress::run_sources(1);
    }
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const work &each) { return each.polls > 0; }))
        << "each has its turn";
    end_all(all);
}

TEST_P(grequests, the_newest_are_polled_first) {
    std::vector<work> all(1000);
    for (work &each : all) {
        each.start();
    }
    for (int i = 0; i < 40; ++i) {
        thence::progress::run_sources(1);
    }
    work newest;
    newest.ended = true;
    newest.start();
    thence::progress::run_sources(1);
    EXPECT_EQ(newest.polls, 1);
    EXPECT_EQ(MPI_Wait(&newest.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    newest.expect_over();
    end_all(all);
}

// Those that end at once must not keep the others from their turn.
TEST_P(grequests, others_have_their_turn_while_new_ones_end) {
    std::vector<work> old(200);
    for (work &each : old) {
        each.start();
    }
    for (int i = 0; i < 100; ++i) {
        work w;
        w.ended = true;
        w.start();
        thence::progress::run_sources(1);
        EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_TRUE(std::all_of(old.begin(), old.end(), [](const work &each) { return each.polls > 0; }));
    end_all(old);
}

TEST_P(grequests, of_a_class_share_its_functions_which_live_on_when_it_is_freed) {
    thence_grequest_class made = 0;
    ASSERT_EQ(thence_grequest_class_create(&work::query, &work::free, &work::cancel, &work::poll, nullptr, &made),
              MPI_SUCCESS);
    work a;
    work b;
    for (work *each : {&a, &b}) {
        each->ended = true;
        ASSERT_EQ(thence_grequest_class_allocate(made, each, &each->handle), MPI_SUCCESS);
        each->request = each->handle;
    }
    const thence_grequest_class gone = made;
    EXPECT_EQ(thence_grequest_class_free(&made), MPI_SUCCESS);
    EXPECT_EQ(made, 0);
    MPI_Request untouched = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_grequest_class_allocate(gone, &a, &untouched), MPI_ERR_ARG);
    EXPECT_EQ(thence_grequest_class_allocate(0, &a, &untouched), MPI_ERR_ARG);
    EXPECT_EQ(thence_grequest_class_allocate(-1, &a, &untouched), MPI_ERR_ARG);
    EXPECT_EQ(untouched, MPI_REQUEST_NULL);
    made = gone;
    EXPECT_EQ(thence_grequest_class_free(&made), MPI_ERR_ARG);
    EXPECT_EQ(thence_grequest_class_free(nullptr), MPI_ERR_ARG);
    EXPECT_EQ(reported().size(), 5U);
    for (work *each : {&a, &b}) {
        EXPECT_EQ(MPI_Wait(&each->request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        each->expect_over();
    }
}

TEST_P(grequests, bad_arguments_start_nothing) {
    work w;
    MPI_Request r = MPI_REQUEST_NULL;
    const auto start = [&](auto *query, auto *free, auto *cancel, unsigned flags, MPI_Request *request) {
        return thence_grequest_start_x(query, free, cancel, &work::poll, nullptr, &w, flags, request);
    };
    MPI_Grequest_query_function *no_query = nullptr;
    MPI_Grequest_free_function *no_free = nullptr;
    MPI_Grequest_cancel_function *no_cancel = nullptr;
    EXPECT_EQ(start(no_query, &work::free, &work::cancel, 0, &r), MPI_ERR_ARG);
    EXPECT_EQ(start(&work::query, no_free, &work::cancel, 0, &r), MPI_ERR_ARG);
    EXPECT_EQ(start(&work::query, &work::free, no_cancel, 0, &r), MPI_ERR_ARG);
    EXPECT_EQ(start(&work::query, &work::free, &work::cancel, 2, &r), MPI_ERR_ARG);
    EXPECT_EQ(start(&work::query, &work::free, &work::cancel, 0, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(thence_grequest_class_create(&work::query, &work::free, &work::cancel, &work::poll, nullptr, nullptr),
              MPI_ERR_ARG);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_EQ(reported().size(), 6U);
    EXPECT_EQ(thence::grequest::alive, 0);
    EXPECT_FALSE(thence::grequest::any_polled());
}

// Requests of the program's own, without poll functions, are as before.
// Those that MPI_Finalize found have failed. MPI still frees them, and the next are polled as the first were.
TEST_P(grequests, what_mpi_finalize_found_does_not_count_later) {
    work first;
    first.start();
    work second;
    second.start();
    thence::continuation::tear_down();
    EXPECT_FALSE(thence::grequest::any_polled());
    const auto are_polled = [] {
        return (thence::progress::slow_path_reasons & thence::progress::polled_grequests) != 0;
    };
    work third;
    third.start(); // it sets the library up again
    EXPECT_TRUE(are_polled());
    for (work *each : {&first, &second}) {
        each->complete();
        int flag = 0;
        EXPECT_EQ(MPI_Test(&each->request, &flag, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
        EXPECT_EQ(flag, 1);
        EXPECT_TRUE(are_polled());
    }
    EXPECT_EQ(reported(), (codes{MPI_ERR_OTHER, MPI_ERR_OTHER}));
    EXPECT_EQ(thence::grequest::alive, 1);
    EXPECT_EQ(test(third.request), 0);
    third.ended = true;
    EXPECT_EQ(test(third.request), 1);
    EXPECT_FALSE(are_polled());
    EXPECT_EQ(thence::grequest::alive, 0);
}

TEST_P(grequests, those_of_mpi_itself_are_left_alone) {
    work w;
    work plain;
    w.start();
    EXPECT_EQ(thence::mpi::table.Grequest_start(&work::query, &work::free, &work::cancel, &plain, &plain.request),
              MPI_SUCCESS);
    plain.handle = plain.request;
    EXPECT_EQ(test(plain.request), 0);
    plain.complete();
    EXPECT_EQ(MPI_Wait(&plain.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(plain.polls, 0);
    plain.expect_over();
    w.ended = true;
    EXPECT_EQ(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    w.expect_over();
}

// Threads start, poll, complete from outside and wait at the same time.
TEST_P(grequests, of_many_threads_end_once_each) {
    constexpr int rounds = 300;
    constexpr int threads = 4;
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                std::vector<work> mine(1 + (i + t) % 5);
                std::vector<MPI_Request> requests;
                for (std::size_t k = 0; k < mine.size(); ++k) {
                    work &w = mine[k];
                    if (k % 2 == 0) {
                        w.inside = [&w, k] { w.ended = w.polls > static_cast<int>(k); };
                        w.start();
                    } else {
                        w.start(k % 3 == 0 ? nullptr : &work::poll);
                        w.complete();
                    }
                    requests.push_back(w.request);
                }
                if (i % 2 == 0) {
                    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
                } else {
                    for (MPI_Request &each : requests) {
                        while (test(each) == 0) {
                            std::this_thread::yield();
                        }
                    }
                }
                for (const work &each : mine) {
                    wrong += each.frees != 1 || each.queries != 1 || each.misuses != 0 ? 1 : 0;
                }
            }
        });
    }
    for (std::thread &each : all) {
        each.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(thence::grequest::alive, 0);
    EXPECT_FALSE(thence::grequest::any_polled());
}

THENCE_RULES(grequests);

} // namespace
