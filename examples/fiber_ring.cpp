// SPDX-License-Identifier: BSD-3-Clause
// Boost.Fiber: many fibers on one thread, each blocked on its own message of a ring. The scheduler polls MPI when no
// fiber is ready, so one thread per rank is sufficient, and the code reads as if each fiber called MPI_Recv.
// Usage: mpirun -n N fiber_ring (any N, no arguments). Link Boost::fiber.
#include <boost/fiber/algo/round_robin.hpp>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

#include <thence/fiber.hpp>

namespace {

constexpr int lanes = 32;
constexpr int length = 4096; // 16 KiB: above the eager limit of shared memory, so sends block, too

// Sends a vector once round the ring; each rank adds its number plus one to each element.
bool run_lane(int lane, int rank, int size, MPI_Request cr) {
    const int left = (rank + size - 1) % size;
    const int right = (rank + 1) % size;
    std::vector<int> data(length);
    std::iota(data.begin(), data.end(), lane);
    MPI_Request request;
    const auto send = [&] {
        for (int &value : data) {
            value += rank + 1;
        }
        MPI_Isend(data.data(), length, MPI_INT, right, lane, MPI_COMM_WORLD, &request);
        thence::fibers::block(request, cr);
    };
    std::vector<int> received(length);
    MPI_Request receive;
    MPI_Irecv(received.data(), length, MPI_INT, left, lane, MPI_COMM_WORLD, &receive);
    if (rank == 0) {
        send();
    }
    const MPI_Status status = thence::fibers::block(receive, cr);
    data.swap(received);
    if (rank != 0) {
        send();
    }
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    if (rank != 0) {
        return count == length;
    }
    const int added = size * (size + 1) / 2;
    for (int i = 0; i < length; ++i) {
        if (data[static_cast<std::size_t>(i)] != lane + i + added) {
            return false;
        }
    }
    return count == length;
}

} // namespace

int main(int argc, char **argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv); // one thread per rank, so no thread level is needed
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    boost::fibers::use_scheduling_algorithm<thence::fibers::polling<boost::fibers::algo::round_robin>>();
    int right_lanes = 0;
    {
        const thence::continuation_request cr;
        std::vector<boost::fibers::fiber> fibers;
        fibers.reserve(lanes);
        for (int lane = 0; lane < lanes; ++lane) {
            fibers.emplace_back([&, lane] { right_lanes += run_lane(lane, rank, size, cr); });
        }
        for (boost::fibers::fiber &fiber : fibers) {
            fiber.join();
        }
    }
    if (rank == 0) {
        std::cout << right_lanes << " of " << lanes << " lanes are right\n";
    }
    MPI_Finalize();
    return right_lanes == lanes ? EXIT_SUCCESS : EXIT_FAILURE;
}
