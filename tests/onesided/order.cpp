// SPDX-License-Identifier: BSD-3-Clause
// The order of what a target does with messages whose data arrive in another order.
#include "one_process.hpp"

#include <vector>

namespace thence::fake {
namespace {

class order_of_arrival : public one_process {
protected:
    // The data of long puts are held back, in this order.
    struct held {
        std::vector<unsigned char> data;
        int tag;
        MPI_Comm comm;
        MPI_Request request;
    };
    order_of_arrival() {
        instead_of_send = [this](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
            if (tag == 0) {
                return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
            }
            const auto *const from = static_cast<const unsigned char *>(buffer);
            *request = world.start();
            held_.push_back({{from, from + count}, tag, comm, *request});
            return int{MPI_SUCCESS};
        };
    }
    void let_go(std::size_t i) {
        MPI_Request sent = MPI_REQUEST_NULL;
        send_of_fake(held_[i].data.data(), static_cast<int>(held_[i].data.size()), MPI_BYTE, 0, held_[i].tag,
                     held_[i].comm, &sent);
        EXPECT_EQ(thence::mpi::table.Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
        world.complete(held_[i].request);
        for (int k = 0; k < 10; ++k) {
            let_run();
        }
    }
    std::vector<held> held_;
};

TEST_F(order_of_arrival, a_notification_waits_for_the_data_of_puts_before) {
    ASSERT_EQ(thence_put_notify(local.data(), 40'000, 0, segment, 0, 1, 1, 0, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_put_notify(local.data(), 40'000, 0, segment, 50'000, 2, 1, 0, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_notify(0, segment, 3, 1, 0), MPI_SUCCESS);
    ASSERT_EQ(thence_notify(0, segment, 4, 1, 1), MPI_SUCCESS) << "on another queue";
    EXPECT_TRUE(eventually([&] { return value_of(4) == 1; }));
    let_go(1);
    EXPECT_EQ(value_of(1), 0U);
    EXPECT_EQ(value_of(2), 0U);
    EXPECT_EQ(value_of(3), 0U);
    let_go(0);
    for (const unsigned each : {1U, 2U, 3U}) {
        EXPECT_TRUE(eventually([&] { return value_of(each) == 1; })) << each; // the helper thread polls, too
    }
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
}

TEST_F(order_of_arrival, puts_to_two_segments_on_the_same_memory_keep_their_order) {
    std::vector<unsigned char> memory(60'000);
    thence_segment first = nullptr;
    thence_segment second = nullptr;
    ASSERT_EQ(thence_segment_create_on(space, memory.data(), 50'000, 1, &first), MPI_SUCCESS);
    ASSERT_EQ(thence_segment_create_on(space, memory.data() + 10'000, 50'000, 1, &second), MPI_SUCCESS);
    local.fill(1);
    ASSERT_EQ(thence_put(local.data(), 30'000, 0, first, 0, 0, nullptr), MPI_SUCCESS);
    for (int k = 0; k < 10; ++k) {
        let_run();
    }
    std::vector<unsigned char> later(30'000, 2);
    ASSERT_EQ(thence_put_notify(later.data(), later.size(), 0, second, 0, 0, 1, 0, nullptr), MPI_SUCCESS);
    let_go(1);
    let_go(0);
    EXPECT_EQ(thence_notification_wait(second, 0, 1, nullptr), MPI_SUCCESS);
    EXPECT_EQ(memory[9'999], 1);
    EXPECT_EQ(memory[10'000], 2) << "the later put wins";
    EXPECT_EQ(memory[29'999], 2);
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
    EXPECT_EQ(thence_segment_free(&second), MPI_SUCCESS);
    EXPECT_EQ(thence_segment_free(&first), MPI_SUCCESS);
}

TEST_F(order_of_arrival, a_part_that_data_are_moved_to_is_not_dropped) {
    thence_segment made = nullptr;
    ASSERT_EQ(thence_segment_create(space, 60'000, 1, &made), MPI_SUCCESS);
    onesided::segment &other = *onesided::object_of(made);
    local.fill(4);
    ASSERT_EQ(thence_put_notify(local.data(), 50'000, 0, made, 0, 0, 1, 0, nullptr), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return other.own().uses.load() == 1; }));
    EXPECT_EQ(other.drop_own(), onesided::segment::dropped::in_use) << "MPI writes to it";
    EXPECT_NE(other.own().memory, nullptr);
    let_go(0);
    EXPECT_EQ(thence_notification_wait(made, 0, 1, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
    EXPECT_EQ(other.drop_own(), onesided::segment::dropped::yes);
    EXPECT_EQ(other.own().memory, nullptr);
    EXPECT_EQ(other.find_own(), nullptr);
    ASSERT_TRUE(other.give_own(nullptr, 8, 1));
    EXPECT_EQ(thence_segment_free(&made), MPI_SUCCESS);
}

} // namespace
} // namespace thence::fake
