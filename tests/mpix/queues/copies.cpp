// SPDX-License-Identifier: BSD-3-Clause
// Buffers in the memory of a device: the memory of their copies is given back once, and not while MPI or the queue uses
// it.
#include "scripted_queue.hpp"

#include "mpix/enqueue/enqueue_operation.hpp"

namespace {

using namespace thence::fake;
using thence::enqueue::buffer_use;
using thence::queues::enqueuing;

class copied_buffers : public on_fake {
protected:
    copied_buffers() {
        thence::mpi::table.Type_get_true_extent = thence::mpi::table.Type_get_extent;
        q.in_device = true;
    }
    ~copied_buffers() override { EXPECT_EQ(q.copies_to_nothing, 0); }

    // With a request: the queue does not wait.
    enqueuing enqueue(bool reads, bool writes, MPI_Request *request = nullptr) {
        scripted_operation *const pointer = &operation;
        const void *buffer = &number;
        const buffer_use use{&buffer, 1, MPI_INT, reads, writes};
        const enqueuing how =
            thence::enqueue::enqueue_with_copies(*q, q.operation_of(pointer), {&use, 1}, MPI_STATUS_IGNORE, request);
        copy = static_cast<int *>(const_cast<void *>(buffer));
        return how;
    }
    // Memory of copies: the words of the queue are there, too.
    std::size_t in_use() const { return q.in_use.size() - 1; }

    scripted_queue q;
    scripted_operation operation;
    int number = 7; // in the device
    int *copy = nullptr;
};

TEST_P(copied_buffers, go_in_and_out_in_the_order_of_the_queue) {
    ASSERT_EQ(enqueue(true, true), enqueuing::done);
    q.go();
    ASSERT_TRUE(operation.begins());
    EXPECT_EQ(*copy, 7);
    *copy = 8;
    operation.complete();
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(number, 8);
    EXPECT_EQ(in_use(), 0U);
}

TEST_P(copied_buffers, stay_where_the_queue_takes_the_operation_and_refuses_to_wait_for_it) {
    q.refuse_once = 2; // behind the copy and the operation
    ASSERT_EQ(enqueue(true, false), enqueuing::refused_rest);
    EXPECT_EQ(in_use(), 1U);
    q.go();
    ASSERT_TRUE(operation.begins());
    EXPECT_EQ(*copy, 7);
    operation.complete();
    EXPECT_TRUE(q.finishes());
    EXPECT_EQ(in_use(), 1U) << "the queue does not say when MPI uses it no longer";
    std::free(copy);
}

TEST_P(copied_buffers, are_given_back_where_the_queue_refuses_the_operation) {
    MPI_Request request = MPI_REQUEST_NULL;
    q.refuse_once = 0;
    EXPECT_EQ(enqueue(false, true, &request), enqueuing::refused);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(in_use(), 0U);
    q.refuse_once = 0;
    EXPECT_EQ(enqueue(false, true), enqueuing::refused);
    EXPECT_EQ(in_use(), 0U);
}

TEST_P(copied_buffers, are_given_back_behind_the_copy_that_the_queue_has_taken) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (MPI_Request *const each : {static_cast<MPI_Request *>(nullptr), &request}) {
        q.refuse_once = 1; // behind the copy
        EXPECT_EQ(enqueue(true, false, each), enqueuing::refused);
        EXPECT_EQ(in_use(), 1U);
        EXPECT_TRUE(q.finishes());
        EXPECT_EQ(in_use(), 0U);
    }
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(operation.begun, 0);
}

THENCE_RULES(copied_buffers);

} // namespace
