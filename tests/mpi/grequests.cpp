// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests with poll and wait functions, and explicit progress, under MPICH's names. The work is a timer,
// or depends on a message. What a test compares with MPICH 5 was seen there in its own functions of these names.
#include "support.hpp"

#include <thence/mpix.h>

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

// Ends after some milliseconds, or when `ready` says so.
struct timer {
    clock_type::time_point end;
    bool (*ready)(timer &) = nullptr;
    MPI_Request request = MPI_REQUEST_NULL;
    int polls = 0;
    int waits = 0;
    bool waited_for = false; // the wait function was called
    int fails = MPI_SUCCESS;
    bool completed = false;
    bool freed = false;
    MPI_Request message = MPI_REQUEST_NULL;

    static int query(void *state, MPI_Status *status) {
        const timer &t = *static_cast<timer *>(state);
        status->MPI_SOURCE = MPI_UNDEFINED;
        status->MPI_TAG = t.polls;
        MPI_Status_set_elements(status, MPI_INT, 17);
        MPI_Status_set_cancelled(status, 0);
        return MPI_SUCCESS;
    }
    static int free(void *state) {
        std::atomic_ref(static_cast<timer *>(state)->freed).store(true);
        return MPI_SUCCESS;
    }
    // MPICH 5 calls the free function when nobody uses the request any more: if another thread has completed it, that
    // thread may call it, a moment after the call that waited has returned.
    bool comes_free() {
        const auto late = clock_type::now() + std::chrono::seconds(5);
        while (!std::atomic_ref(freed).load() && clock_type::now() < late) {
            std::this_thread::yield();
        }
        return std::atomic_ref(freed).load();
    }
    static int cancel(void *, int) { return MPI_SUCCESS; }
    bool over() { return ready != nullptr ? ready(*this) : clock_type::now() >= end; }
    static int poll(void *state, MPI_Status *) {
        timer &t = *static_cast<timer *>(state);
        ++t.polls;
        EXPECT_FALSE(t.completed) << "polled after completion";
        if (t.fails == MPI_SUCCESS && t.over()) {
            t.completed = true;
            MPI_Grequest_complete(t.request);
        }
        return t.fails;
    }
    static int wait(int count, void **states, double timeout, MPI_Status *) {
        const auto until = clock_type::now() + std::chrono::duration<double>(timeout);
        for (int i = 0; i < count; ++i) {
            static_cast<timer *>(states[i])->waited_for = true;
        }
        for (int left = count; left != 0 && clock_type::now() < until;) {
            left = 0;
            for (int i = 0; i < count; ++i) {
                timer &t = *static_cast<timer *>(states[i]);
                if (!t.completed && t.over()) {
                    t.completed = true;
                    MPI_Grequest_complete(t.request);
                }
                left += t.completed ? 0 : 1;
            }
        }
        for (int i = 0; i < count; ++i) {
            ++static_cast<timer *>(states[i])->waits;
        }
        return MPI_SUCCESS;
    }

    void start(int ms, MPIX_Grequest_poll_function *polled = &poll, MPIX_Grequest_wait_function *waited = nullptr) {
        end = clock_type::now() + std::chrono::milliseconds(ms);
        ASSERT_EQ(MPIX_Grequest_start(&query, &free, &cancel, polled, waited, this, &request), MPI_SUCCESS);
    }
};

