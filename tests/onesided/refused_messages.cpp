// SPDX-License-Identifier: BSD-3-Clause
// What the target cannot do: it has no such part, or its MPI does not take a message. The process that has asked for it
// is told, nothing waits for it, and all others go on.
#include "failed_messages.hpp"
#include "onesided/operations.hpp"

#include <atomic>

namespace thence::fake {
namespace {

using refused_messages = failed_messages;

TEST_F(refused_messages, a_short_reply_is_an_error_of_the_queue) {
    onesided::segment &removed = *onesided::object_of(segment);
    inside().remove_segment(removed); // as if the target had deleted it meanwhile
    local.fill(3);
    EXPECT_EQ(thence_get(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_ERR_OTHER);
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS) << "an error is reported once";
    EXPECT_TRUE(inside().health_of(0).failed.load());
    EXPECT_TRUE(inside().add_segment(removed));
    expect_that_puts_work();
}

TEST_F(refused_messages, data_that_cannot_be_received_are_not_notified) {
    refuses_receive = [](int tag) { return tag >= 2; };
    local.fill(9);
    EXPECT_EQ(thence_put_notify(local.data(), bytes, 0, segment, 0, 2, 6, 0, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_notify(0, segment, 3, 1, 0), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return value_of(3) == 1; })) << "what comes after it is done";
    EXPECT_EQ(value_of(2), 0U);
    refuses_receive = nullptr;
    expect_that_the_flush_tells();
    expect_that_puts_work();
}

TEST_F(refused_messages, nobody_waits_for_a_reply_that_the_target_could_not_send) {
    static std::atomic<int> replies;
    static MPI_Request lost;
    for (const bool starts : {false, true}) { // MPI does not take it, or loses it later
        replies = 0;
        lost = MPI_REQUEST_NULL;
        instead_of_send = [starts](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
            if (tag % 2 == 0) {
                return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
            }
            if (starts) {
                *request = lost = world.start();
            }
            ++replies;
            return starts ? int{MPI_SUCCESS} : int{MPI_ERR_OTHER};
        };
        const auto lose = [&](int so_many) {
            EXPECT_TRUE(eventually([&] { return replies == so_many; }));
            if (starts) {
                world.complete(lost, {0, 0, 0, MPI_ERR_OTHER});
            }
        };
        inside().health_of(0).failed = false;
        ASSERT_EQ(thence_get(local.data(), 8, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
        lose(1);
        EXPECT_TRUE(eventually([&] { return queue_size() == 0; }));
        expect_that_the_flush_tells();
        EXPECT_TRUE(inside().health_of(0).failed.load());
        std::uint64_t old = 0;
        ASSERT_EQ(thence_fetch_add(1, 0, segment, 0, &old, 1, nullptr), MPI_SUCCESS);
        lose(2);
        EXPECT_TRUE(eventually([&] { return queue_size(1) == 0; }));
        expect_that_the_flush_tells(1);
        expect_that_puts_work();
    }
}

TEST_F(refused_messages, nobody_waits_for_data_that_the_target_could_not_receive) {
    refuses_receive = [](int tag) { return tag >= 2; };
    instead_of_send = [](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
        if (tag == 0) {
            return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
        }
        *request = world.start(); // it leaves when it is received
        return int{MPI_SUCCESS};
    };
    ASSERT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return queue_size() == 0; }));
    refuses_receive = nullptr;
    expect_that_the_flush_tells();
    expect_that_puts_work();
}

