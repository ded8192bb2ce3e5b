// SPDX-License-Identifier: BSD-3-Clause
// Runs GoogleTest on every rank of an MPI program with threads. Rank 0 reports; other ranks only what fails.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <iostream>

namespace {

class failures_only : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult &result) override {
        if (result.failed()) {
            std::cerr << "rank " << rank() << ": " << (result.file_name() == nullptr ? "?" : result.file_name()) << ':'
                      << result.line_number() << ": " << result.message() << '\n';
        }
    }
    static int rank() {
        int value = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &value);
        return value;
    }
};

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        std::cerr << "these tests need an MPI with MPI_THREAD_MULTIPLE\n";
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    testing::InitGoogleTest(&argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new failures_only);
    }
    const int result = RUN_ALL_TESTS();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
