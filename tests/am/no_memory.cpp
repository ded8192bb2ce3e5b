// SPDX-License-Identifier: BSD-3-Clause
// Memory is exhausted where data arrive.
#include "fake_network.hpp"
#include "scarce_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace thence::am;
using fake::engines;

// Nobody would receive the data, but a later put with the same tag. So all processes are told.
TEST(no_memory, to_receive_the_data_of_a_put_breaks_off) {
    engines all(2);
    std::vector<int> there(10, -1);
    thence_am_memory name{sizeof(int) * there.size(), 0, 1, 0};
    ASSERT_TRUE(all[1].memory().add(there.data(), name.bytes, name.key));
    std::vector<int> data(10, 5);
    transfer *const t = make_transfer(0);
    t->rank = 1;
    t->data = data.data();
    t->bytes = name.bytes;
    ASSERT_EQ(all[0].put(*t, name, 0), MPI_SUCCESS);
    {
        const thence::fake::scarcity from_here;
        for (int i = 0; i < 1000; ++i) {
            all.run_once();
        }
    }
    std::vector<int> codes = all.quiesce();
    EXPECT_EQ(codes, (std::vector<int>{MPI_ERR_OTHER, MPI_ERR_NO_MEM}));
    EXPECT_EQ(there[0], -1);
    const bool is_told = std::ranges::any_of(
        all.failures, [](const auto &f) { return f.what == "a put is lost: there is no memory to receive it"; });
    EXPECT_TRUE(is_told);
}

// The process that gets is told, and all go on.
TEST(no_memory, to_answer_a_get_is_told) {
    engines all(2);
    std::vector<int> there(10, 7);
    thence_am_memory name{sizeof(int) * there.size(), 0, 1, 0};
    ASSERT_TRUE(all[1].memory().add(there.data(), name.bytes, name.key));
    std::vector<int> to(10, -1);
    int error = -1;
    for (const bool is_scarce : {true, false}) {
        transfer *const t = make_transfer(0);
        t->rank = 1;
        t->data = to.data();
        t->bytes = name.bytes;
        t->done = [](int code, void *data) { *static_cast<int *>(data) = code; };
        t->done_data = &error;
        ASSERT_EQ(all[0].get(*t, name, 0), MPI_SUCCESS);
        if (is_scarce) {
            const thence::fake::scarcity from_here;
            for (int i = 0; i < 1000; ++i) {
                all.run_once();
            }
        }
        EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, is_scarce ? MPI_ERR_NO_MEM : MPI_SUCCESS}));
        EXPECT_EQ(error == MPI_SUCCESS, !is_scarce);
    }
    EXPECT_EQ(to[0], 7);
}

} // namespace
