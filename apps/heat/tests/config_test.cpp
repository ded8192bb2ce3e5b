// SPDX-License-Identifier: BSD-3-Clause
#include "config.hpp"

#include <gtest/gtest.h>

namespace {

std::string error_of(std::string_view text) {
    try {
        heat::parse_config(text, "plate.cfg");
    } catch (const heat::ConfigError &e) {
        return e.what();
    }
    return "no error";
}

TEST(Config, reads_every_key) {
    const auto c =
        heat::parse_config("# a comment\n"
                           "size = 30 x 40\r\n"
                           "iterations=7\n\n"
                           "  block =  5   # and another\n"
                           "initial = -1.5\nborder.top = 1\nborder.bottom = 2\nborder.left = 3\nborder.right = 4e1\n"
                           "source = 0.25 0.5 0.1 100\nsource = 1\t0 0.2 -20\n"
                           "picture = a b.pgm\npicture.black = 5\npicture.white = 0",
                           "plate.cfg");
    EXPECT_EQ(c.rows, 30);
    EXPECT_EQ(c.cols, 40);
    EXPECT_EQ(c.iterations, 7);
    EXPECT_EQ(c.block, 5);
    EXPECT_EQ(c.initial, -1.5);
    EXPECT_EQ(c.top, 1);
    EXPECT_EQ(c.bottom, 2);
    EXPECT_EQ(c.left, 3);
    EXPECT_EQ(c.right, 40);
    ASSERT_EQ(c.sources.size(), 2u);
    EXPECT_EQ(c.sources[1].x, 1);
    EXPECT_EQ(c.sources[1].y, 0);
    EXPECT_EQ(c.sources[1].radius, 0.2);
    EXPECT_EQ(c.sources[1].temperature, -20);
    EXPECT_EQ(c.picture, "a b.pgm");
    EXPECT_EQ(c.black, 5);
    EXPECT_EQ(c.white, 0);
}

TEST(Config, empty_text_is_all_defaults) {
    EXPECT_EQ(heat::parse_config("", "plate.cfg").rows, heat::Config{}.rows);
}

TEST(Config, errors_name_file_and_line_and_cause) {
    EXPECT_EQ(error_of("size = 8\n\nnonsense\n"), "plate.cfg:3: expected key = value, found 'nonsense'");
    EXPECT_EQ(error_of("itertions = 8"), "plate.cfg:1: unknown key 'itertions'; did you mean 'iterations'?");
    EXPECT_EQ(error_of("block ="), "plate.cfg:1: the key 'block' has no value");
    EXPECT_EQ(error_of("block = 4\nblock = 4"), "plate.cfg:2: the key 'block' is set already in line 1");
}

TEST(Config, a_key_unlike_any_other_lists_them_all) {
    EXPECT_NE(error_of("temperature_of_the_sun = 5778").find("the keys are block, border.bottom"), std::string::npos);
}

TEST(Config, numbers_are_whole_or_refused) {
    EXPECT_EQ(error_of("block = 4.5"), "plate.cfg:1: '4.5' is not a whole number");
    EXPECT_EQ(error_of("block = 4 5"), "plate.cfg:1: '4 5' is not a whole number");
    EXPECT_EQ(error_of("block = 99999999999"), "plate.cfg:1: '99999999999' is not a whole number");
    EXPECT_EQ(error_of("initial = nan"), "plate.cfg:1: 'nan' is not a number");
    EXPECT_EQ(error_of("initial = inf"), "plate.cfg:1: 'inf' is not a number");
    EXPECT_EQ(error_of("initial = 1e999"), "plate.cfg:1: '1e999' is not a number");
}

TEST(Config, values_out_of_range_are_refused_in_their_line) {
    EXPECT_EQ(error_of("\nblock = 0"), "plate.cfg:2: block is 0; it must be at least 1");
    EXPECT_EQ(error_of("iterations = -3"), "plate.cfg:1: iterations is -3; it must be at least 1");
    EXPECT_NE(error_of("size = 0 x 5").find("plate.cfg:1: size 0 x 5 is out of range"), std::string::npos);
    EXPECT_NE(error_of("size = 4 x").find("plate.cfg:1: '4 x' is not a size"), std::string::npos);
    EXPECT_NE(error_of("size = 4 x 5 x 6").find("is not a size"), std::string::npos);
}

TEST(Config, sources_are_checked) {
    EXPECT_EQ(error_of("source = 1 2 3"), "plate.cfg:1: a source has 4 numbers, X Y RADIUS TEMPERATURE; here are 3");
    EXPECT_EQ(error_of("source = 0 0 hot 3"), "plate.cfg:1: 'hot' is not a number");
    EXPECT_EQ(error_of("source = 0 1.5 0.1 3"),
              "plate.cfg:1: X and Y of a source are fractions of the plate, between 0 and 1");
    EXPECT_NE(error_of("source = 0 0 0 3").find("plate.cfg:1: RADIUS of a source"), std::string::npos);
}

TEST(Config, a_picture_needs_contrast) {
    EXPECT_NE(error_of("picture.black = 100").find("no contrast"), std::string::npos);
    EXPECT_EQ(heat::parse_config("picture.black = 100\niterations = 2\npicture.white = 0", "plate.cfg").black, 100);
}

TEST(Config, a_size_is_rows_by_columns_or_one_number) {
    EXPECT_EQ(heat::parse_size("3x4").value().cols, 4);
    EXPECT_EQ(heat::parse_size("3 X 4").value().rows, 3);
    EXPECT_EQ(heat::parse_size("7").value().cols, 7);
    for (const char *bad : {"", "x", "3x", "x3", "3,4", "3x4x5", "a"}) {
        EXPECT_FALSE(heat::parse_size(bad)) << bad;
    }
}

} // namespace
