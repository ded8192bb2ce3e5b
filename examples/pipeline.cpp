// SPDX-License-Identifier: BSD-3-Clause
// A pipeline over the processes with back-pressure. Each stage holds a few items at a time. It sends an item with a
// synchronous send, which completes when the next stage has received it. So a fast producer waits for a slow consumer
// and does not fill its memory.
#include <thence/mpi.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

namespace ex = thence::ex;

namespace {

constexpr int items = 200;
constexpr int lanes = 4; // the largest number of items that a stage holds
constexpr std::size_t length = 256;

struct stage {
    const thence::communicator &comm;
    int here = comm.rank();
    int last = comm.size() - 1;
    int held = 0;
    int most_held = 0;
    long sum = 0;

    // One lane processes every lanes-th item.
    ex::task<> lane(int first) {
        for (int item = first; item < items; item += lanes) {
            std::vector<int> block(length, item);
            if (here > 0) {
                co_await comm.recv(block, here - 1, item);
            }
            most_held = std::max(most_held, ++held);
            for (int &value : block) {
                value += 1; // the work of a stage
            }
            if (here < last) {
                co_await comm.ssend(block, here + 1, item);
            } else {
                sum += std::accumulate(block.begin(), block.end(), 0L);
            }
            --held;
        }
    }
    ex::task<> run() {
        static_assert(lanes == 4);
        co_await ex::when_all(lane(0), lane(1), lane(2), lane(3));
    }
};

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = false;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        stage mine{world};
        thence::sync_wait(mine.run());
        const long expected =
            static_cast<long>(length) * (items * (items - 1L) / 2 + static_cast<long>(items) * world.size());
        ok = mine.most_held <= lanes && (mine.here != mine.last || mine.sum == expected);
        std::cout << "stage " << mine.here << ": at most " << mine.most_held << " items held"
                  << (ok ? "\n" : ", wrong result\n");
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
