// SPDX-License-Identifier: BSD-3-Clause
// All calls of the MPI's mpi.h that communicate, and are not enqueued on a communicator that has a queue, are refused
// there. The list is made from mpi.h (list_calls_refused_on_queues.py), so that a call that a new MPI adds is in it.
#include "thread_queue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace {

class refused_calls : public enqueue {
protected:
    // Each pointer points here. A call that is refused writes nothing.
    alignas(std::max_align_t) std::array<unsigned char, 4096> zeros_{};

    template <class Argument> Argument argument(MPI_Comm comm) {
        if constexpr (std::is_same_v<Argument, MPI_Comm>) { // where handles are numbers, counts and ranks get it, too
            return comm;
        } else if constexpr (std::is_pointer_v<Argument>) {
            return reinterpret_cast<Argument>(zeros_.data());
        } else {
            return Argument{};
        }
    }
    template <class... Arguments> void is_refused(const char *name, int (*call)(Arguments...), MPI_Comm comm) {
        EXPECT_EQ(class_of(call(argument<Arguments>(comm)...)), MPI_ERR_UNSUPPORTED_OPERATION) << name;
        EXPECT_TRUE(std::ranges::all_of(zeros_, [](unsigned char byte) { return byte == 0; })) << name;
        zeros_ = {};
    }
};

TEST_P(refused_calls, are_all_that_communicate_and_are_not_enqueued) {
    queued_communicator q(GetParam());
    int calls = 0;
#define X(name)                                                                                                        \
    is_refused(#name, &name, q.comm);                                                                                  \
    ++calls;
#include "calls_refused_on_queues.inc"
#undef X
    EXPECT_GT(calls, 30);
}

INSTANTIATE_TEST_SUITE_P(enqueue, refused_calls, ::testing::Values(trigger::by_launch));

} // namespace
