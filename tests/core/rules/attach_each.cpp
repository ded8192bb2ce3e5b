// SPDX-License-Identifier: BSD-3-Clause
// thence_attach_each(): each of the operations gets a continuation of its own, whose callback gets its index.
#include "library.hpp"

#include "core/continuation/continuation.hpp"
#include "core/continuation/run.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace {

using namespace thence::fake;

// Operations that are attached by one call, and what their callbacks saw.
struct many {
    explicit many(int count)
        : requests(static_cast<std::size_t>(count)), statuses(requests.size()), runs(requests.size()),
          errors(requests.size(), -1), indices(requests.size(), -1) {
        for (MPI_Request &request : requests) {
            request = world.start();
            tickets.push_back(world.ticket_of(request));
        }
    }
    int size() const { return static_cast<int>(requests.size()); }
    void complete(int i, int error = MPI_SUCCESS) {
        world.complete(tickets[static_cast<std::size_t>(i)], {.tag = i, .error = error});
    }

    static int callback(int index, int error, MPI_Status *status, void *data) {
        many &self = *static_cast<many *>(data);
        const auto i = static_cast<std::size_t>(index);
        self.errors[i] = error;
        if (status != &self.statuses[i]) {
            self.own_status = false;
        }
        if (self.inside) {
            self.inside(index);
        }
        self.runs[i].fetch_add(1); // last: when all have run, `self` may end
        return MPI_SUCCESS;
    }
    int attach(MPI_Request cr, unsigned flags = 0) {
        return thence_attach_each(size(), requests.data(), &callback, this, flags, statuses.data(), cr, &outcount,
                                  indices.data());
    }
    // Those that were complete at once.
    std::set<int> at_once() const { return {indices.begin(), indices.begin() + outcount}; }
    int all_runs() const {
        return std::accumulate(runs.begin(), runs.end(), 0, [](int sum, const auto &n) { return sum + n.load(); });
    }
    // True if each ended once: in a callback, or at once.
    bool each_ended_once() const {
        const std::set<int> ended = at_once();
        for (int i = 0; i < size(); ++i) {
            if (runs[static_cast<std::size_t>(i)].load() + (ended.count(i) != 0 ? 1 : 0) != 1) {
                return false;
            }
        }
        return true;
    }

    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses;
    std::vector<std::atomic<int>> runs;
    std::vector<int> errors;
    std::vector<int> indices;
    std::vector<ticket> tickets;
    int outcount = -1;
    std::atomic<bool> own_status{true};
    std::function<void(int)> inside;
};

class attach_each : public on_fake {};

TEST_P(attach_each, every_callback_gets_its_own_index_and_status) {
    cr c;
    many m(200);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    EXPECT_EQ(m.outcount, 0);
    EXPECT_EQ(c.registered(), 200);
    EXPECT_TRUE(std::all_of(m.requests.begin(), m.requests.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; }));
    for (int i = 0; i < m.size(); ++i) {
        m.complete((i * 77) % m.size()); // in another order
    }
    EXPECT_EQ(m.all_runs(), 0) << "nothing has made progress";
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
    EXPECT_TRUE(m.own_status);
    for (int i = 0; i < m.size(); ++i) {
        EXPECT_EQ(m.statuses[static_cast<std::size_t>(i)].MPI_TAG, i);
        EXPECT_EQ(m.errors[static_cast<std::size_t>(i)], MPI_SUCCESS);
    }
}

