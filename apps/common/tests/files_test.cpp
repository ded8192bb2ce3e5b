// SPDX-License-Identifier: BSD-3-Clause
// The parts of apps/common that need no MPI: imbalance, JSON, NumPy files, wrong values.
#include "common/imbalance.hpp"
#include "common/input_error.hpp"
#include "common/json_file.hpp"
#include "common/npy.hpp"
#include "common/wrong_value.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>

namespace {

using apps::Imbalance;
using apps::Json;
using apps::parse_imbalance;

std::string temporary(const std::string &name) {
    return testing::TempDir() + "apps_files_test." + std::to_string(getpid()) + "." + name;
}

Json read_json(const std::string &file) {
    std::ifstream in(file);
    return Json::parse(in);
}

std::string refusal(const std::string &text) {
    try {
        parse_imbalance(text, {"rank", "zones", "area"});
    } catch (const std::invalid_argument &e) {
        return e.what();
    }
    return "accepted";
}

TEST(Imbalance, ranks_zones_and_areas_are_parsed) {
    const Imbalance rank = parse_imbalance("5@rank:1", {"rank"});
    EXPECT_EQ(rank.part, Imbalance::rank);
    EXPECT_EQ(rank.factor, 5);
    EXPECT_TRUE(rank.has_member(1));
    EXPECT_FALSE(rank.has_member(0));
    const Imbalance zones = parse_imbalance("1.5@zones:0,12", {"rank", "zones"});
    EXPECT_EQ(zones.part, Imbalance::zones);
    EXPECT_EQ(zones.members, (std::vector<int>{0, 12}));
    const Imbalance area = parse_imbalance("2@area:0,0.25,0.5,1", {"area"});
    EXPECT_TRUE(area.covers(0, 0.25));
    EXPECT_FALSE(area.covers(0.5, 0.5));
    EXPECT_FALSE(area.covers(0.25, 0.2));
}

TEST(Imbalance, what_is_wrong_is_named) {
    EXPECT_NE(refusal("5").find("FACTOR@PART"), std::string::npos);
    EXPECT_NE(refusal("0.5@rank:0").find("between 1 and 1000"), std::string::npos);
    EXPECT_NE(refusal("nan@rank:0").find("between 1 and 1000"), std::string::npos);
    EXPECT_NE(refusal("x@rank:0").find("'x' is not a number"), std::string::npos);
    EXPECT_NE(refusal("2@row:0").find("'row' is unknown; known are rank, zones, area"), std::string::npos);
    EXPECT_NE(refusal("2@rank:").find("no number"), std::string::npos);
    EXPECT_NE(refusal("2@rank:-1").find("whole"), std::string::npos);
    EXPECT_NE(refusal("2@rank:1.5").find("whole"), std::string::npos);
    EXPECT_NE(refusal("2@area:0,0,1").find("X0,Y0,X1,Y1"), std::string::npos);
    EXPECT_NE(refusal("2@area:1,0,0,1").find("X0 < X1"), std::string::npos);
    for (const char *beyond : {"2@area:-0.1,0,1,1", "2@area:0,0,1.5,1", "2@area:0,0,1,inf", "2@area:0,nan,1,1"}) {
        EXPECT_NE(refusal(beyond).find("from 0 to 1"), std::string::npos) << beyond;
    }
}

TEST(Imbalance, dearer_work_takes_its_factor_in_processor_time) {
    const auto cost = [](double factor) {
        const std::clock_t begin = std::clock();
        const apps::Dearer dearer(factor);
        volatile double x = 1;
        for (int i = 0; i < 4'000'000; ++i) {
            x = x * 1.0000001;
        }
        // The rest of the cost is paid in the destructor, which runs before this function is left.
        return begin;
    };
    const std::clock_t plain = cost(1), after_plain = std::clock();
    const std::clock_t dear = cost(4), after_dear = std::clock();
    EXPECT_GT(static_cast<double>(after_dear - dear), 2 * static_cast<double>(after_plain - plain));
}

TEST(Imbalance, ranks_zones_and_lanes_that_there_are_not_are_refused) {
    const auto why = [](const char *text, int ranks, int others) -> std::string {
        try {
            apps::check_imbalance(parse_imbalance(text, {"rank", "zones", "lanes", "area"}), ranks, others);
        } catch (const apps::InputError &e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_EQ(why("2@rank:0,3", 4, 0), "accepted");
    EXPECT_EQ(why("2@rank:0,4", 4, 9), "--imbalance '2@rank:0,4': there is no rank 4, only 0 to 3");
    EXPECT_EQ(why("2@zones:8", 4, 9), "accepted");
    EXPECT_EQ(why("2@zones:9", 4, 9), "--imbalance '2@zones:9': there is no zone 9, only 0 to 8");
    EXPECT_EQ(why("2@lanes:8", 2, 9), "accepted");
    EXPECT_EQ(why("2@lanes:9", 2, 9), "--imbalance '2@lanes:9': there is no lane 9, only 0 to 8");
    EXPECT_EQ(why("2@area:0,0,1,1", 1, 0), "accepted");
}

TEST(WrongValue, has_all_digits_and_the_difference) {
    EXPECT_EQ(apps::wrong_value("row 1", std::nextafter(0.1, 1), 0.1),
              "row 1: found 0.10000000000000002, expected 0.10000000000000001, difference 1.3877787807814457e-17");
    EXPECT_EQ(apps::wrong_value("x", std::numeric_limits<double>::infinity(), 2),
              "x: found inf, expected 2, difference inf");
}

TEST(WrongValue, the_bits_are_compared) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(apps::same_bits(0.1, 0.1));
    EXPECT_TRUE(apps::same_bits(none, none));
    EXPECT_FALSE(apps::same_bits(0.0, -0.0));
    EXPECT_FALSE(apps::same_bits(none, 1));
    EXPECT_FALSE(apps::same_bits(std::nextafter(0.1, 1), 0.1));
}

TEST(JsonFile, members_keep_their_order_and_numbers_their_value) {
    const std::string file = temporary("order.json");
    apps::write_json_file(file, {{"z", 0.1}, {"a", {1, 2}}, {"text", "quote \" and \xff byte"}});
    const Json read = read_json(file);
    EXPECT_EQ(read.begin().key(), "z");
    EXPECT_EQ(read["z"].get<double>(), 0.1);
    EXPECT_EQ(read["a"], Json({1, 2}));
    EXPECT_NE(read["text"].get<std::string>().find("quote \" and "), std::string::npos);
    std::remove(file.c_str());
}

TEST(JsonFile, rows_are_an_array) {
    const std::string file = temporary("rows.json");
    apps::JsonFile out(file);
    out.begin_rows("none");
    out.end_rows();
    out.begin_rows("two");
    out.row({1, "x"});
    out.row({2, "y"});
    out.end_rows();
    out.finish();
    EXPECT_EQ(read_json(file), Json::parse(R"({"none": [], "two": [[1, "x"], [2, "y"]]})"));
    std::remove(file.c_str());
}

TEST(JsonFile, a_file_that_cannot_be_written_is_an_error_with_its_name) {
    try {
        apps::write_json_file("/no/such/folder/x.json", {{"a", 1}});
        FAIL() << "it was written";
    } catch (const std::runtime_error &e) {
        EXPECT_NE(std::string(e.what()).find("/no/such/folder/x.json"), std::string::npos);
    }
}

TEST(Npy, what_was_written_is_read_bit_for_bit) {
    const std::string file = temporary("array.npy");
    const apps::Array2 array{2, 3, {0.1, -0.0, std::numeric_limits<double>::denorm_min(), 1e300, 5, std::nan("")}};
    apps::write_npy(array, file);
    const apps::Array2 read = apps::read_npy(file);
    ASSERT_EQ(read.rows, 2);
    ASSERT_EQ(read.cols, 3);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(read.cells[i]), std::bit_cast<std::uint64_t>(array.cells[i])) << i;
    }
    std::remove(file.c_str());
}

