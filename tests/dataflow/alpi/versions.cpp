// SPDX-License-Identifier: BSD-3-Clause
// What the library says of itself.
#include "support.hpp"

#include <array>
#include <cstring>
#include <set>
#include <string>

namespace {

TEST(alpi_versions, the_version_is_1_2) {
    int major = 0;
    int minor = 0;
    EXPECT_EQ(alpi_version_get(&major, &minor), ALPI_SUCCESS);
    EXPECT_EQ(major, 1);
    EXPECT_EQ(minor, 2);
    EXPECT_EQ(alpi_version_get(nullptr, &minor), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_version_get(&major, nullptr), ALPI_ERR_PARAMETER);
}

TEST(alpi_versions, those_of_the_same_major_up_to_the_minor_are_compatible) {
    for (int minor = 0; minor <= 2; ++minor) {
        EXPECT_EQ(alpi_version_check(1, minor), ALPI_SUCCESS);
    }
    EXPECT_EQ(alpi_version_check(1, 3), ALPI_ERR_VERSION);
    EXPECT_EQ(alpi_version_check(0, 0), ALPI_ERR_VERSION);
    EXPECT_EQ(alpi_version_check(2, 0), ALPI_ERR_VERSION);
}

TEST(alpi_versions, all_features_are_there_and_no_others) {
    for (int feature = 0; feature < 16; ++feature) {
        EXPECT_EQ(alpi_feature_check(feature), ALPI_SUCCESS);
    }
    EXPECT_EQ(alpi_feature_check(1 << 4), ALPI_ERR_FEATURE_UNKNOWN);
    EXPECT_EQ(alpi_feature_check(3 | 1 << 15), ALPI_ERR_FEATURE_UNKNOWN);
}

TEST(alpi_versions, each_error_has_a_text_of_its_own) {
    std::set<std::string> texts;
    for (int error = ALPI_SUCCESS; error <= ALPI_ERR_MAX; ++error) {
        texts.insert(alpi_error_string(error));
    }
    EXPECT_EQ(texts.size(), std::size_t{ALPI_ERR_MAX} + 1);
    EXPECT_STREQ(alpi_error_string(-1), alpi_error_string(ALPI_ERR_MAX));
}

TEST(alpi_versions, texts_are_cut_to_the_room_for_them) {
    std::array<char, 64> buffer;
    int length = -1;
    EXPECT_EQ(alpi_info_get(ALPI_INFO_RUNTIME_NAME, buffer.data(), buffer.size(), &length), ALPI_SUCCESS);
    EXPECT_STREQ(buffer.data(), "thence-tasks");
    EXPECT_EQ(length, 12);
    EXPECT_EQ(alpi_info_get(ALPI_INFO_RUNTIME_VENDOR, buffer.data(), buffer.size(), &length), ALPI_SUCCESS);
    EXPECT_STREQ(buffer.data(), "Thence");
    EXPECT_EQ(alpi_info_get(ALPI_INFO_VERSION, buffer.data(), buffer.size(), nullptr), ALPI_SUCCESS);
    EXPECT_STREQ(buffer.data(), "ALPI 1.2 (thence-tasks)");
    EXPECT_EQ(alpi_info_get(ALPI_INFO_VERSION, buffer.data(), 5, &length), ALPI_SUCCESS);
    EXPECT_STREQ(buffer.data(), "ALPI");
    EXPECT_EQ(length, 4);
    EXPECT_EQ(alpi_info_get(3, buffer.data(), buffer.size(), &length), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_info_get(-1, buffer.data(), buffer.size(), &length), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_info_get(ALPI_INFO_VERSION, nullptr, buffer.size(), &length), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_info_get(ALPI_INFO_VERSION, buffer.data(), 0, &length), ALPI_ERR_PARAMETER);
}

TEST(alpi_versions, attributes_have_no_size) {
    int any = 0;
    auto *attributes = reinterpret_cast<alpi_attr *>(&any);
    EXPECT_EQ(alpi_attr_create(&attributes), ALPI_SUCCESS);
    EXPECT_EQ(attributes, nullptr);
    EXPECT_EQ(alpi_attr_init(attributes), ALPI_SUCCESS);
    std::uint64_t size = 1;
    EXPECT_EQ(alpi_attr_size(&size), ALPI_SUCCESS);
    EXPECT_EQ(size, 0U);
    EXPECT_EQ(alpi_attr_destroy(attributes), ALPI_SUCCESS);
    EXPECT_EQ(alpi_attr_create(nullptr), ALPI_ERR_PARAMETER);
    EXPECT_EQ(alpi_attr_size(nullptr), ALPI_ERR_PARAMETER);
}

} // namespace