TEST_P(attach_each, each_runs_when_its_own_operation_is_complete) {
    cr c;
    many m(3);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    m.complete(1);
    EXPECT_TRUE(eventually([&] { return m.runs[1] == 1; }));
    EXPECT_EQ(m.all_runs(), 1);
    EXPECT_EQ(c.registered(), 2);
    m.complete(0);
    m.complete(2);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, what_is_complete_at_once_is_reported_and_does_not_run) {
    cr c;
    many m(10);
    for (const int i : {0, 3, 9}) {
        m.complete(i);
    }
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    EXPECT_EQ(m.at_once(), (std::set<int>{0, 3, 9}));
    EXPECT_TRUE(std::is_sorted(m.indices.begin(), m.indices.begin() + m.outcount));
    EXPECT_EQ(m.statuses[3].MPI_TAG, 3) << "its status is set";
    EXPECT_EQ(m.all_runs(), 0);
    for (int i = 0; i < m.size(); ++i) {
        m.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, enqueue_complete_runs_every_callback_and_needs_no_arrays) {
    cr c(THENCE_CR_ENQUEUE_COMPLETE);
    many m(6);
    m.complete(2);
    m.complete(4);
    EXPECT_EQ(
        thence_attach_each(m.size(), m.requests.data(), &many::callback, &m, 0, m.statuses.data(), c, nullptr, nullptr),
        MPI_SUCCESS);
    EXPECT_EQ(m.all_runs(), 0) << "never inside the call";
    for (int i = 0; i < m.size(); ++i) {
        m.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    m.outcount = 0;
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, with_may_run_what_is_complete_runs_inside) {
    cr c;
    many m(4);
    m.complete(1);
    m.complete(3);
    EXPECT_EQ(m.attach(c, THENCE_MAY_RUN), MPI_SUCCESS);
    EXPECT_EQ(m.outcount, 0);
    EXPECT_TRUE(eventually([&] { return m.all_runs() == 2; }));
    EXPECT_EQ(m.runs[1] + m.runs[3], 2);
    m.complete(0);
    m.complete(2);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, no_callback_runs_inside_the_call) {
    cr c;
    many first(3);
    EXPECT_EQ(first.attach(c), MPI_SUCCESS);
    for (int i = 0; i < first.size(); ++i) {
        first.complete(i); // ready to run as soon as progress is made
    }
    many second(5);
    second.complete(2);
    EXPECT_EQ(second.attach(c), MPI_SUCCESS);
    EXPECT_EQ(first.all_runs() + second.all_runs(), 0);
    for (int i = 0; i < second.size(); ++i) {
        second.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(first.each_ended_once());
    EXPECT_TRUE(second.each_ended_once());
}

TEST_P(attach_each, an_operation_that_failed_at_once_is_reported_in_its_status) {
    cr c;
    many m(4);
    m.complete(1);
    m.complete(2, MPI_ERR_TRUNCATE);
    EXPECT_EQ(m.attach(c), MPI_ERR_IN_STATUS);
    EXPECT_EQ(m.at_once(), (std::set<int>{1, 2}));
    EXPECT_EQ(m.statuses[1].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(m.statuses[2].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(c.registered(), 2) << "the others are attached";
    m.complete(0);
    m.complete(3, MPI_ERR_OTHER);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
    EXPECT_EQ(m.errors[0], MPI_SUCCESS);
    EXPECT_EQ(m.errors[3], MPI_ERR_OTHER);
    reported();
}

TEST_P(attach_each, null_requests_and_continuation_requests_stand_beside_others) {
    cr c;
    cr inner;
    note n;
    many m(2);
    attach(m.requests[1], n, inner);
    m.requests[1] = inner;
    m.requests.push_back(MPI_REQUEST_NULL);
    m.statuses.resize(3);
    m.runs = std::vector<std::atomic<int>>(3);
    m.errors.assign(3, -1);
    m.indices.assign(3, -1);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    EXPECT_EQ(m.at_once(), std::set<int>{2}) << "a null request is complete";
    EXPECT_EQ(m.requests[1], inner.handle);
    m.complete(1);
    EXPECT_TRUE(eventually([&] { return m.runs[1] == 1; }));
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(m.runs[0], 0);
    m.complete(0);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, persistent_requests_stay_and_get_continuations_again) {
    cr c;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < 5; ++i) {
        requests.push_back(world.persistent());
    }
    const std::vector<MPI_Request> before = requests;
    for (int round = 0; round < 3; ++round) {
        many m(0);
        m.requests = requests;
        m.statuses.resize(requests.size());
        m.runs = std::vector<std::atomic<int>>(requests.size());
        m.errors.assign(requests.size(), -1);
        m.indices.assign(requests.size(), -1);
        for (MPI_Request &request : requests) {
            EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
        }
        EXPECT_EQ(m.attach(c, THENCE_PERSISTENT), MPI_SUCCESS);
        EXPECT_EQ(m.requests, before);
        for (MPI_Request request : requests) {
            world.complete(request);
        }
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(m.each_ended_once());
    }
    for (MPI_Request &request : requests) {
        EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    }
}

TEST_P(attach_each, a_bad_argument_in_the_middle_changes_nothing) {
    cr c;
    MPI_Request freed = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &freed);
    const MPI_Request stale = freed;
    thence_free(&freed);
    many m(8);
    m.complete(1);
    const MPI_Request kept = m.requests[5];
    const auto refuse = [&](int expected, const char *what) {
        const std::vector<MPI_Request> before = m.requests;
        m.outcount = 77;
        EXPECT_EQ(m.attach(c), expected) << what;
        EXPECT_EQ(reported(), codes{expected}) << what;
        EXPECT_EQ(m.requests, before) << what;
        EXPECT_EQ(m.outcount, 77) << what;
        EXPECT_EQ(m.indices[0], -1) << what;
        EXPECT_EQ(c.registered(), 0) << what;
    };
    m.requests[5] = stale;
    refuse(MPI_ERR_REQUEST, "a freed CR");
    m.requests[5] = c;
    refuse(MPI_ERR_REQUEST, "the CR itself");
    m.requests[5] = kept;
    EXPECT_EQ(thence_attach_each(-1, m.requests.data(), &many::callback, &m, 0, nullptr, c, &m.outcount, nullptr),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_each(8, nullptr, &many::callback, &m, 0, nullptr, c, &m.outcount, m.indices.data()),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_each(8, m.requests.data(), nullptr, &m, 0, nullptr, c, &m.outcount, m.indices.data()),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_each(8, m.requests.data(), &many::callback, &m, 1U << 20, nullptr, c, &m.outcount,
                                 m.indices.data()),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_each(8, m.requests.data(), &many::callback, &m, 0, nullptr, c, nullptr, m.indices.data()),
              MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_each(8, m.requests.data(), &many::callback, &m, 0, nullptr, c, &m.outcount, nullptr),
              MPI_ERR_ARG);
    EXPECT_EQ(
        thence_attach_each(8, m.requests.data(), &many::callback, &m, 0, nullptr, stale, &m.outcount, m.indices.data()),
        MPI_ERR_REQUEST);
    EXPECT_EQ(reported().size(), 7U);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS) << "all of them are still the caller's";
    for (int i = 0; i < m.size(); ++i) {
        m.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
}

TEST_P(attach_each, nothing_of_nothing) {
    cr c;
    int outcount = 77;
    EXPECT_EQ(thence_attach_each(0, nullptr, &many::callback, nullptr, 0, nullptr, c, &outcount, nullptr), MPI_SUCCESS);
    EXPECT_EQ(outcount, 0);
    EXPECT_TRUE(c.test());
}

TEST_P(attach_each, statuses_may_be_ignored) {
    cr c;
    many m(3);
    struct seen {
        std::atomic<int> ignored{0};
    } s;
    const auto callback = [](int, int, MPI_Status *status, void *data) {
        static_cast<seen *>(data)->ignored += status == MPI_STATUS_IGNORE ? 1 : 0;
        return int{MPI_SUCCESS};
    };
    EXPECT_EQ(thence_attach_each(3, m.requests.data(), callback, &s, 0, MPI_STATUSES_IGNORE, c, &m.outcount,
                                 m.indices.data()),
              MPI_SUCCESS);
    for (int i = 0; i < 3; ++i) {
        m.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(s.ignored, 3);
}

TEST_P(attach_each, all_can_be_cancelled) {
    cr c;
    many m(20);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(m.each_ended_once());
    EXPECT_TRUE(std::all_of(m.statuses.begin(), m.statuses.end(), &thence::fake::mpi::is_cancelled));
}

TEST_P(attach_each, a_callback_may_attach_the_next_round) {
    cr c;
    many first(100);
    many second(100);
    first.inside = [&](int index) {
        if (index == 0) {
            EXPECT_EQ(second.attach(c), MPI_SUCCESS);
        }
    };
    EXPECT_EQ(first.attach(c), MPI_SUCCESS);
    for (int i = 0; i < 100; ++i) {
        first.complete(i);
        second.complete(i);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(first.each_ended_once());
    EXPECT_TRUE(second.each_ended_once());
}

TEST_P(attach_each, reports_name_the_line_that_attached_them) {
    cr c;
    many m(2);
    EXPECT_EQ(m.attach(c), MPI_SUCCESS);
    std::set<const void *> from;
    std::set<int> indices;
    thence::continuation::for_each_attached([&](thence::continuation::continuation &attached, auto) {
        from.insert(thence::continuation::code_of(attached.attached_by));
        indices.insert(thence::continuation::index_of(attached.attached_by));
    });
    EXPECT_EQ(from.size(), 1U) << "one call";
    EXPECT_NE(*from.begin(), nullptr);
    EXPECT_EQ(indices, (std::set<int>{0, 1}));
    m.complete(0);
    m.complete(1);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// Every thread attaches and completes; whichever thread runs a callback, each ends once.
TEST_P(attach_each, of_many_threads_ends_each_once) {
    cr c;
    std::vector<std::thread> threads;
    std::atomic<bool> good{true};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                many m(50);
                for (int i = 0; i < m.size(); i += 3) {
                    m.complete(i);
                }
                if (m.attach(c) != MPI_SUCCESS) {
                    good = false;
                }
                for (int i = 0; i < m.size(); ++i) {
                    m.complete(i);
                }
                if (!eventually([&] { return m.all_runs() + m.outcount == m.size(); }) || !m.each_ended_once()) {
                    good = false;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_TRUE(good);
    EXPECT_TRUE(c.test());
}

THENCE_RULES(attach_each);

} // namespace
