// SPDX-License-Identifier: BSD-3-Clause
// The table of thread communicators, and how the threads of a process free a communicator together.
#include "mpix/threadcomm/communicator.hpp"
#include "mpix/threadcomm/create.hpp"

#include "fake_mpi.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace {

using namespace thence::threadcomm;

// A handle is a pointer or an int.
MPI_Comm handle(std::uintptr_t number) {
    MPI_Comm made{};
    std::memcpy(&made, &number, sizeof made);
    return made;
}

class communicators : public ::testing::Test {
protected:
    communicators() { thence::fake::world.begin({}); }
    ~communicators() override { thence::fake::world.end(); }
};

} // namespace

// Any thread may look for any handle while another thread frees a communicator.
TEST_F(communicators, a_search_does_not_touch_those_of_other_handles) {
    root_state root(1);
    void *const page = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const MPI_Comm key = handle(0x7f0000001000);
    auto *const comm = new (page) communicator(key, root, 1, false, {0}, {0});
    ASSERT_TRUE(enter(*comm));
    EXPECT_EQ(find(key), comm);
    ASSERT_EQ(mprotect(page, 65536, PROT_NONE), 0);
    for (std::uintptr_t other = 0; other < 20'000; ++other) { // the search for some of these passes over its place
        ASSERT_EQ(find(handle(0x7f0000002000 + 64 * other)), nullptr);
    }
    EXPECT_EQ(find(key), comm);
    ASSERT_EQ(mprotect(page, 65536, PROT_READ | PROT_WRITE), 0);
    leave(*comm);
    EXPECT_EQ(find(key), nullptr);
    EXPECT_EQ(find(handle(0)), nullptr);
    comm->~communicator();
    munmap(page, 65536);
}

// All threads free it, and the last of them deletes it while the others leave the call.
TEST_F(communicators, all_threads_free_one_together) {
    constexpr int threads = 3;
    constexpr int rounds = 200;
    root_state root(threads);
    std::vector<std::unique_ptr<std::atomic<int>>> arrived;
    std::vector<MPI_Comm> handles;
    for (int i = 0; i < rounds; ++i) {
        MPI_Comm made = handle(0x10000 + 64 * static_cast<std::uintptr_t>(i));
        root.derived.fetch_add(1);
        ASSERT_TRUE(
            enter(*new communicator(made, root, static_cast<std::uint64_t>(i) + 1, false, {0, 0, 0}, {0, 1, 2})));
        handles.push_back(made);
        arrived.push_back(std::make_unique<std::atomic<int>>(0));
    }
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            ASSERT_TRUE(may_join()); // as start() does: it makes what join() fills
            join(root, t);
            for (std::size_t i = 0; i < rounds; ++i) {
                MPI_Comm mine = handles[i];
                communicator *const comm = find(mine);
                ASSERT_NE(comm, nullptr);
                for (++*arrived[i]; *arrived[i] != threads;) {
                    std::this_thread::yield();
                }
                EXPECT_EQ(thence::threadcomm::free("free", *comm, &mine), MPI_SUCCESS);
                EXPECT_EQ(mine, MPI_COMM_NULL);
            }
            part(root);
        });
    }
    for (std::thread &each : all) {
        each.join();
    }
    EXPECT_EQ(root.derived, 0);
    EXPECT_TRUE(root.by_context.empty());
}
