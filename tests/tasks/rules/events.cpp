// SPDX-License-Identifier: BSD-3-Clause
// Counters of events: whoever lowers one to zero calls the owner's function, once, with the first error.
#include "library.hpp"

#include <thence/events.h>

#include <array>
#include <limits>

namespace {

using namespace thence::fake;

struct counter : thence_events {
    counter() { EXPECT_EQ(thence_events_init(this, &completed, this), MPI_SUCCESS); }
    static void completed(thence_events *events, int error, void *owner) {
        auto *self = static_cast<counter *>(owner);
        EXPECT_EQ(events, self);
        ++self->completions;
        self->error = error;
    }
    std::atomic<int> completions{0};
    int error = -1;
};

int class_of(int code) {
    int result = code;
    thence::mpi::table.Error_class(code, &result);
    return result;
}

class events : public on_fake {};

TEST_P(events, complete_when_the_owner_and_all_operations_have_lowered) {
    cr c;
    counter e;
    std::array<MPI_Request, 3> requests{world.start(), world.start(), world.start()};
    std::array<ticket, 3> tickets{world.ticket_of(requests[0]), world.ticket_of(requests[1]),
                                  world.ticket_of(requests[2])};
    EXPECT_EQ(thence_attach_event(1, requests.data(), 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    EXPECT_EQ(thence_attach_event(2, requests.data() + 1, 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
    for (const ticket t : tickets) {
        EXPECT_EQ(e.completions, 0);
        world.complete(t);
        let_run();
    }
    EXPECT_TRUE(eventually([&] { return e.completions == 1; }));
    EXPECT_EQ(e.error, MPI_SUCCESS);
}

TEST_P(events, complete_in_the_owners_call_when_all_operations_are_over) {
    cr c;
    counter e;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(thence_attach_event(1, &r, 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    EXPECT_EQ(e.completions, 0);
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 1);
}

TEST_P(events, of_operations_that_are_complete_already_leave_the_counter_as_it_was) {
    cr c;
    counter e;
    MPI_Request r = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_attach_event(1, &r, 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    EXPECT_EQ(thence_attach_event(0, nullptr, 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 0);
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 1);
}

TEST_P(events, give_the_first_error_to_the_owner) {
    cr c;
    counter e;
    std::array<MPI_Request, 2> requests{world.start(), world.start()};
    const ticket good = world.ticket_of(requests[0]);
    const ticket bad = world.ticket_of(requests[1]);
    EXPECT_EQ(thence_attach_event(1, requests.data(), 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    EXPECT_EQ(thence_attach_event(1, requests.data() + 1, 0, MPI_STATUSES_IGNORE, &e, c), MPI_SUCCESS);
    world.complete(bad, {.error = MPI_ERR_TRUNCATE});
    let_run();
    world.complete(good);
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_ERR_OTHER), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 1);
    EXPECT_EQ(e.error, MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(events, set_statuses_before_they_are_lowered) {
    cr c;
    MPI_Status status{};
    status.MPI_TAG = -7;
    struct seen {
        MPI_Status *status;
        int tag = -1;
    } s{&status};
    thence_events e;
    EXPECT_EQ(thence_events_init(
                  &e,
                  [](thence_events *, int, void *owner) {
                      auto *self = static_cast<seen *>(owner);
                      self->tag = self->status->MPI_TAG;
                  },
                  &s),
              MPI_SUCCESS);
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(thence_attach_event(1, &r, 0, &status, &e, c), MPI_SUCCESS);
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
    world.complete(t, {.source = 3, .tag = 42});
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    EXPECT_EQ(s.tag, 42);
}

TEST_P(events, can_be_initialized_again_by_their_function) {
    struct again {
        thence_events e;
        int rounds = 0;
        static void completed(thence_events *events, int, void *owner) {
            if (++static_cast<again *>(owner)->rounds < 3) {
                thence_events_init(events, &completed, owner);
            }
        }
    } a;
    thence_events_init(&a.e, &again::completed, &a);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(thence_events_lower(&a.e, 1, MPI_SUCCESS), MPI_SUCCESS);
    }
    EXPECT_EQ(a.rounds, 3);
}

TEST_P(events, lowered_below_zero_are_an_error_and_nothing_is_lost) {
    counter e;
    EXPECT_EQ(class_of(thence_events_lower(&e, 2, MPI_ERR_OTHER)), MPI_ERR_ARG);
    EXPECT_EQ(e.completions, 0);
    EXPECT_EQ(thence_events_raise(&e, 1), MPI_SUCCESS);
    EXPECT_EQ(thence_events_lower(&e, 2, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 1);
    EXPECT_EQ(e.error, MPI_SUCCESS);
    EXPECT_EQ(class_of(thence_events_lower(&e, 1, MPI_SUCCESS)), MPI_ERR_ARG);
    EXPECT_EQ(e.completions, 1);
    reported();
}

TEST_P(events, refuse_bad_arguments_and_change_nothing) {
    cr c;
    counter e;
    MPI_Request r = world.start();
    const MPI_Request before = r;
    MPI_Request none = MPI_REQUEST_NULL;
    EXPECT_EQ(class_of(thence_events_init(nullptr, &counter::completed, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_events_init(&e, nullptr, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_events_raise(nullptr, 1)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_events_raise(&e, std::numeric_limits<std::uint64_t>::max())), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_events_lower(nullptr, 1, MPI_SUCCESS)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_attach_event(1, &r, 0, MPI_STATUSES_IGNORE, nullptr, c)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_attach_event(-1, &r, 0, MPI_STATUSES_IGNORE, &e, c)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_attach_event(1, nullptr, 0, MPI_STATUSES_IGNORE, &e, c)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_attach_event(1, &r, THENCE_MAY_RUN, MPI_STATUSES_IGNORE, &e, c)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_attach_event(1, &r, 0, MPI_STATUSES_IGNORE, &e, none)), MPI_ERR_REQUEST);
    EXPECT_EQ(r, before);
    EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(e.completions, 1);
    EXPECT_EQ(class_of(thence_attach_event(1, &r, 0, MPI_STATUSES_IGNORE, &e, c)), MPI_ERR_ARG); // it is complete
    EXPECT_EQ(r, before);
    EXPECT_EQ(class_of(thence_events_raise(&e, 1)), MPI_ERR_ARG);
    world.complete(world.ticket_of(r));
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    reported();
}

THENCE_RULES(events);

// Threads raise and lower one counter: the function is called once, after the last, whoever that is.
TEST(events_stress, exactly_one_of_many_threads_completes) {
    constexpr int threads = 4;
    constexpr int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
        counter e;
        ASSERT_EQ(thence_events_raise(&e, threads), MPI_SUCCESS);
        std::atomic<int> lowered{0};
        std::vector<std::thread> all;
        for (int i = 0; i < threads; ++i) {
            all.emplace_back([&] {
                EXPECT_EQ(thence_events_raise(&e, 1), MPI_SUCCESS);
                lowered.fetch_add(1);
                EXPECT_EQ(thence_events_lower(&e, 2, MPI_SUCCESS), MPI_SUCCESS);
            });
        }
        EXPECT_EQ(thence_events_lower(&e, 1, MPI_SUCCESS), MPI_SUCCESS);
        for (std::thread &each : all) {
            each.join();
        }
        ASSERT_EQ(e.completions, 1);
        ASSERT_EQ(lowered, threads);
    }
}

} // namespace
