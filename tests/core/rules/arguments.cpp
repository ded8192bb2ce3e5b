// SPDX-License-Identifier: BSD-3-Clause
// Bad arguments: the right error class, once through the error handler, nothing changed, no output set.
#include "library.hpp"

#include <thence/mpix_continue.h>

#include <algorithm>
#include <climits>

namespace {

using namespace thence::fake;

class arguments : public on_fake {
protected:
    void refused(int code, int expected, const char *what) {
        EXPECT_EQ(code, expected) << what;
        EXPECT_EQ(reported(), codes{expected}) << what;
    }
};

// A value that is no CR, but no bad pointer to look at either.
MPI_Request no_cr() {
    return world.start();
}
void end(MPI_Request r) {
    world.complete(r);
    thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE);
}

TEST_P(arguments, create_bad_arguments_change_nothing) {
    MPI_Request c = MPI_REQUEST_NULL;
    refused(thence_cr_create(0, -1, MPI_INFO_NULL, nullptr), MPI_ERR_ARG, "null cr");
    for (const unsigned flags : {1U << 7, 1U << 31, ~0U}) {
        refused(thence_cr_create(flags, -1, MPI_INFO_NULL, &c), MPI_ERR_ARG, "unknown flags");
    }
    for (const int max_poll : {-2, INT_MIN}) {
        refused(thence_cr_create(0, max_poll, MPI_INFO_NULL, &c), MPI_ERR_ARG, "max_poll");
    }
    refused(thence_cr_create(THENCE_CR_POLL_ONLY, 0, MPI_INFO_NULL, &c), MPI_ERR_INFO_VALUE, "nothing could ever run");
    refused(MPIX_Continue_init(nullptr, MPI_INFO_NULL), MPI_ERR_ARG, "null cr, paper");
    EXPECT_EQ(c, MPI_REQUEST_NULL);
}

TEST_P(arguments, attach_bad_arguments_change_nothing) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const MPI_Request before = r;
    int flag = 77;
    MPI_Status status{};
    status.MPI_SOURCE = 77;
    const auto attaching = [&](int count, MPI_Request *requests, thence_callback *callback, unsigned flags,
                               MPI_Request to, int *out) {
        return thence_attach(count, requests, callback, &n, flags, &status, to, out);
    };
    MPI_Request plain = no_cr();
    MPI_Request stale = MPI_REQUEST_NULL;
    {
        cr gone;
        stale = gone;
    }
    refused(attaching(-1, &r, &note::run, 0, c, &flag), MPI_ERR_ARG, "negative count");
    refused(attaching(1, nullptr, &note::run, 0, c, &flag), MPI_ERR_ARG, "null requests");
    refused(attaching(1, &r, nullptr, 0, c, &flag), MPI_ERR_ARG, "null callback");
    refused(attaching(1, &r, &note::run, 0, c, nullptr), MPI_ERR_ARG, "null flag");
    for (const unsigned flags : {1U << 3, 1U << 31, ~0U}) {
        refused(attaching(1, &r, &note::run, flags, c, &flag), MPI_ERR_ARG, "unknown flags");
    }
    refused(attaching(1, &r, &note::run, 0, plain, &flag), MPI_ERR_REQUEST, "no CR");
    refused(attaching(1, &r, &note::run, 0, MPI_REQUEST_NULL, &flag), MPI_ERR_REQUEST, "null CR");
    refused(attaching(1, &r, &note::run, 0, stale, &flag), MPI_ERR_REQUEST, "freed CR");
    MPI_Request itself = c;
    refused(attaching(1, &itself, &note::run, 0, c, &flag), MPI_ERR_REQUEST, "the CR itself");
    MPI_Request among[] = {r, c};
    refused(attaching(2, among, &note::run, 0, c, &flag), MPI_ERR_REQUEST, "the CR among others");
    EXPECT_EQ(among[0], before);
    MPI_Request freed[] = {r, stale};
    refused(attaching(2, freed, &note::run, 0, c, &flag), MPI_ERR_REQUEST, "a freed CR among others");
    EXPECT_EQ(freed[0], before);

    EXPECT_EQ(r, before);
    EXPECT_EQ(flag, 77);
    EXPECT_EQ(status.MPI_SOURCE, 77);
    EXPECT_EQ(c.registered(), 0);
    let_run();
    EXPECT_EQ(n.runs, 0);
    end(r);
    end(plain);
}

