// SPDX-License-Identifier: BSD-3-Clause
// Futures: a prefix sum over the ranks in log2(N) rounds. Each round's messages are a future. Work that does
// not need them continues, and thence::get() makes progress while it waits. A truncated message is an exception.
// Usage: mpirun -n N future_scan (any N, no arguments). Link thence-core or thence.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <numeric>
#include <vector>

#include <thence/future.hpp>

namespace {

constexpr int length = 1000;
using vector = std::vector<long>;

vector contribution(int rank) {
    vector values(length);
    std::iota(values.begin(), values.end(), 1000L * rank);
    return values;
}

// Hillis-Steele: in round d each rank adds what the rank d to its left has summed so far.
vector prefix_sum(int rank, int size, MPI_Request cr) {
    vector sum = contribution(rank);
    for (int distance = 1; distance < size; distance *= 2) {
        std::vector<MPI_Request> requests;
        vector from_left(rank >= distance ? length : 0);
        if (rank >= distance) {
            MPI_Irecv(from_left.data(), length, MPI_LONG, rank - distance, distance, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        if (rank + distance < size) {
            MPI_Isend(sum.data(), length, MPI_LONG, rank + distance, distance, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        std::future<std::vector<MPI_Status>> messages = thence::as_future(requests, cr);
        const vector before = sum; // does not depend on the messages, so it overlaps with them
        thence::get(messages);
        for (std::size_t i = 0; i < from_left.size(); ++i) {
            sum[i] = before[i] + from_left[i];
        }
    }
    return sum;
}

// The buffer of the right neighbour is too small. Its future throws an exception with MPI's code, class and text.
bool truncation_is_an_exception(int rank, int size, MPI_Request cr) {
    if (size < 2 || rank > 1) {
        return true;
    }
    const int big[2] = {1, 2};
    int small = 0;
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(big, 2, MPI_INT, 1, 99, MPI_COMM_WORLD, &request);
        thence::get(thence::as_future(request, cr));
        return true;
    }
    MPI_Irecv(&small, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
    try {
        thence::get(thence::as_future(request, cr));
    } catch (const thence::error &e) {
        std::cout << "as expected: " << e.what() << '\n';
        return e.error_class() == MPI_ERR_TRUNCATE;
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return()); // errors become exceptions, no abort
    bool ok = false;
    try {
        const thence::continuation_request cr;
        vector expected(length, 0);
        for (int r = 0; r <= rank; ++r) {
            const vector values = contribution(r);
            std::transform(values.begin(), values.end(), expected.begin(), expected.begin(), std::plus<>());
        }
        ok = prefix_sum(rank, size, cr) == expected;
        ok = truncation_is_an_exception(rank, size, cr) && ok;
    } catch (const thence::error &e) {
        std::cerr << "rank " << rank << ": " << e.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, e.code());
    }
    std::cout << "rank " << rank << (ok ? ": correct\n" : ": wrong\n");
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