std::string read_error(const std::string &file) {
    try {
        apps::read_npy(file);
    } catch (const std::runtime_error &e) {
        return e.what();
    }
    return "no error";
}

TEST(Npy, another_number_of_dimensions_is_refused) {
    const std::string file = temporary("cube.npy");
    apps::write_npy({2, 3, {1, 2, 3, 4, 5, 6}}, file);
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    std::string header(128, '\0');
    out.read(header.data(), 128);
    const auto at = header.find("(2, 3), }");
    ASSERT_NE(at, std::string::npos);
    out.seekp(static_cast<std::streamoff>(at));
    out << "(2, 3, 1)}";
    out.close();
    EXPECT_NE(read_error(file).find("not a two-dimensional array"), std::string::npos) << read_error(file);
    std::remove(file.c_str());
}

TEST(Npy, a_file_of_another_length_is_refused) {
    const std::string file = temporary("short.npy");
    apps::write_npy({1, 2, {1, 2}}, file);
    for (const long numbers : {1, 3}) {
        ASSERT_EQ(truncate(file.c_str(), 128 + 8 * numbers), 0);
        EXPECT_NE(read_error(file).find("has " + std::to_string(8 * numbers) + " bytes of numbers, and should have 16"),
                  std::string::npos)
            << read_error(file);
    }
    std::remove(file.c_str());
    EXPECT_NE(read_error(file).find("cannot open"), std::string::npos);
}

} // namespace
