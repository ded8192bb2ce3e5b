// SPDX-License-Identifier: BSD-3-Clause
// The check of results: each value of each of the three results of a task counts, and the text says which one is wrong.
#include "offload/workload.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace {

using offload::Cells;
using offload::CellTask;

offload::Settings small() {
    offload::Settings settings;
    settings.cells = 3, settings.steps = 2, settings.values = 64, settings.task_seconds = 1e-6;
    return settings;
}

void compute(Cells &cells, int step) {
    for (int c = 0; c < cells.count(); ++c) {
        CellTask::run(cells.metadata(step, c), cells.input(c), cells.results(c));
    }
}

TEST(Check, right_results_are_accepted_and_are_the_next_input) {
    const offload::Settings settings = small();
    Cells cells(settings, 1, 2, 1e7);
    const std::vector<std::byte> before(cells.input(0).begin(), cells.input(0).end());
    for (int step = 0; step < settings.steps; ++step) {
        compute(cells, step);
        EXPECT_EQ(cells.advance(step), "");
    }
    EXPECT_NE(std::memcmp(before.data(), cells.input(0).data(), before.size()), 0);
}

TEST(Check, one_wrong_value_of_any_result_is_named) {
    const offload::Settings settings = small();
    // The values of a face are every eighth ones.
    const struct {
        std::size_t result, place, named;
    } damages[] = {{0, 0, 0}, {0, 63, 63}, {1, 0, 0}, {1, 7, 56}, {2, 0, 7}, {2, 7, 63}};
    for (const auto &damage : damages) {
        for (const unsigned bit : {0U, 63U}) {
            Cells cells(settings, 0, 2, 1e7);
            compute(cells, 0);
            std::byte *const at = cells.results(2)[damage.result].data() + damage.place * sizeof(std::uint64_t);
            std::uint64_t value = 0;
            std::memcpy(&value, at, sizeof value);
            value ^= std::uint64_t{1} << bit;
            std::memcpy(at, &value, sizeof value);
            EXPECT_EQ(cells.advance(0), "step 0, cell 2, value " + std::to_string(damage.named));
        }
    }
}

TEST(Check, a_result_that_has_not_come_is_named) {
    const offload::Settings settings = small();
    Cells cells(settings, 0, 2, 1e7);
    compute(cells, 0);
    ASSERT_EQ(cells.advance(0), "");
    compute(cells, 1);
    const auto missing = cells.results(1)[0];
    std::fill(missing.begin(), missing.end(), std::byte{});
    EXPECT_EQ(cells.advance(1), "step 1, cell 1, value 0");
}

TEST(Unevenness, all_members_are_uneven_and_all_move_on) {
    const offload::Unevenness uneven{3, true, {0, 2}, 10};
    const auto factors = [&](int step) {
        return std::vector<double>{uneven.factor_of(0, step, 4), uneven.factor_of(1, step, 4),
                                   uneven.factor_of(2, step, 4), uneven.factor_of(3, step, 4)};
    };
    EXPECT_EQ(factors(9), (std::vector<double>{3, 1, 3, 1}));
    EXPECT_EQ(factors(10), (std::vector<double>{1, 3, 1, 3}));
    EXPECT_EQ(factors(29), (std::vector<double>{3, 1, 3, 1}));
    const offload::Unevenness even;
    EXPECT_EQ(even.factor_of(0, 5, 4), 1);
}

} // namespace
