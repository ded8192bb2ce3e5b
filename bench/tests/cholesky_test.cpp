// SPDX-License-Identifier: BSD-3-Clause
// Both sides of the benchmark cholesky, on any number of ranks, compared with LAPACK on the whole matrix.
#include "cholesky/by_fork_join.hpp"
#include "cholesky/by_senders.hpp"
#include "cholesky/check.hpp"

#include <gtest/gtest.h>
#include <string>

namespace {

using cholesky::grid;
using cholesky::matrix;

int ranks() {
    int count = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    return count;
}

// The whole lower triangle in column-major order, on all ranks.
std::vector<double> gathered(const matrix &a) {
    const auto order = static_cast<std::size_t>(a.order());
    std::vector<double> whole(order * order);
    cholesky::for_each_element(a, [&](int row, int column, double value) {
        whole[static_cast<std::size_t>(column) * order + static_cast<std::size_t>(row)] = value;
    });
    MPI_Allreduce(MPI_IN_PLACE, whole.data(), static_cast<int>(whole.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return whole;
}

struct variant {
    const char *name;
    bool senders;
    int threads; // of the loops; for senders, in addition to the waiting thread
    thence::completion_mode mode = {};
};
const variant variants[] = {{"fork_join_1", false, 1},
                            {"fork_join_3", false, 3},
                            {"senders_alone", true, 0},
                            {"senders_2_workers", true, 2},
                            {"senders_inline_completion", true, 1, {.inline_completion = true}},
                            {"senders_mpi_pool", true, 1, {.mpi_pool = true, .inline_request = false}}};

void factorize(matrix &a, const variant &how, int times = 1) {
    cholesky::one_thread_per_kernel();
    const std::vector<double> given = a.elements();
    thence::pools pools({.workers = how.threads, .mode = how.mode});
    cholesky::by_fork_join fork_join(a, how.threads);
    cholesky::by_senders senders(a, pools);
    for (int i = 0; i < times; ++i) {
        a.restore(given);
        how.senders ? senders.run() : fork_join.run();
    }
}

class Cholesky : public testing::TestWithParam<variant> {};

void expect_factor_of_lapack(const grid &over, const variant &how, int order, int edge, int times = 1) {
    SCOPED_TRACE(std::to_string(over.rows()) + " x " + std::to_string(over.columns()) + " ranks, order " +
                 std::to_string(order) + ", tiles of " + std::to_string(edge));
    matrix a(over, order, edge);
    matrix l(over, order, edge);
    const auto value = [order](int row, int column) { return cholesky::dominant_diagonal(order, row, column); };
    a.fill(value);
    l.fill(value);
    factorize(l, how, times);
    EXPECT_LT(cholesky::residual(a, l), 1);

    std::vector<double> expected = gathered(a);
    const std::vector<double> got = gathered(l);
    ASSERT_EQ(cholesky::potrf(order, expected.data(), order), 0);
    double largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        largest = std::max(largest, std::abs(got[i] - expected[i]));
    }
    EXPECT_LT(largest, 1e-13 * order);
}

TEST_P(Cholesky, computes_the_factor_that_lapack_computes) {
    for (const int rows : {0, 1, ranks()}) {
        const grid over(MPI_COMM_WORLD, rows);
        expect_factor_of_lapack(over, GetParam(), 96, 16);
        expect_factor_of_lapack(over, GetParam(), 83, 16); // the last tiles are smaller
        expect_factor_of_lapack(over, GetParam(), 9, 16);  // less than one tile
        expect_factor_of_lapack(over, GetParam(), 33, 16); // the last tile has one element
    }
}

TEST_P(Cholesky, messages_beyond_the_eager_limit) {
    const grid over(MPI_COMM_WORLD);
    expect_factor_of_lapack(over, GetParam(), 300, 64);
}

TEST_P(Cholesky, can_be_run_again) {
    const grid over(MPI_COMM_WORLD);
    expect_factor_of_lapack(over, GetParam(), 64, 8, 20);
}

TEST_P(Cholesky, all_ranks_throw_if_the_matrix_is_not_positive_definite) {
    const grid over(MPI_COMM_WORLD);
    matrix a(over, 60, 8);
    a.fill([](int row, int column) { return row != column ? 0.0 : row < 41 ? 1.0 : -1.0; });
    try {
        factorize(a, GetParam());
        FAIL() << "nothing was thrown";
    } catch (const std::domain_error &error) {
        EXPECT_NE(std::string(error.what()).find("order 42 "), std::string::npos) << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(By, Cholesky, testing::ValuesIn(variants),
                         [](const testing::TestParamInfo<variant> &each) { return std::string(each.param.name); });

TEST(Residual, detects_one_wrong_element) {
    const grid over(MPI_COMM_WORLD);
    matrix a(over, 50, 8);
    a.fill([](int row, int column) { return cholesky::dominant_diagonal(50, row, column); });
    matrix l(over, 50, 8);
    l.restore(a.elements());
    factorize(l, variants[0]);
    EXPECT_LT(cholesky::residual(a, l), 1);
    if (over.mine(2, 1)) {
        l.tile(2, 1)[3] += 1e-9;
    }
    EXPECT_GT(cholesky::residual(a, l), 1);
    if (over.mine(2, 1)) {
        l.tile(2, 1)[3] = NAN;
    }
    EXPECT_FALSE(cholesky::residual(a, l) < 1);
}

} // namespace
