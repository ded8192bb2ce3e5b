// SPDX-License-Identifier: BSD-3-Clause
// Plate::check() names the first wrong value. The bands of two ranks are in one process, and the test delivers the
// messages.
#include "plates/plate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>

namespace {

using plates::Plate;

plates::Settings settings_of(int iterations) {
    plates::Settings settings;
    settings.config.rows = 20;
    settings.config.cols = 25;
    settings.config.block = 10;
    settings.config.iterations = iterations;
    settings.config.top = 100;
    settings.config.left = 50;
    return settings;
}

// Computes both bands of plate 1. `change` may change a piece that has arrived: it gets step, side and memory.
template <class Change> void compute(Plate (&bands)[2], Change change) {
    const auto deliver = [&](Plate &from, Plate &to, Plate::Side side, int made, int needed) {
        const Plate::Piece out = from.made(made, side == Plate::above ? Plate::below : Plate::above);
        const Plate::Piece in = to.needed(needed, side);
        ASSERT_EQ(out.count, in.count);
        std::copy_n(out.data, out.count, in.data);
        change(needed, side, in.data);
    };
    // The lower band is one iteration behind, so that every piece that a step needs is made before.
    const int pieces = bands[0].pieces(), steps = bands[0].steps();
    for (int s = 0; s < steps; ++s) {
        if (s >= pieces) {
            deliver(bands[1], bands[0], Plate::below, s - pieces, s);
        }
        bands[0].compute();
        deliver(bands[0], bands[1], Plate::above, s, s);
        bands[1].compute();
    }
}

TEST(Plate, right_values_are_right) {
    const plates::Settings settings = settings_of(4);
    Plate bands[2] = {{settings, 1, 0, 2}, {settings, 1, 1, 2}};
    compute(bands, [](int, Plate::Side, double *) {});
    EXPECT_EQ(bands[0].check(), "");
    EXPECT_EQ(bands[1].check(), "");
}

TEST(Plate, a_wrong_value_is_named_with_its_place_and_how_far_it_is_off) {
    const plates::Settings settings = settings_of(4);
    Plate bands[2] = {{settings, 1, 0, 2}, {settings, 1, 1, 2}};
    const int last = 3 * bands[0].pieces() + 1; // columns 10 to 19 in the last iteration
    compute(bands, [&](int step, Plate::Side side, double *piece) {
        if (side == Plate::above && step == last) {
            piece[7] = std::nextafter(piece[7], 1000) + 0x1p-40;
        }
    });
    EXPECT_EQ(bands[0].check(), "");
    const std::string text = bands[1].check();
    int plate = -1, row = -1, column = -1;
    double found = 0, expected = 0, difference = 0;
    ASSERT_EQ(std::sscanf(text.c_str(), "plate %d, row %d, column %d: found %lf, expected %lf, difference %lf", &plate,
                          &row, &column, &found, &expected, &difference),
              6)
        << text;
    EXPECT_EQ(plate, 1);
    EXPECT_EQ(row, 10); // the first of the second band
    EXPECT_EQ(column, 17);
    // A cell becomes the mean of its four neighbours. All digits are there: the numbers are read back as they were.
    EXPECT_NEAR(difference, 0x1p-42, 0x1p-46);
    EXPECT_EQ(difference, found - expected);
    EXPECT_GT(expected, 0);
}

TEST(Plate, a_value_that_is_no_number_is_wrong) {
    const plates::Settings settings = settings_of(1);
    Plate bands[2] = {{settings, 0, 0, 2}, {settings, 0, 1, 2}};
    compute(bands, [](int step, Plate::Side, double *piece) {
        if (step == 2) {
            piece[0] = std::numeric_limits<double>::quiet_NaN();
        }
    });
    const std::string text = bands[1].check();
    EXPECT_EQ(text.find("plate 0, row 10, column 20: found nan, expected "), 0U) << text;
}

} // namespace
