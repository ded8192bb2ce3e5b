// SPDX-License-Identifier: BSD-3-Clause
// The any, some and all forms of MPI_Test and MPI_Wait on continuation requests, alone and mixed with other requests.
#include "library.hpp"

namespace {

using namespace thence::fake;

class interposed_arrays : public on_fake {};

TEST_P(interposed_arrays, waitall_of_crs_and_others) {
    cr c;
    cr d(THENCE_CR_POLL_ONLY);
    note n;
    note m;
    const ticket a = attach_pending(n, c);
    const ticket b = attach_pending(m, d);
    MPI_Request all[] = {c, completed(3), MPI_REQUEST_NULL, d};
    world.complete(a);
    world.complete(b);
    MPI_Status statuses[4];
    EXPECT_EQ(MPI_Waitall(4, all, statuses), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(m.runs, 1);
    EXPECT_EQ(all[0], c.handle);
    EXPECT_EQ(all[1], MPI_REQUEST_NULL);
    EXPECT_EQ(all[3], d.handle);
    EXPECT_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(statuses[1].MPI_SOURCE, 3);
}

TEST_P(interposed_arrays, testall_completes_nothing_until_all_are_complete) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Request ordinary = completed(3);
    const MPI_Request before = ordinary;
    MPI_Request all[] = {ordinary, c};
    MPI_Status statuses[2];
    int flag = -1;
    EXPECT_EQ(MPI_Testall(2, all, &flag, statuses), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(all[0], before);
    world.complete(t);
    for (int i = 0; i < 100 && flag == 0; ++i) {
        EXPECT_EQ(MPI_Testall(2, all, &flag, statuses), MPI_SUCCESS);
    }
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(all[0], MPI_REQUEST_NULL);
    EXPECT_EQ(statuses[0].MPI_SOURCE, 3);
}

TEST_P(interposed_arrays, max_poll_bounds_every_form_of_test) {
    int flag = 0;
    int index = 0;
    MPI_Request c = MPI_REQUEST_NULL;
    const std::vector<std::function<void()>> calls{
        [&] { MPI_Test(&c, &flag, MPI_STATUS_IGNORE); },
        [&] { MPI_Testany(1, &c, &index, &flag, MPI_STATUS_IGNORE); },
        [&] {
            int count = 0;
            MPI_Testsome(1, &c, &count, &index, MPI_STATUSES_IGNORE);
            flag = count == 1 ? 1 : 0;
        },
        [&] { MPI_Testall(1, &c, &flag, MPI_STATUSES_IGNORE); },
    };
    for (const unsigned flags : {0U, unsigned{THENCE_CR_POLL_ONLY}}) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            cr owner(flags, 3);
            c = owner;
            note n;
            std::vector<ticket> tickets;
            for (int k = 0; k < 10; ++k) {
                tickets.push_back(attach_pending(n, c));
            }
            for (const ticket t : tickets) {
                world.complete(t);
            }
            int before = 0;
            flag = 0;
            for (int turn = 0; turn < 30 && flag == 0; ++turn) {
                calls[i]();
                EXPECT_LE(n.runs - before, 3) << "form " << i << ", call " << turn;
                before = n.runs;
            }
            EXPECT_EQ(n.runs, 10) << "form " << i;
            EXPECT_EQ(flag, 1) << "form " << i;
        }
    }
}

class where_no_hook_runs_continuations : public on_fake {};

