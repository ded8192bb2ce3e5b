// SPDX-License-Identifier: BSD-3-Clause
// One process whose sends fail when a test says so, and go on afterwards.
#pragma once

#include "one_process.hpp"

namespace thence::fake {

class failed_messages : public one_process {
protected:
    // The sends whose tag satisfies `fails` do not start.
    static void refuse(bool (*fails)(int tag)) {
        instead_of_send = [fails](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
            if (fails(tag)) {
                return int{MPI_ERR_OTHER};
            }
            return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
        };
    }
    // A refusal comes after the put is locally complete.
    void expect_that_the_flush_tells(int queue = 0) {
        EXPECT_TRUE(eventually([&] { return thence_queue_flush(space, queue) == MPI_ERR_OTHER; }));
        EXPECT_EQ(thence_queue_flush(space, queue), MPI_SUCCESS) << "an error is reported once";
    }
    // Others work afterwards.
    void expect_that_puts_work() {
        instead_of_send = nullptr;
        EXPECT_EQ(queue_size(), 0) << "nothing is left in the queue";
        local.fill(7);
        ASSERT_EQ(thence_put_notify(local.data(), 1000, 0, segment, 0, 1, 5, 0, nullptr), MPI_SUCCESS);
        EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
        EXPECT_TRUE(eventually([&] { return value_of(1) == 5; }));
        thence_segment other = nullptr;
        ASSERT_EQ(thence_segment_create(space, 8, 0, &other), MPI_SUCCESS);
        EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS) << "it waits for all packets that count as sent";
    }
};

} // namespace thence::fake
