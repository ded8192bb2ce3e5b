// SPDX-License-Identifier: BSD-3-Clause
// The room of a queue, tags, and the end of several reads.
#include "one_process.hpp"

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

class end_of_reads : public queue_rules {
protected:
    // Two reads, and what comes after them.
    void start() {
        end = pending::make();
        end->is_end = true;
        end->notification = 3;
        end->value = 6;
        end->here = onesided::object_of(segment)->own().notifications;
        for (MPI_Request &each : reads) {
            each = world.start();
            pending &p = made(each);
            p.expected = 8;
            p.end = end;
            of.add(p);
        }
        of.add(*end);
    }
    MPI_Request reads[2] = {};
    pending *end = nullptr;
};

TEST_F(end_of_reads, comes_after_all_of_them) {
    start();
    world.complete(reads[1], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    world.complete(reads[0], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 6U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_EQ(of.take_error(), MPI_SUCCESS);
}

TEST_F(end_of_reads, does_not_tell_of_data_that_are_not_here) {
    start();
    world.complete(reads[0], {0, 0, 8, MPI_ERR_OTHER});
    of.look();
    world.complete(reads[1], {0, 0, 8});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_NE(of.take_error(), MPI_SUCCESS);
}

TEST_F(end_of_reads, does_not_tell_of_a_reply_that_is_too_short) {
    start();
    world.complete(reads[0], {0, 0, 8});
    world.complete(reads[1], {0, 0, 0});
    of.look();
    EXPECT_EQ(value_of(3), 0U);
    EXPECT_EQ(of.size(), 0);
    EXPECT_NE(of.take_error(), MPI_SUCCESS);
}

} // namespace
} // namespace thence::fake
