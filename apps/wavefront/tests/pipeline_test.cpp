// SPDX-License-Identifier: BSD-3-Clause
// Pipeline::check() names the first wrong value. The parts of two ranks are in one process, and the test delivers the
// messages.
#include "wavefront/pipeline.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace {

using wavefront::Pipeline;

wavefront::Settings settings_of(int iterations) {
    wavefront::Settings settings;
    settings.columns = 11; // of which the first is given: 5 for each rank
    settings.lines = 8;
    settings.per_message = 3;
    settings.iterations = iterations;
    return settings;
}

// `first` is the part where the grid begins. `change` may change a message that has arrived: it gets step and memory.
template <class Change> void compute(Pipeline &first, Pipeline &second, Change change) {
    for (int s = 0; s < first.steps(); ++s) {
        if (const auto corner = first.needed(s); corner.count > 0) {
            *first.incoming(s) = *second.outgoing(s - 1);
        }
        first.compute();
        ASSERT_EQ(first.made(s).count, second.needed(s).count);
        std::copy_n(first.outgoing(s), first.made(s).count, second.incoming(s));
        change(s, second.incoming(s));
        second.compute();
    }
}

TEST(Pipeline, right_values_are_right_in_both_directions) {
    const wavefront::Settings settings = settings_of(3);
    for (int grid = 0; grid < 2; ++grid) {
        Pipeline parts[2] = {{settings, grid, 0, 2}, {settings, grid, 1, 2}};
        compute(parts[grid], parts[1 - grid], [](int, double *) {});
        EXPECT_EQ(parts[0].check(), "");
        EXPECT_EQ(parts[1].check(), "");
    }
}

TEST(Pipeline, a_wrong_value_is_named_with_its_place_and_how_far_it_is_off) {
    const wavefront::Settings settings = settings_of(1);
    Pipeline parts[2] = {{settings, 0, 0, 2}, {settings, 0, 1, 2}};
    compute(parts[0], parts[1], [](int step, double *lines) {
        if (step == 1) { // lines 4 to 6
            lines[1] += 0x1p-40;
        }
    });
    EXPECT_EQ(parts[0].check(), "");
    EXPECT_EQ(parts[1].check(),
              "grid 0, line 5, column 6: found 11.000000000000909, expected 11, difference 9.0949470177292824e-13");
}

TEST(Pipeline, a_value_that_is_no_number_is_wrong) {
    const wavefront::Settings settings = settings_of(1);
    Pipeline parts[2] = {{settings, 1, 0, 2}, {settings, 1, 1, 2}};
    compute(parts[1], parts[0], [](int step, double *lines) {
        if (step == 0) {
            lines[0] = std::numeric_limits<double>::quiet_NaN();
        }
    });
    EXPECT_EQ(parts[1].check(), "");
    EXPECT_EQ(parts[0].check(), "grid 1, line 1, column 6: found nan, expected 7, difference nan");
}

} // namespace
