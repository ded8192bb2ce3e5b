// SPDX-License-Identifier: BSD-3-Clause
// The room of a queue, tags, and the end of several operations.
#include "onesided/end_of_several.hpp"

#include "one_process.hpp"

#include <atomic>

namespace thence::fake {
namespace {

using onesided::completed_tag;
using onesided::pending;
using onesided::queue;

class queue_rules : public one_process {
protected:
    static pending &made(MPI_Request request, std::uint64_t tag = 0, std::uint32_t completions = 0) {
        pending &p = *pending::make();
        p.request = request;
        p.tag = tag;
        p.completions = completions;
        p.entries = completions != 0 ? completions : 1;
        return p;
    }
    unsigned take() { return of.take_tags(16, tags); }

    queue of;
    completed_tag tags[16] = {};
};

TEST_F(queue_rules, operations_without_a_tag_give_their_room_back_when_tags_are_taken) {
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(of.take_room(1, 4)) << i;
        of.count_complete(1);
        EXPECT_EQ(take(), 0U);
    }
    MPI_Request request = world.start();
    ASSERT_TRUE(of.take_room(4, 4));
    of.add(made(request));
    of.count_complete(3);
    EXPECT_FALSE(of.take_room(1, 4));
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(of.room_taken(), 1U) << "one is not complete";
    EXPECT_FALSE(of.take_room(4, 4));
    world.complete(request);
    of.look();
    EXPECT_EQ(of.room_taken(), 1U) << "nobody was told";
    take();
    EXPECT_EQ(of.room_taken(), 0U);
}

TEST_F(queue_rules, room_is_given_back_once_although_a_wait_comes_before_the_tags) {
    ASSERT_TRUE(of.take_room(2, 8));
    of.add_complete(made(MPI_REQUEST_NULL, 5, 2));
    EXPECT_EQ(of.room_taken(), 2U);
    of.give_room_of_complete();
    EXPECT_EQ(of.room_taken(), 0U);
    ASSERT_TRUE(of.take_room(3, 8));
    EXPECT_EQ(of.take_tags(1, tags), 1U);
    EXPECT_EQ(tags[0].tag, 5U);
    EXPECT_EQ(take(), 1U);
    EXPECT_EQ(of.room_taken(), 3U) << "that of others";
    of.give_room(3);
}

TEST_F(queue_rules, more_than_the_queue_has_fits_an_empty_queue) {
    EXPECT_TRUE(of.take_room(9, 4));
    EXPECT_FALSE(of.take_room(1, 4));
    EXPECT_FALSE(of.take_room(9, 4));
    EXPECT_TRUE(of.take_room(0, 4)) << "an operation of a task takes none";
    of.give_room(9);
    EXPECT_TRUE(of.take_room(UINT32_MAX, 4));
    EXPECT_FALSE(of.take_room(1, 4));
}

TEST_F(queue_rules, requests_complete_in_any_order_and_tags_come_with_their_error) {
    MPI_Request requests[4];
    for (unsigned i = 0; i < 4; ++i) {
        requests[i] = world.start();
        of.add(made(requests[i], i + 1, i == 2 ? 2 : 1));
    }
    EXPECT_EQ(of.added(), 4U);
    world.complete(requests[2], {0, 0, 0, MPI_ERR_OTHER});
    of.look();
    EXPECT_EQ(take(), 2U);
    EXPECT_EQ(tags[0].tag, 3U);
    EXPECT_EQ(tags[1].error, MPI_ERR_OTHER);
    EXPECT_EQ(of.take_error(), MPI_SUCCESS) << "it was told by the tag";
    EXPECT_FALSE(of.reached(1));
    world.complete(requests[0]);
    of.look();
    EXPECT_TRUE(of.reached(1));
    EXPECT_FALSE(of.reached(2));
    world.complete(requests[3]);
    world.complete(requests[1]);
    of.look();
    EXPECT_TRUE(of.reached(4));
    EXPECT_EQ(of.size(), 0);
    EXPECT_EQ(take(), 3U);
}

TEST_F(queue_rules, that_is_used_again_knows_nothing_of_operations_before) {
    MPI_Request failed = world.start();
    ASSERT_TRUE(of.take_room(3, 8));
    of.add(made(failed));
    of.add_complete(made(MPI_REQUEST_NULL, 5, 2));
    world.complete(failed, {0, 0, 0, MPI_ERR_OTHER});
    of.look();
    of.forget_complete();
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(of.take_error(), MPI_SUCCESS);
    EXPECT_EQ(of.room_taken(), 0U);
}

TEST_F(queue_rules, no_callback_runs_while_its_thread_tests_the_queue) {
    const cr c;
    note n;
    MPI_Request request = world.start();
    of.add(made(request));
    int left = -1;
    n.inside = [&] { // waits for the queue
        world.complete(request);
        of.look();
        left = of.size();
    };
    world.complete(attach_pending(n, c));
    of.look();
    EXPECT_TRUE(eventually([&] { return n.runs != 0; }));
    EXPECT_EQ(left, 0);
}

// A send, which is not cancelled, and a reply.
TEST_F(queue_rules, a_part_stays_in_use_if_mpi_goes_on_with_a_message_of_a_process_that_is_gone) {
    onesided::health target;
    std::atomic<long> uses{2};
    MPI_Request requests[2] = {world.start(), world.start()};
    for (MPI_Request each : requests) {
        pending &p = made(each);
        p.expected = each == requests[1] ? 8 : 0;
        p.of_target = &target;
        p.local_use = &uses;
        of.add(p);
    }
    of.look();
    EXPECT_EQ(of.size(), 2);
    target.gone = true;
    world.cancelling = on_cancel::ignore; // it is matched
    const auto cancelled = world.cancel_calls.load();
    of.look();
    EXPECT_EQ(world.cancel_calls, cancelled + 1) << "to cancel a send to a process that is gone ends one of MPICH";
    EXPECT_EQ(of.size(), 0) << "nobody waits for them";
    EXPECT_NE(of.take_error(), MPI_SUCCESS);
    EXPECT_EQ(uses, 2);
    for (MPI_Request each : requests) {
        world.complete(each);
    }
    world.cancelling = on_cancel::complete_at_once;
    pending &p = made(world.start());
    p.expected = 8;
    p.of_target = &target;
    p.local_use = &uses;
    of.add(p);
    of.look();
    EXPECT_EQ(uses, 1) << "it was not matched";
}

class end_of_reads : public queue_rules {
protected:
    // Two reads, and what comes after them.
    void start(queue &which) {
        end = pending::make();
        end->is_end = true;
        end->notification = 3;
        end->value = 6;
        end->own_slots = onesided::object_of(segment)->own().notifications;
        for (MPI_Request &each : reads) {
            each = world.start();
            pending &p = made(each);
            p.expected = 8;
            p.end = end;
            which.add(p);
        }
        which.add(*end);
    }
    MPI_Request reads[2] = {};
    pending *end = nullptr;
};

TEST_F(end_of_reads, comes_after_all_of_them) {
    start(of);
    world.complete(reads[1], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    world.complete(reads[0], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 6U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_EQ(of.take_error(), MPI_SUCCESS);
}

TEST_F(end_of_reads, comes_after_what_was_before_them_on_the_queue) {
    MPI_Request before = world.start();
    of.add(made(before));
    start(of);
    world.complete(reads[0], {0, 0, 8});
    world.complete(reads[1], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    world.complete(before);
    of.look();
    EXPECT_EQ(value_of(3), 6U);
    EXPECT_EQ(of.size(), 0);
}

TEST_F(end_of_reads, is_noticed_by_a_poll) {
    start(inside().queue_of(1));
    world.complete(reads[0], {0, 0, 8});
    world.complete(reads[1], {0, 0, 8});
    EXPECT_TRUE(eventually([&] { return value_of(3) == 6; })) << "nobody has asked the queue";
    EXPECT_EQ(queue_size(1), 0);
    EXPECT_FALSE(inside().queue_of(1).has_ends());
}

TEST_F(end_of_reads, does_not_tell_of_data_that_are_not_here) {
    start(of);
    world.complete(reads[0], {0, 0, 8, MPI_ERR_OTHER});
    of.look();
    world.complete(reads[1], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_NE(of.take_error(), MPI_SUCCESS);
}

TEST_F(end_of_reads, does_not_tell_of_a_reply_that_is_too_short) {
    start(of);
    world.complete(reads[0], {0, 0, 8});
    world.complete(reads[1], {0, 0, 0});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_NE(of.take_error(), MPI_SUCCESS);
}

// A call that starts several operations, of which one cannot be started.
class end_of_a_failed_call : public queue_rules {
protected:
    void prepare(onesided::end_of_several &end) {
        pending &made_end = *end.made();
        made_end.tag = 5;
        made_end.completions = made_end.entries = 1;
        made_end.notification = 3;
        made_end.value = 6;
        made_end.own_slots = onesided::object_of(segment)->own().notifications;
        made_end.local_use = &uses;
    }
    std::atomic<long> uses{1};
};

TEST_F(end_of_a_failed_call, tells_of_nothing_when_those_that_were_started_are_complete) {
    MPI_Request started = world.start();
    ASSERT_TRUE(of.take_room(1, 4));
    {
        onesided::end_of_several end(of, true);
        prepare(end);
        pending &part = made(started);
        part.end = end.made();
        part.end->is_end = true;
        of.add(part);
    }
    of.look();
    EXPECT_EQ(of.size(), 2);
    EXPECT_EQ(uses, 1) << "the end is not complete";
    world.complete(started);
    of.look();
    EXPECT_EQ(of.size(), 0);
    EXPECT_EQ(uses, 0);
    EXPECT_EQ(value_of(3), 0U);
    EXPECT_EQ(take(), 0U) << "tags";
    EXPECT_EQ(of.room_taken(), 0U);
}

TEST_F(end_of_a_failed_call, is_dropped_if_none_was_started) {
    {
        onesided::end_of_several end(of, true);
        prepare(end);
    }
    EXPECT_EQ(of.size(), 0);
    EXPECT_EQ(uses, 0);
    EXPECT_EQ(take(), 0U);
}

} // namespace
} // namespace thence::fake