TEST_P(arguments, attach_bad_arguments_change_nothing_for_complete_requests) {
    cr c;
    note n;
    MPI_Request r = world.start();
    const MPI_Request before = r;
    world.complete(r);
    int flag = 77;
    refused(thence_attach(1, &r, nullptr, &n, 0, MPI_STATUS_IGNORE, c, &flag), MPI_ERR_ARG, "null callback");
    refused(thence_attach(1, &r, &note::run, &n, 0, MPI_STATUS_IGNORE, c, nullptr), MPI_ERR_ARG, "null flag");
    refused(thence_attach(1, &r, &note::run, &n, 1U << 9, MPI_STATUS_IGNORE, c, &flag), MPI_ERR_ARG, "unknown flags");
    EXPECT_EQ(r, before);
    EXPECT_EQ(flag, 77);
    thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE);
}

TEST_P(arguments, paper_bad_arguments_change_nothing) {
    cr c;
    MPI_Request r = world.start();
    const MPI_Request before = r;
    int flag = 77;
    const auto callback = [](MPI_Status *, void *) {};
    refused(MPIX_Continue(&r, nullptr, callback, nullptr, MPI_STATUS_IGNORE, c), MPI_ERR_ARG, "null flag");
    refused(MPIX_Continue(&r, &flag, nullptr, nullptr, MPI_STATUS_IGNORE, c), MPI_ERR_ARG, "null callback");
    refused(MPIX_Continue(nullptr, &flag, callback, nullptr, MPI_STATUS_IGNORE, c), MPI_ERR_ARG, "null request");
    refused(MPIX_Continue(&r, &flag, callback, nullptr, MPI_STATUS_IGNORE, r), MPI_ERR_REQUEST, "no CR");
    refused(MPIX_Continueall(-1, &r, &flag, callback, nullptr, MPI_STATUSES_IGNORE, c), MPI_ERR_ARG, "count");
    EXPECT_EQ(r, before);
    EXPECT_EQ(flag, 77);
    end(r);
}

