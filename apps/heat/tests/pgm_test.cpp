// SPDX-License-Identifier: BSD-3-Clause
#include "pgm.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::string_view_literals;

std::string error_of(std::string_view bytes) {
    try {
        heat::parse_pgm(bytes, "a.pgm");
    } catch (const heat::PictureError &e) {
        return e.what();
    }
    return "no error";
}

TEST(Pgm, reads_plain_pictures_with_comments) {
    const auto p = heat::parse_pgm("P2 # first\n# second\n3 2\n10\n0 5 10\n10 # here too\n5 0\n", "a.pgm");
    EXPECT_EQ(p.width, 3);
    EXPECT_EQ(p.height, 2);
    EXPECT_EQ(p.grey, (std::vector<float>{0, 0.5F, 1, 1, 0.5F, 0}));
}

TEST(Pgm, reads_binary_pictures) {
    const auto p = heat::parse_pgm("P5\n2 2\n255\n\x00\xff\x33\n"sv, "a.pgm"); // a pixel may look like a line end
    EXPECT_EQ(p.grey, (std::vector<float>{0, 1, 0.2F, 10.0F / 255}));
}

TEST(Pgm, reads_16_bits_most_significant_byte_first) {
    const auto p = heat::parse_pgm("P5 2 1 256 \x01\x00\x00\x40"sv, "a.pgm");
    EXPECT_EQ(p.grey, (std::vector<float>{1, 0.25F}));
}

TEST(Pgm, refuses_what_is_no_picture) {
    EXPECT_NE(error_of("").find("a.pgm: not a PGM picture"), std::string::npos);
    EXPECT_NE(error_of("P6 1 1 255 abc").find("not a PGM picture"), std::string::npos);
    EXPECT_EQ(error_of("P5 2"), "a.pgm: the file ends where the height should be");
    EXPECT_EQ(error_of("P5 2 two 255 "), "a.pgm: the height is not a number");
    EXPECT_EQ(error_of("P5 -2 2 255 "), "a.pgm: the width is not a number");
    EXPECT_EQ(error_of("P5 0 2 255 "), "a.pgm: the picture is empty");
    EXPECT_EQ(error_of("P5 1 1 0 a"), "a.pgm: the maximal value is 0; it lies between 1 and 65535");
    EXPECT_EQ(error_of("P5 1 1 65536 a"), "a.pgm: the maximal value is 65536; it lies between 1 and 65535");
    EXPECT_EQ(error_of("P5 1 1 99999999999999999999 a"), "a.pgm: the maximal value is too large");
    EXPECT_EQ(error_of("P5 1 1 255"), "a.pgm: one white space must follow the maximal value");
}

TEST(Pgm, refuses_missing_pixels_before_it_allocates_them) {
    EXPECT_EQ(error_of("P5 2 2 255 abc"), "a.pgm: the file is too short: 4 bytes of pixels expected, 3 found");
    EXPECT_EQ(error_of("P5 1 1 256 a"), "a.pgm: the file is too short: 2 bytes of pixels expected, 1 found");
    EXPECT_NE(error_of("P5 1000000000 1000000000 255 a").find("too short"), std::string::npos);
    EXPECT_EQ(error_of("P2 1000000000 1000000000 255 1"),
              "a.pgm: the file is too short for 1000000000000000000 pixels");
    EXPECT_EQ(error_of("P2 2 1 255 100 # no more"), "a.pgm: the file ends where a pixel should be");
}

TEST(Pgm, refuses_pixels_above_the_maximum) {
    EXPECT_EQ(error_of("P2 2 1 10 3 11"), "a.pgm: pixel 1 is 11, above the maximal value 10");
    EXPECT_EQ(error_of("P5 1 1 10 \x0b"), "a.pgm: pixel 0 is 11, above the maximal value 10");
    EXPECT_EQ(error_of("P2 1 1 10 x "), "a.pgm: a pixel is not a number");
}

TEST(Pgm, brightness_is_linear_between_pixel_centres) {
    const auto p = heat::parse_pgm("P2 2 2 1 0 1 0 1", "a.pgm");
    EXPECT_EQ(p.at(0, 0), 0);
    EXPECT_EQ(p.at(0.25, 0.7), 0);
    EXPECT_DOUBLE_EQ(p.at(0.5, 0.5), 0.5);
    EXPECT_DOUBLE_EQ(p.at(0.375, 1), 0.25);
    EXPECT_EQ(p.at(1, 1), 1);
}

} // namespace