TEST_F(refused_messages, a_put_to_a_part_that_was_deleted_is_an_error_of_the_queue) {
    onesided::segment &removed = *onesided::object_of(segment);
    thence_segment other = nullptr;
    ASSERT_EQ(thence_segment_create(space, 8, 1, &other), MPI_SUCCESS);
    const thence_piece piece{local.data(), 8, other, 0};
    for (int which = 0; which < 4; ++which) {
        inside().remove_segment(removed); // as if the target had deleted it meanwhile
        inside().health_of(0).failed = false;
        EXPECT_EQ(which == 0   ? thence_put(local.data(), 8, 0, segment, 0, 1, nullptr)
                  : which == 1 ? thence_put(local.data(), bytes, 0, segment, 0, 1, nullptr)
                  : which == 2
                      ? thence_notify(0, segment, 1, 7, 1)
                      : thence_put_list_notify(1, &piece, 0, segment, 1, 7, 1, nullptr), // data alone have a place
                  MPI_SUCCESS);
        expect_that_the_flush_tells(1);
        EXPECT_TRUE(inside().health_of(0).failed.load());
        EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS) << "it was on another queue";
        EXPECT_TRUE(inside().add_segment(removed));
        EXPECT_EQ(value_of(1), 0U);
    }
    EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS);
    expect_that_puts_work();
}

// Lists whose puts go to two segments, of which the target has deleted one.
class failed_lists : public refused_messages {
protected:
    failed_lists() {
        EXPECT_EQ(thence_segment_create(space, 8, 4, &other), MPI_SUCCESS);
        inside().remove_segment(deleted);
    }
    ~failed_lists() override {
        EXPECT_TRUE(inside().add_segment(deleted));
        EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS);
    }
    // One put of a list to the segment that is there, or to the one that is deleted. `notification`: 0: none.
    void put(onesided::list_of_puts &list, bool fails, unsigned notification = 0) {
        onesided::segment &there = *onesided::object_of(other);
        onesided::completion how;
        how.list = &list;
        const onesided::signal after{&there, notification, notification != 0 ? 7U : 0U};
        EXPECT_EQ(onesided::put(local.data(), 8, {fails ? &deleted : &there, 0, 0}, after, 0, how), MPI_SUCCESS);
    }
    std::uint32_t value_of_other(unsigned notification) const {
        std::uint32_t value = 0;
        EXPECT_EQ(thence_notification_reset(other, notification, &value), MPI_SUCCESS);
        return value;
    }
    // Maybe more than one: each put that is refused is an error.
    void expect_an_error_of_the_queue() {
        EXPECT_TRUE(eventually([&] { return thence_queue_flush(space, 0) == MPI_ERR_OTHER; }));
    }
    // All that was sent before has been done.
    void expect_that_all_is_done() {
        ASSERT_EQ(thence_notify(0, other, 0, 1, 0), MPI_SUCCESS);
        EXPECT_TRUE(eventually([&] { return value_of_other(0) == 1; }));
    }

    thence_segment other = nullptr;
    onesided::segment &deleted = *onesided::object_of(segment);
};

TEST_F(failed_lists, set_no_notification) {
    for (const std::size_t length : {std::size_t{8}, bytes}) {
        const thence_piece pieces[] = {{local.data(), length, segment, 0}, {local.data(), 8, other, 0}};
        ASSERT_EQ(thence_put_list_notify(2, pieces, 0, other, 1, 7, 0, nullptr), MPI_SUCCESS);
        expect_that_all_is_done();
        EXPECT_EQ(value_of_other(1), 0U) << length;
        expect_an_error_of_the_queue();
        ASSERT_EQ(thence_put_list_notify(1, pieces + 1, 0, other, 1, 7, 0, nullptr), MPI_SUCCESS);
        EXPECT_TRUE(eventually([&] { return value_of_other(1) == 7; })) << "a list after it";
    }
}

TEST_F(failed_lists, of_several_threads_do_not_hide_each_other) {
    onesided::list_of_puts lists[4];
    put(lists[0], false);
    put(lists[1], true);
    put(lists[2], true);
    put(lists[1], false);
    put(lists[3], false);
    put(lists[1], false, 1);
    put(lists[2], false, 2);
    put(lists[3], false, 3);
    expect_that_all_is_done();
    EXPECT_EQ(value_of_other(1), 0U);
    EXPECT_EQ(value_of_other(2), 0U);
    EXPECT_EQ(value_of_other(3), 7U) << "none of its puts has failed";
    expect_an_error_of_the_queue();
}

} // namespace
} // namespace thence::fake
