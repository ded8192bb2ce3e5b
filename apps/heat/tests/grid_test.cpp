// SPDX-License-Identifier: BSD-3-Clause
#include "grid.hpp"

#include <gtest/gtest.h>

namespace {

using heat::Band;
using heat::Config;
using heat::Partition;

Config plate(int rows, int cols, int block) {
    Config c;
    c.rows = rows, c.cols = cols, c.block = block;
    c.initial = 10, c.top = 1, c.bottom = 2, c.left = 3, c.right = 4;
    return c;
}

TEST(Partition, bands_follow_one_another_and_none_is_empty) {
    for (const int rows : {1, 7, 16, 17, 100, 129}) {
        for (const int block : {1, 3, 16, 200}) {
            for (int ranks = 1; ranks <= (rows + block - 1) / block && ranks <= 9; ++ranks) {
                const Partition p(plate(rows, 5, block), ranks);
                int next = 0;
                for (int r = 0; r < ranks; ++r) {
                    EXPECT_EQ(p.first_row(r), next);
                    EXPECT_GT(p.rows_of(r), 0);
                    EXPECT_EQ((p.rows_of(r) + block - 1) / block, p.block_rows(r));
                    next += p.rows_of(r);
                }
                EXPECT_EQ(next, rows) << rows << " rows, blocks of " << block << ", " << ranks << " ranks";
            }
        }
    }
}

TEST(Partition, too_many_ranks_are_refused_with_a_block_size_that_fits) {
    try {
        Partition(plate(100, 5, 50), 4);
        FAIL() << "accepted";
    } catch (const heat::ConfigError &e) {
        EXPECT_NE(std::string(e.what()).find("--block 25"), std::string::npos) << e.what();
    }
    EXPECT_NO_THROW(Partition(plate(100, 5, 25), 4));
}

TEST(Band, starts_with_border_and_initial_temperature) {
    const Band b(plate(2, 3, 4), {}, 0, 2);
    EXPECT_EQ(b.row(-1)[1], 1);
    EXPECT_EQ(b.row(2)[1], 2);
    EXPECT_EQ(b.row(0)[-1], 3);
    EXPECT_EQ(b.row(1)[3], 4);
    EXPECT_EQ(b.row(1)[2], 10);
}

TEST(Band, a_sweep_takes_new_values_above_and_left_old_values_below_and_right) {
    Band b(plate(2, 2, 4), {}, 0, 2);
    b.sweep({0, 2, 0, 2});
    const double a00 = (1 + 3 + 10 + 10) / 4.0, a01 = (1 + a00 + 4 + 10) / 4.0;
    const double a10 = (a00 + 3 + 10 + 2) / 4.0, a11 = (a01 + a10 + 4 + 2) / 4.0;
    EXPECT_EQ(b.row(0)[0], a00);
    EXPECT_EQ(b.row(0)[1], a01);
    EXPECT_EQ(b.row(1)[0], a10);
    EXPECT_EQ(b.row(1)[1], a11);
}

TEST(Band, sources_keep_their_temperature_and_the_last_lies_on_top) {
    Config c = plate(20, 20, 8);
    c.sources = {{0.5, 0.5, 0.3, 90}, {0.5, 0.5, 0.1, -5}};
    Band b(c, {}, 0, 20);
    for (int t = 0; t < 5; ++t) {
        b.sweep({0, 20, 0, 20});
    }
    EXPECT_EQ(b.row(10)[10], -5);
    EXPECT_EQ(b.row(10)[6], 90);
    EXPECT_EQ(b.row(6)[10], 90);
    EXPECT_NE(b.row(10)[2], 10); // the plate around it does not
}

TEST(Band, blocks_in_any_allowed_order_equal_one_sweep_bit_by_bit) {
    Config c = plate(37, 29, 8);
    c.sources = {{0.3, 0.4, 0.2, 77.7}, {0.9, 0.9, 0.15, -13.3}};
    Band whole(c, {}, 0, 37), cut(c, {}, 0, 37);
    for (int t = 0; t < 3; ++t) {
        whole.sweep({0, 37, 0, 29});
        for (int d = 0; d < 9; ++d) { // anti-diagonals, each from below
            for (int i = 4; i >= 0; --i) {
                if (const int k = d - i; k >= 0 && k < 4) {
                    cut.sweep({8 * i, std::min(8 * i + 8, 37), 8 * k, std::min(8 * k + 8, 29)});
                }
            }
        }
    }
    for (int i = 0; i < 37; ++i) {
        for (int j = 0; j < 29; ++j) {
            ASSERT_EQ(whole.row(i)[j], cut.row(i)[j]) << i << ", " << j;
        }
    }
}

TEST(Band, a_band_starts_as_that_part_of_the_plate_with_its_halo) {
    Config c = plate(40, 20, 8);
    c.sources = {{0.5, 0.5, 0.3, 90}};
    const Band whole(c, {}, 0, 40), part(c, {}, 16, 8);
    for (int i = -1; i <= 8; ++i) {
        for (int j = -1; j <= 20; ++j) {
            ASSERT_EQ(part.row(i)[j], whole.row(16 + i)[j]) << i << ", " << j;
        }
    }
}

TEST(Band, a_picture_fills_the_plate) {
    Config c = plate(4, 8, 4);
    c.black = 100, c.white = 0;
    const auto p = heat::parse_pgm("P2 2 1 1 0 1", "a.pgm");
    const Band b(c, p, 0, 4);
    EXPECT_EQ(b.row(0)[0], 100);
    EXPECT_EQ(b.row(3)[7], 0);
    EXPECT_EQ(b.row(-1)[3], 1); // the border stays
}

} // namespace