TEST_P(arguments, count_zero_is_complete_at_once) {
    cr c;
    note n;
    int flag = -1;
    EXPECT_EQ(thence_attach(0, nullptr, &note::run, &n, 0, MPI_STATUSES_IGNORE, c, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    let_run();
    EXPECT_EQ(n.runs, 0);
    cr always(THENCE_CR_ENQUEUE_COMPLETE);
    EXPECT_EQ(thence_attach(0, nullptr, &note::run, &n, 0, MPI_STATUSES_IGNORE, always, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

TEST_P(arguments, calls_on_a_cr_refuse_other_handles) {
    MPI_Request plain = no_cr();
    MPI_Request before = plain;
    MPI_Request null = MPI_REQUEST_NULL;
    for (MPI_Request *bad : {&plain, &null}) {
        int flag = 77;
        int count = 0;
        thence_cr_info info{};
        info.max_poll = 77;
        refused(thence_test(bad, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "test");
        refused(thence_wait(bad, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "wait");
        refused(thence_start(bad), MPI_ERR_REQUEST, "start");
        refused(thence_free(bad), MPI_ERR_REQUEST, "free");
        refused(thence_cancel(bad), MPI_ERR_REQUEST, "cancel");
        refused(thence_get_failed(*bad, &count, nullptr), MPI_ERR_REQUEST, "get_failed");
        refused(thence_cr_query(*bad, &info, sizeof info), MPI_ERR_REQUEST, "query");
        EXPECT_EQ(flag, 77);
        EXPECT_EQ(info.max_poll, 77);
        EXPECT_EQ(thence_is_cr(*bad), 0);
    }
    EXPECT_EQ(plain, before);
    end(plain);
}

// A call checks its arguments before it runs any callback. Callbacks run later in the order of completion, on MPIs that
// report that order.
TEST_P(arguments, nothing_runs_in_a_call_that_is_refused) {
    MPI_Request plain = no_cr();
    MPI_Request null = MPI_REQUEST_NULL;
    for (const int ready : {1, 3}) {
        cr c;
        std::vector<int> order;
        std::vector<note> notes(static_cast<std::size_t>(ready));
        for (int i = 0; i < ready; ++i) {
            MPI_Request r = world.start();
            const ticket t = world.ticket_of(r);
            notes[static_cast<std::size_t>(i)].inside = [&order, i] { order.push_back(i); };
            EXPECT_EQ(attach(r, notes[static_cast<std::size_t>(i)], c), 0);
            world.complete(t);
        }
        MPI_Request stale = MPI_REQUEST_NULL;
        if (ready == 1) {
            stale = c;
            EXPECT_EQ(thence_free(&c), MPI_SUCCESS);
        }
        for (MPI_Request *bad : {&plain, &null, &stale}) {
            int flag = 77;
            refused(thence_wait(bad, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "wait");
            refused(thence_test(bad, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "test");
            EXPECT_TRUE(order.empty());
        }
        EXPECT_TRUE(eventually([&] { return order.size() == notes.size(); }));
        if (std::string(GetParam().engine) == "openmpi") {
            EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
        }
    }
    end(plain);
}

TEST_P(arguments, calls_on_a_cr_refuse_null_pointers) {
    cr c;
    int flag = 77;
    int count = 1;
    int negative = -1;
    refused(thence_test(nullptr, &flag, MPI_STATUS_IGNORE), MPI_ERR_ARG, "test, cr");
    refused(thence_test(&c, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "test, flag");
    refused(thence_wait(nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "wait");
    refused(thence_take_complete(nullptr, &flag, MPI_STATUS_IGNORE), MPI_ERR_ARG, "take_complete, request");
    refused(thence_take_complete(&c, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "take_complete, flag");
    refused(thence_start(nullptr), MPI_ERR_ARG, "start");
    refused(thence_free(nullptr), MPI_ERR_ARG, "free");
    refused(thence_cancel(nullptr), MPI_ERR_ARG, "cancel");
    refused(thence_get_failed(c, nullptr, nullptr), MPI_ERR_ARG, "get_failed, count");
    refused(thence_get_failed(c, &count, nullptr), MPI_ERR_ARG, "get_failed, data");
    refused(thence_get_failed(c, &negative, nullptr), MPI_ERR_ARG, "get_failed, negative count");
    refused(thence_cr_query(c, nullptr, sizeof(thence_cr_info)), MPI_ERR_ARG, "cr_query");
    refused(thence_query(nullptr, sizeof(thence_info)), MPI_ERR_ARG, "query");
    refused(thence_stats_query(nullptr, sizeof(thence_stats_info)), MPI_ERR_ARG, "stats_query");
    refused(thence_progress_some(nullptr), MPI_ERR_ARG, "progress");
    EXPECT_EQ(flag, 77);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(thence_is_cr(c), 1);
}

TEST_P(arguments, nothing_works_after_finalize) {
    world.finalize();
    MPI_Request c = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_cr_create(0, -1, MPI_INFO_NULL, &c), MPI_ERR_OTHER);
    EXPECT_EQ(thence_progress(), MPI_ERR_OTHER);
    long ran = 77;
    EXPECT_EQ(thence_progress_some(&ran), MPI_ERR_OTHER);
    EXPECT_EQ(ran, 77);
    EXPECT_EQ(c, MPI_REQUEST_NULL);
    EXPECT_TRUE(reported().empty()) << "no error handler exists any more";
}

TEST_P(arguments, info_values_are_checked) {
    const auto creating = [](std::map<std::string, std::string> keys, unsigned flags = 0) {
        MPI_Request c = MPI_REQUEST_NULL;
        const int code = thence_cr_create(flags, -1, world.info(std::move(keys)), &c);
        EXPECT_EQ(c == MPI_REQUEST_NULL, code != MPI_SUCCESS);
        if (code == MPI_SUCCESS) {
            thence_free(&c);
        }
        return code;
    };
    for (const char *key :
         {"mpi_continue_poll_only", "mpi_continue_enqueue_complete", "mpi_continue_async_signal_safe"}) {
        EXPECT_EQ(creating({{key, "true"}}), MPI_SUCCESS);
        EXPECT_EQ(creating({{key, "false"}}), MPI_SUCCESS);
        for (const char *value : {"", "yes", "TRUE", "1", "true ", "truefalse"}) {
            refused(creating({{key, value}}), MPI_ERR_INFO_VALUE, (std::string(key) + "=" + value).c_str());
        }
    }
    for (const char *value : {"-1", "0", "1", "1000000"}) {
        EXPECT_EQ(creating({{"mpi_continue_max_poll", value}}), MPI_SUCCESS) << value;
    }
    for (const char *value : {"", "-2", "1.5", "many", "1 ", " 1", "99999999999", "0x10"}) {
        refused(creating({{"mpi_continue_max_poll", value}}), MPI_ERR_INFO_VALUE, value);
    }
    for (const char *value : {"application", "any", "all"}) {
        EXPECT_EQ(creating({{"mpi_continue_thread", value}}), MPI_SUCCESS) << value;
    }
    for (const char *value : {"", "none", "Any", "applications"}) {
        refused(creating({{"mpi_continue_thread", value}}), MPI_ERR_INFO_VALUE, value);
    }
    refused(creating({{"mpi_continue_poll_only", "true"}, {"mpi_continue_max_poll", "0"}}), MPI_ERR_INFO_VALUE,
            "poll_only with max_poll 0");
    EXPECT_EQ(creating({{"some_other_key", "whatever"}, {"mpi_continue_unknown", "x"}}), MPI_SUCCESS);
}

TEST_P(arguments, info_wins_over_flags) {
    const auto in_force = [](std::map<std::string, std::string> keys, unsigned flags, int max_poll) {
        cr c(flags, max_poll, world.info(std::move(keys)));
        thence_cr_info info{};
        EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
        return info;
    };
    EXPECT_EQ(in_force({}, THENCE_CR_POLL_ONLY, 5).flags, THENCE_CR_POLL_ONLY);
    EXPECT_EQ(in_force({}, THENCE_CR_POLL_ONLY, 5).max_poll, 5);
    EXPECT_EQ(in_force({{"mpi_continue_poll_only", "false"}}, THENCE_CR_POLL_ONLY, -1).flags, 0U);
    EXPECT_EQ(in_force({{"mpi_continue_poll_only", "true"}}, 0, -1).flags, THENCE_CR_POLL_ONLY);
    EXPECT_EQ(in_force({{"mpi_continue_enqueue_complete", "true"}}, 0, -1).flags, THENCE_CR_ENQUEUE_COMPLETE);
    EXPECT_EQ(in_force({{"mpi_continue_async_signal_safe", "true"}}, 0, -1).flags, THENCE_CR_SIGNAL_SAFE);
    EXPECT_EQ(in_force({{"mpi_continue_thread", "any"}}, 0, -1).flags, THENCE_CR_ANY_THREAD);
    EXPECT_EQ(in_force({{"mpi_continue_thread", "application"}}, THENCE_CR_ANY_THREAD, -1).flags, 0U);
    EXPECT_EQ(in_force({{"mpi_continue_max_poll", "7"}}, 0, 3).max_poll, 7);
}

TEST_P(arguments, a_bad_value_uses_up_no_cr) {
    // If a refused creation kept its slot, the 65,536 would run out.
    for (int i = 0; i < 70000; ++i) {
        MPI_Request c = MPI_REQUEST_NULL;
        ASSERT_EQ(thence_cr_create(THENCE_CR_POLL_ONLY, 0, MPI_INFO_NULL, &c), MPI_ERR_INFO_VALUE);
    }
    reported();
    cr c;
    EXPECT_EQ(thence_is_cr(c), 1);
}

THENCE_RULES(arguments);

} // namespace