// MPICH 5: a null wait_fn is refused ("Null pointer in parameter wait_fn"), and so is a null poll_fn.
TEST(grequests, null_wait_and_poll_functions_are_accepted) {
    timer polled;
    polled.start(5);
    MPI_Status status;
    EXPECT_EQ(MPI_Wait(&polled.request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_TAG, polled.polls);
    int count = 0;
    MPI_Get_elements(&status, MPI_INT, &count);
    EXPECT_EQ(count, 17);
    EXPECT_TRUE(polled.comes_free());
    timer waited;
    waited.start(5, nullptr, &timer::wait);
    EXPECT_EQ(MPI_Wait(&waited.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_GT(waited.waits, 0);
    timer neither;
    neither.start(0, nullptr, nullptr);
    MPI_Grequest_complete(neither.request);
    EXPECT_EQ(MPI_Wait(&neither.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(waited.comes_free() && neither.comes_free());
}

// MPICH 5: MPI_Waitall never calls poll_fn, and hangs.
TEST(grequests, waitall_completes_all_of_them_with_messages_between) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::list<timer> timers(200);
    std::vector<MPI_Request> requests;
    int i = 0;
    for (timer &each : timers) {
        each.start(1 + i++ % 10);
    }
    for (timer &each : timers) {
        requests.push_back(each.request);
    }
    int in = -1;
    const int out = rank;
    requests.emplace_back();
    MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests.back());
    requests.emplace_back();
    MPI_Isend(&out, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests.back());
    std::vector<MPI_Status> statuses(requests.size());
    EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(in, (rank + 1) % size);
    for (timer &each : timers) {
        EXPECT_TRUE(each.completed && each.comes_free());
    }
}

TEST(grequests, any_and_some_and_tests_complete_them) {
    timer a;
    timer b;
    a.start(3);
    b.start(6);
    MPI_Request requests[] = {a.request, b.request};
    int index = -1;
    EXPECT_EQ(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(index == 0 || index == 1);
    int found = 0;
    int indices[2];
    EXPECT_EQ(MPI_Waitsome(2, requests, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(found, 1);
    timer c;
    c.start(3);
    int flag = 0;
    while (flag == 0) {
        ASSERT_EQ(MPI_Test(&c.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    timer d;
    d.start(0);
    sleep_ms(2);
    EXPECT_EQ(MPI_Test(&d.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1) << "one test is enough when the work has ended";
}

bool received(timer &t) {
    int flag = 0;
    MPI_Test(&t.message, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
}

// MPICH 5: MPI_Wait on such a request lets MPI make no progress: what depends on a message hangs, unless the function
// itself makes progress. Here the function only looks.
bool looks(timer &t) {
    return MPIX_Request_is_complete(t.message) != 0;
}
TEST(grequests, wait_makes_progress_for_messages) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> in(1 << 16);
    const std::vector<int> out(1 << 16, rank);
    MPI_Request send = MPI_REQUEST_NULL;
    timer t;
    MPI_Irecv(in.data(), 1 << 16, MPI_INT, (rank + 1) % size, 4, MPI_COMM_WORLD, &t.message);
    MPI_Isend(out.data(), 1 << 16, MPI_INT, (rank + size - 1) % size, 4, MPI_COMM_WORLD, &send);
    t.ready = &looks;
    t.start(0);
    EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&t.message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(in[99], (rank + 1) % size);
}

TEST(grequests, a_poll_function_may_test_a_message) {
    timer t;
    int in = 0;
    const int out = 5;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &t.message);
    t.ready = &received;
    t.start(0);
    int flag = -1;
    EXPECT_EQ(MPI_Test(&t.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(in, 5);
}

// MPICH 5 calls it for one request at a time.
TEST(grequests, waitall_waits_for_a_class_together) {
    MPIX_Grequest_class timer_class = 0;
    ASSERT_EQ(MPIX_Grequest_class_create(&timer::query, &timer::free, &timer::cancel, &timer::poll, &timer::wait,
                                         &timer_class),
              MPI_SUCCESS);
    std::list<timer> timers(20);
    std::vector<MPI_Request> requests;
    for (timer &each : timers) {
        each.ready = [](timer &t) { return t.waited_for; }; // no poll completes it before
        ASSERT_EQ(MPIX_Grequest_class_allocate(timer_class, &each, &each.request), MPI_SUCCESS);
        requests.push_back(each.request);
    }
    EXPECT_EQ(MPI_Waitall(20, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    int waited = 0;
    for (timer &each : timers) {
        EXPECT_TRUE(each.comes_free());
        waited += each.waits > 0 ? 1 : 0;
    }
    EXPECT_EQ(waited, 20);
    EXPECT_EQ(thence_grequest_class_free(&timer_class), MPI_SUCCESS);
}

TEST(grequests, a_failing_poll_function_ends_its_request) {
    timer t;
    t.fails = MPI_ERR_IO;
    t.start(0);
    EXPECT_EQ(class_of(MPI_Wait(&t.request, MPI_STATUS_IGNORE)), MPI_ERR_IO);
    EXPECT_EQ(t.request, MPI_REQUEST_NULL);
    timer u;
    u.fails = MPI_ERR_IO;
    u.start(0);
    MPI_Request requests[] = {u.request, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    EXPECT_EQ(class_of(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
    EXPECT_EQ(class_of(statuses[0].MPI_ERROR), MPI_ERR_IO);
    EXPECT_TRUE(t.comes_free() && u.comes_free());
}

// MPICH gives such a status MPI_ERR_OTHER: MPI_Waitall and MPI_Testall, on 4.0 also MPI_Waitsome and MPI_Testsome.
TEST(grequests, the_status_of_one_that_has_failed_before_the_call_has_its_error) {
    timer t;
    std::array<MPI_Request, 2> requests{};
    std::array<MPI_Status, 2> statuses{};
    std::array<int, 2> indices{};
    const auto start_failed = [&] {
        t = {};
        t.fails = MPI_ERR_IO;
        t.start(0);
        requests = {MPI_REQUEST_NULL, t.request};
        while (MPIX_Request_is_complete(t.request) == 0) {
            MPIX_Stream_progress(MPIX_STREAM_NULL);
        }
    };
    const auto expect_error = [&](int code, const MPI_Status &status) {
        EXPECT_EQ(class_of(code), MPI_ERR_IN_STATUS);
        EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_IO);
        EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
        EXPECT_TRUE(t.comes_free());
    };
    int done = -1;
    start_failed();
    expect_error(MPI_Waitall(2, requests.data(), statuses.data()), statuses[1]);
    start_failed();
    expect_error(MPI_Testall(2, requests.data(), &done, statuses.data()), statuses[1]);
    start_failed();
    expect_error(MPI_Waitsome(2, requests.data(), &done, indices.data(), statuses.data()), statuses[0]);
    EXPECT_EQ(done, 1);
    start_failed();
    expect_error(MPI_Testsome(2, requests.data(), &done, indices.data(), statuses.data()), statuses[0]);
    EXPECT_EQ(indices[0], 1);
    start_failed();
    EXPECT_EQ(class_of(MPI_Waitany(2, requests.data(), &done, MPI_STATUS_IGNORE)), MPI_ERR_IO);
    EXPECT_EQ(done, 1);
}

TEST(grequests, continuations_run_after_them) {
    MPI_Request cr = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
    static std::atomic<bool> is_attached;
    is_attached = false;
    timer t;
    t.ready = [](timer &) { return is_attached.load(); };
    t.start(0);
    MPI_Request request = t.request;
    outcome o;
    o.attach(request, cr);
    EXPECT_EQ(o.at_once, 0);
    is_attached = true;
    EXPECT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(o.ended(), 1);
    EXPECT_EQ(o.count(), 17);
    EXPECT_TRUE(t.comes_free());
    EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
}

struct async_state {
    int calls = 0;
    int until = 10;
    async_state *start = nullptr;
    async_state *spawn = nullptr;
    MPI_Request completes = MPI_REQUEST_NULL;
    MPI_Request tests = MPI_REQUEST_NULL;
    bool over = false;
    static int poll(MPIX_Async_thing thing) {
        auto &s = *static_cast<async_state *>(MPIX_Async_get_state(thing));
        EXPECT_FALSE(s.over);
        if (s.start != nullptr) {
            EXPECT_EQ(MPIX_Async_start(&poll, std::exchange(s.start, nullptr), MPIX_STREAM_NULL), MPI_SUCCESS);
        }
        if (s.spawn != nullptr) {
            EXPECT_EQ(MPIX_Async_spawn(thing, &poll, std::exchange(s.spawn, nullptr), MPIX_STREAM_NULL), MPI_SUCCESS);
        }
        if (s.tests != MPI_REQUEST_NULL) {
            int flag = 0;
            MPI_Test(&s.tests, &flag, MPI_STATUS_IGNORE);
        }
        if (++s.calls < s.until) {
            return MPIX_ASYNC_NOPROGRESS;
        }
        s.over = true;
        if (s.completes != MPI_REQUEST_NULL) {
            MPI_Grequest_complete(s.completes);
        }
        return MPIX_ASYNC_DONE;
    }
};

// MPICH 5 deadlocks at MPIX_Async_start in such a function, and aborts or overflows its stack at MPI_Test.
TEST(async_functions, may_start_others_and_call_mpi) {
    async_state first;
    async_state second;
    async_state third;
    int in = 0;
    const int out = 1;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &first.tests);
    first.start = &second;
    first.spawn = &third;
    ASSERT_EQ(MPIX_Async_start(&async_state::poll, &first, MPIX_STREAM_NULL), MPI_SUCCESS);
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    while (!first.over || !second.over || !third.over || first.tests != MPI_REQUEST_NULL) {
        ASSERT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
        if (first.over && first.tests != MPI_REQUEST_NULL) {
            MPI_Wait(&first.tests, MPI_STATUS_IGNORE);
        }
    }
    EXPECT_EQ(in, 1);
}

TEST(async_functions, run_while_a_call_waits) {
    timer t;
    t.start(0, nullptr);
    async_state s;
    s.completes = t.request;
    ASSERT_EQ(MPIX_Async_start(&async_state::poll, &s, MPIX_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(s.over);
}

// MPICH 5: error "Null Stream pointer".
TEST(progress_threads, run_for_the_null_stream) {
    if (asked_level != MPI_THREAD_MULTIPLE) {
        EXPECT_EQ(class_of(MPIX_Start_progress_thread(MPIX_STREAM_NULL)), MPI_ERR_UNSUPPORTED_OPERATION);
        return;
    }
    ASSERT_EQ(MPIX_Start_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);
    timer t;
    t.start(2);
    for (int i = 0; i < 2000 && MPIX_Request_is_complete(t.request) == 0; ++i) {
        sleep_ms(5); // nobody else calls MPI where this only looks
    }
    EXPECT_EQ(MPIX_Request_is_complete(t.request), 1);
    EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);
}

TEST(request_is_complete, tells_pending_from_complete) {
    EXPECT_EQ(MPIX_Request_is_complete(MPI_REQUEST_NULL), 1);
    int in = 0;
    const int out = 3;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    EXPECT_EQ(MPIX_Request_is_complete(r), 0);
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    for (int i = 0; i < 100000 && MPIX_Request_is_complete(r) == 0; ++i) {
        MPIX_Stream_progress(MPIX_STREAM_NULL);
    }
    EXPECT_EQ(MPIX_Request_is_complete(r), 1);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Request persistent = MPI_REQUEST_NULL;
    MPI_Recv_init(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &persistent);
    EXPECT_EQ(MPIX_Request_is_complete(persistent), 1);
    MPI_Request_free(&persistent);
}

} // namespace