// Continuations run also in a program whose calls never block.
TEST_P(where_no_hook_runs_continuations, a_call_that_finds_its_requests_complete_runs_what_is_ready) {
    cr c;
    int index = 0;
    int indices[1];
    MPI_Request own = MPI_REQUEST_NULL;
    const std::vector<std::function<int()>> calls{
        [&] { return MPI_Wait(&own, MPI_STATUS_IGNORE); },
        [&] { return MPI_Waitany(1, &own, &index, MPI_STATUS_IGNORE); },
        [&] { return MPI_Waitsome(1, &own, &index, indices, MPI_STATUSES_IGNORE); },
        [&] { return MPI_Waitall(1, &own, MPI_STATUSES_IGNORE); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
        note n;
        const ticket t = attach_pending(n, c);
        own = completed();
        world.complete(t);
        EXPECT_EQ(calls[i](), MPI_SUCCESS);
        EXPECT_EQ(n.runs, 1) << "call " << i;
        let_run();
    }
}

TEST_P(interposed_arrays, waitany_over_poll_only_crs) {
    cr a(THENCE_CR_POLL_ONLY);
    cr b(THENCE_CR_POLL_ONLY);
    note n;
    note m;
    const ticket first = attach_pending(n, a);
    const ticket second = attach_pending(m, b);
    MPI_Request both[] = {a, b};
    int index = -1;
    world.complete(second);
    EXPECT_EQ(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(m.runs, 1);
    EXPECT_EQ(n.runs, 0);
    world.complete(first);
    EXPECT_EQ(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(interposed_arrays, waitany_and_testany_of_a_cr_and_an_ordinary_request) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Request mixed[] = {c, completed(5)};
    int index = -1;
    MPI_Status status{};
    EXPECT_EQ(MPI_Waitany(2, mixed, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(status.MPI_SOURCE, 5);
    int flag = -1;
    EXPECT_EQ(MPI_Testany(2, mixed, &index, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    world.complete(t);
    EXPECT_EQ(MPI_Waitany(2, mixed, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 0);
    MPI_Request none[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_EQ(MPI_Testany(2, none, &index, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(index, MPI_UNDEFINED);
}

TEST_P(interposed_arrays, waitsome_and_testsome_of_a_cr_and_ordinary_requests) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Request mixed[] = {c, completed(5), MPI_REQUEST_NULL, world.start()};
    const ticket last = world.ticket_of(mixed[3]);
    int found = -1;
    int indices[4];
    MPI_Status statuses[4];
    EXPECT_EQ(MPI_Waitsome(4, mixed, &found, indices, statuses), MPI_SUCCESS);
    ASSERT_EQ(found, 1);
    EXPECT_EQ(indices[0], 1);
    EXPECT_EQ(statuses[0].MPI_SOURCE, 5);
    EXPECT_EQ(MPI_Testsome(4, mixed, &found, indices, statuses), MPI_SUCCESS);
    EXPECT_EQ(found, 0);
    world.complete(last, {6});
    world.complete(t);
    EXPECT_EQ(MPI_Wait(&mixed[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(MPI_Wait(&mixed[3], MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(interposed_arrays, an_inactive_cr_is_ignored_by_the_any_and_some_forms) {
    cr started(THENCE_CR_NEEDS_START);
    MPI_Request mixed[] = {started, world.start()};
    world.complete(mixed[1], {7});
    int index = -1;
    MPI_Status status{};
    EXPECT_EQ(MPI_Waitany(2, mixed, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    int found = -1;
    int indices[2];
    EXPECT_EQ(MPI_Waitsome(2, mixed, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(found, MPI_UNDEFINED);
}

// As an inactive persistent request: an idle CR is reported once, and is active again with the next registration.
TEST_P(interposed_arrays, the_any_and_some_forms_report_an_idle_cr_once) {
    cr c;
    MPI_Request both[] = {c, MPI_REQUEST_NULL};
    int index = -1;
    int found = -1;
    int flag = -1;
    int indices[2];
    const auto nothing_active = [&] {
        EXPECT_EQ(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(index, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Testany(2, both, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(index, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Waitsome(2, both, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(found, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Testsome(2, both, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(found, MPI_UNDEFINED);
    };
    note n;
    int runs = 0;
    const auto run_one = [&] {
        world.complete(attach_pending(n, c));
        EXPECT_TRUE(eventually([&] { return n.runs == runs + 1; }));
        ++runs;
    };
    nothing_active(); // nothing was ever registered
    run_one();
    EXPECT_EQ(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, 0);
    nothing_active();
    run_one();
    EXPECT_EQ(MPI_Testsome(2, both, &found, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(found, 1);
    nothing_active();
    world.complete(attach_pending(n, c));
    EXPECT_EQ(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    ++runs;
    nothing_active();
    run_one();
    EXPECT_EQ(MPI_Test(&both[0], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    nothing_active();
    run_one();
    EXPECT_EQ(MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    nothing_active();
    MPI_Request complete = completed();
    EXPECT_EQ(attach(complete, n, c), 1);
    nothing_active(); // complete at once, so nothing was registered
    EXPECT_EQ(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_SUCCESS) << "a single wait for an inactive request returns";
}

TEST_P(interposed_arrays, waitany_ignores_an_idle_cr_while_another_request_is_pending) {
    cr idle;
    note n;
    world.complete(attach_pending(n, idle));
    EXPECT_EQ(MPI_Wait(&idle.handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Request mixed[] = {idle, world.start()};
    world.complete_in_progress(mixed[1], {9});
    int index = -1;
    MPI_Status status{};
    EXPECT_EQ(MPI_Waitany(2, mixed, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(status.MPI_SOURCE, 9);
}

TEST_P(interposed_arrays, a_started_cr_without_continuations_is_reported_once) {
    cr c(THENCE_CR_NEEDS_START);
    MPI_Request one[] = {c};
    int index = -1;
    EXPECT_EQ(MPI_Start(&one[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitany(1, one, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, 0);
    EXPECT_EQ(MPI_Waitany(1, one, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
}

// Another thread registers after Testall has found the CR idle and before it completes the rest.
TEST_P(interposed_arrays, testall_never_waits_for_what_is_registered_meanwhile) {
    cr c;
    note n;
    note late;
    world.complete(attach_pending(n, c));
    let_run();
    MPI_Request all[] = {c, completed(3)};
    ticket later{};
    world.at_test = [&] {
        world.at_test = nullptr;
        std::thread([&] { later = attach_pending(late, c); }).join();
    };
    int flag = -1;
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Testall(2, all, &flag, statuses), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(statuses[1].MPI_SOURCE, 3);
    EXPECT_EQ(c.registered(), 1);
    EXPECT_EQ(MPI_Testall(2, all, &flag, statuses), MPI_SUCCESS);
    EXPECT_EQ(flag, 0) << "active again";
    world.complete(later);
    EXPECT_EQ(MPI_Waitall(2, all, statuses), MPI_SUCCESS);
    EXPECT_EQ(late.runs, 1);
}

TEST_P(interposed_arrays, testall_completes_persistent_requests_for_their_continuations_too) {
    cr c;
    note n;
    MPI_Status ours{};
    MPI_Request all[] = {MPI_REQUEST_NULL, world.start()};
    MPI_Recv_init(nullptr, 0, MPI_CHAR, 0, 0, MPI_COMM_SELF, &all[0]);
    MPI_Start(&all[0]);
    EXPECT_EQ(attach(all[0], n, c, &ours), 0);
    world.complete(all[1]);
    int flag = -1;
    EXPECT_EQ(MPI_Testall(2, all, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_NE(all[1], MPI_REQUEST_NULL);
    world.complete(all[0], {8});
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Testall(2, all, &flag, statuses), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(statuses[0].MPI_SOURCE, 8);
    EXPECT_EQ(all[1], MPI_REQUEST_NULL);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_EQ(ours.MPI_SOURCE, 8);
    MPI_Request_free(&all[0]);
}

TEST_P(interposed_arrays, errors_of_mixed_arrays_are_in_their_statuses) {
    cr c;
    MPI_Request failed = world.start();
    world.complete(failed, {0, 0, 0, MPI_ERR_TRUNCATE});
    MPI_Request all[] = {c, failed, completed(2)};
    MPI_Status statuses[3];
    EXPECT_EQ(MPI_Waitall(3, all, statuses), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[2].MPI_SOURCE, 2);
    reported();
}

THENCE_RULES(interposed_arrays);
THENCE_RULES_WHERE(where_no_hook_runs_continuations, [](const variant &v) { return !v.hook; });

} // namespace
