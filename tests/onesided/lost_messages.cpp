// SPDX-License-Identifier: BSD-3-Clause
// Packets that MPI has taken and does not deliver, as it tells when the call that has sent them has returned.
#include "failed_messages.hpp"

#include <atomic>
#include <thread>

namespace thence::fake {
namespace {

TEST_F(failed_messages, a_short_put_that_is_lost_on_its_way_is_an_error_of_its_queue) {
    for (const int queue : {0, 1}) {
        for (const bool has_request : {false, true}) {
            MPI_Request on_its_way = MPI_REQUEST_NULL;
            hold(on_its_way);
            MPI_Request own = MPI_REQUEST_NULL;
            inside().health_of(0).failed = false;
            EXPECT_EQ(thence_put(local.data(), 8, 0, segment, 0, queue, has_request ? &own : nullptr), MPI_SUCCESS);
            EXPECT_EQ(own, MPI_REQUEST_NULL) << "it is locally complete";
            EXPECT_EQ(thence_queue_flush(space, queue), MPI_SUCCESS) << "it is on its way";
            EXPECT_FALSE(inside().health_of(0).failed.load());
            world.complete(on_its_way, {0, 0, 0, MPI_ERR_OTHER});
            expect_that_the_flush_tells(queue);
            EXPECT_TRUE(inside().health_of(0).failed.load());
            EXPECT_FALSE(inside().is_gone(0)) << "others may reach it";
            EXPECT_EQ(thence_queue_flush(space, 1 - queue), MPI_SUCCESS) << "it was on another queue";
            expect_that_puts_work();
        }
    }
}

// MPI may take a copy of the data, so that they are complete before the packet that announces them is lost.
TEST_F(failed_messages, a_long_put_whose_packet_is_lost_when_its_data_have_left_is_an_error_of_its_queue) {
    MPI_Request on_its_way = MPI_REQUEST_NULL;
    instead_of_send = [&](const void *, int, int tag, MPI_Comm, MPI_Request *request) {
        *request = is_packet(tag) ? on_its_way = world.start() : MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    EXPECT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
    world.complete(on_its_way, {0, 0, 0, MPI_ERR_OTHER});
    expect_that_the_flush_tells();
    expect_that_puts_work();
}

// Barriers, registrations and pings of GASPI wait for what such a packet asks for, and look who is gone.
TEST_F(failed_messages, a_process_to_which_a_packet_without_a_queue_is_lost_on_its_way_counts_as_gone) {
    MPI_Request on_its_way = MPI_REQUEST_NULL;
    hold(on_its_way);
    wire::packet *const p = wire::take_packet();
    ASSERT_NE(p, nullptr);
    p->head = {};
    p->head.what = wire::kind::other;
    p->length = sizeof p->head;
    EXPECT_EQ(inside().wires().send(*p, 0), MPI_SUCCESS);
    instead_of_send = nullptr;
    EXPECT_FALSE(inside().is_gone(0));
    world.complete(on_its_way, {0, 0, 0, MPI_ERR_OTHER});
    EXPECT_TRUE(eventually([&] { return inside().is_gone(0); }));
    EXPECT_TRUE(inside().health_of(0).failed.load());
    EXPECT_EQ(thence_put(local.data(), 8, 0, segment, 0, 0, nullptr), MPI_ERR_OTHER);
    inside().health_of(0).gone = false; // so that the space has an end
    expect_that_puts_work();
}

TEST_F(failed_messages, a_segment_is_freed_although_a_packet_is_lost_meanwhile) {
    thence_segment other = nullptr;
    ASSERT_EQ(thence_segment_create(space, 8, 0, &other), MPI_SUCCESS);
    MPI_Request on_its_way = MPI_REQUEST_NULL;
    hold(on_its_way);
    EXPECT_EQ(thence_put(local.data(), 8, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    instead_of_send = nullptr;
    // It must not be lost before the other thread tells how many have been sent, if that does not wait.
    static std::atomic<bool> is_told;
    static auto &table = thence::mpi::table;
    static const auto working = table.Ialltoall;
    is_told = false;
    table.Ialltoall = [](const void *in, int count, MPI_Datatype type, void *out, int count_out, MPI_Datatype type_out,
                         MPI_Comm comm, MPI_Request *request) {
        is_told = true;
        return working(in, count, type, out, count_out, type_out, comm, request);
    };
    std::thread loses([&] {
        for (int i = 0; i < 100 && !is_told; ++i) {
            let_run();
        }
        world.complete(on_its_way, {0, 0, 0, MPI_ERR_OTHER});
    });
    EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS);
    loses.join();
    table.Ialltoall = working;
    expect_that_the_flush_tells();
    expect_that_puts_work();
}

// The packet that says what the message is, or asks for it.
TEST_F(failed_messages, nobody_waits_for_a_message_whose_packet_was_lost_on_its_way) {
    for (const bool reads : {true, false}) {
        MPI_Request on_its_way = MPI_REQUEST_NULL;
        instead_of_send = [&](const void *, int, int tag, MPI_Comm, MPI_Request *request) {
            *request = world.start();
            on_its_way = is_packet(tag) ? *request : on_its_way;
            return int{MPI_SUCCESS};
        };
        if (reads) {
            EXPECT_EQ(thence_get(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
        } else {
            EXPECT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
        }
        EXPECT_EQ(queue_size(), 1);
        world.complete(on_its_way, {0, 0, 0, MPI_ERR_OTHER});
        EXPECT_EQ(thence_queue_flush(space, 0), MPI_ERR_OTHER);
        expect_that_puts_work();
    }
}

} // namespace
} // namespace thence::fake
