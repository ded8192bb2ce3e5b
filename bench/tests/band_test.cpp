// SPDX-License-Identifier: BSD-3-Clause
// Both sides of the benchmark band_pipeline, on any number of ranks, compute bit for bit what a single station
// computes. That matrix has the eigenvalues of the band matrix: the number of eigenvalues below some points is
// compared, which Sylvester's law of inertia gives.
#include "band/by_blocking.hpp"
#include "band/by_senders.hpp"

#include <gtest/gtest.h>
#include <string>

namespace {

using band::problem;
using band::tridiagonal;

// The number of eigenvalues of T below x, which is the number of negative pivots of T - x.
int below(const tridiagonal &t, double x) {
    int count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
        pivot = t.diagonal[i] - x - (i == 0 ? 0 : t.below[i - 1] * t.below[i - 1] / pivot);
        count += pivot < 0 ? 1 : 0;
    }
    return count;
}
// The same for the band matrix, by Gaussian elimination without pivoting.
int below(const problem &of, double x) {
    const auto order = static_cast<std::size_t>(of.order);
    std::vector<double> a(order * order);
    for (int j = 0; j < of.order; ++j) {
        for (int i = j; i < of.order; ++i) {
            a[static_cast<std::size_t>(j) * order + static_cast<std::size_t>(i)] = of.element(i, j) - (i == j ? x : 0);
        }
    }
    int count = 0;
    for (std::size_t k = 0; k < order; ++k) {
        const double pivot = a[k * order + k];
        count += pivot < 0 ? 1 : 0;
        for (std::size_t j = k + 1; j < order; ++j) {
            for (std::size_t i = j; i < order; ++i) {
                a[j * order + i] -= a[k * order + i] * a[k * order + j] / pivot;
            }
        }
    }
    return count;
}

const problem problems[] = {{3, 2, 1}, {5, 4, 2}, {40, 2, 1}, {61, 5, 1}, {64, 8, 2}, {90, 7, 3}, {50, 60, 1}};

struct variant {
    const char *name;
    int workers;
    thence::completion_mode mode = {};
};
const variant variants[] = {
    {"alone", 0},
    {"workers", 2},
    {"inline_completion", 0, {.inline_completion = true}},
    {"yield_while", 0, {.method = thence::completion_method::yield_while}},
    {"mpi_pool", 1, {.method = thence::completion_method::new_task, .mpi_pool = true, .inline_request = false}}};

class Band : public testing::TestWithParam<problem> {};

TEST_P(Band, keeps_the_eigenvalues) {
    const tridiagonal found = band::reduce_alone(GetParam());
    ASSERT_EQ(found.diagonal.size(), static_cast<std::size_t>(GetParam().order));
    ASSERT_EQ(found.below.size() + 1, found.diagonal.size());
    for (int i = 0; i <= 82; ++i) {
        const double x = -3 + 0.0731 * i;
        EXPECT_EQ(below(found, x), below(GetParam(), x)) << "eigenvalues below " << x;
    }
}

TEST_P(Band, blocking_receives_compute_what_one_station_computes) {
    const band::ranks over(GetParam());
    const tridiagonal found = band::by_blocking(over).run();
    EXPECT_TRUE(over.rank() != 0 || found == band::reduce_alone(GetParam()));
}

TEST_P(Band, senders_compute_what_one_station_computes) {
    const band::ranks over(GetParam());
    for (const variant &how : variants) {
        SCOPED_TRACE(how.name);
        thence::pools pools({.workers = how.workers});
        const tridiagonal found = band::by_senders(over, pools, how.mode).run();
        EXPECT_TRUE(over.rank() != 0 || found == band::reduce_alone(GetParam()));
    }
}

// Columns of 2 x 260 doubles exceed the eager limit, so sends wait for their receives.
class BandBeyondTheEagerLimit : public testing::TestWithParam<problem> {};

TEST_P(BandBeyondTheEagerLimit, computes_the_same) {
    const problem large = GetParam();
    const band::ranks over(large);
    thence::pools pools({.workers = 0});
    const tridiagonal blocking = band::by_blocking(over).run();
    const tridiagonal senders = band::by_senders(over, pools, {}).run();
    if (over.rank() == 0) {
        const tridiagonal alone = band::reduce_alone(large);
        EXPECT_TRUE(blocking == alone);
        EXPECT_TRUE(senders == alone);
    }
}

std::string name_of(const testing::TestParamInfo<problem> &each) {
    const problem &of = each.param;
    std::string name = "order_";
    name.append(std::to_string(of.order)).append("_width_").append(std::to_string(of.width));
    return name.append("_steps_").append(std::to_string(of.steps));
}

INSTANTIATE_TEST_SUITE_P(Of, Band, testing::ValuesIn(problems), name_of);
INSTANTIATE_TEST_SUITE_P(Of, BandBeyondTheEagerLimit, testing::Values(problem{700, 280, 1}, problem{1100, 260, 2}),
                         name_of);

} // namespace
