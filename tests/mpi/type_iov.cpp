// SPDX-License-Identifier: BSD-3-Clause
// What thence/type_iov.h, thence/mpix.h and thence/type_iov.hpp promise, on the real MPI. The first rules are those
// where MPICH does other than Zhou et al. 2024 says.
#include "support.hpp"

#include <thence/mpix.h>
#include <thence/type_iov.hpp>

#include <algorithm>
#include <climits>
#include <ranges>
#include <utility>

namespace {

using segments = std::vector<std::pair<long, long>>; // displacement and bytes

static_assert(std::ranges::random_access_range<const thence::type_segments>);
static_assert(std::ranges::sized_range<const thence::type_segments>);
static_assert(std::movable<thence::type_segments> && !std::copyable<thence::type_segments>);

// A datatype that is committed, and freed at the end.
class datatype {
public:
    template <class Make> explicit datatype(Make make) {
        make(&handle);
        MPI_Type_commit(&handle);
    }
    ~datatype() {
        if (handle != MPI_DATATYPE_NULL) {
            MPI_Type_free(&handle);
        }
    }
    datatype(const datatype &) = delete;
    datatype &operator=(const datatype &) = delete;
    operator MPI_Datatype() const { return handle; }

    MPI_Datatype handle = MPI_DATATYPE_NULL;
};

MPI_Count length_of(MPI_Datatype type, MPI_Count max_bytes = -1) {
    MPI_Count length = -7;
    MPI_Count bytes = -7;
    EXPECT_EQ(MPI_SUCCESS, MPIX_Type_iov_len(type, max_bytes, &length, &bytes));
    return length;
}

segments some_of(MPI_Datatype type, MPI_Count offset, std::size_t most) {
    std::vector<MPIX_Iov> iov(most);
    MPI_Count got = -7;
    EXPECT_EQ(MPI_SUCCESS, MPIX_Type_iov(type, offset, iov.data(), static_cast<MPI_Count>(most), &got));
    segments result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        result.emplace_back(static_cast<long>(reinterpret_cast<std::intptr_t>(iov[i].iov_base)), iov[i].iov_len);
    }
    return result;
}

segments all_of(MPI_Datatype type) {
    return some_of(type, 0, static_cast<std::size_t>(length_of(type)));
}

TEST(type_iov, minus_one_stands_for_all_bytes) {
    const datatype vector([](MPI_Datatype *t) { MPI_Type_vector(1000, 1, 2, MPI_DOUBLE, t); });
    MPI_Count length = 0;
    MPI_Count bytes = 0;
    EXPECT_EQ(MPI_SUCCESS, MPIX_Type_iov_len(vector, -1, &length, &bytes));
    EXPECT_EQ(1000, length);
    EXPECT_EQ(8000, bytes);
}

TEST(type_iov, offset_beyond_the_end_gives_no_segment_of_a_contiguous_type_either) {
    const datatype contiguous([](MPI_Datatype *t) { MPI_Type_contiguous(8, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 32}}), all_of(contiguous));
    EXPECT_TRUE(some_of(contiguous, 5, 4).empty());
    EXPECT_TRUE(some_of(contiguous, 1, 4).empty());
    EXPECT_TRUE(some_of(MPI_INT, 1, 4).empty());
}

// MPICH lists all segments for that, and crashes when there is no memory for 2^34.
TEST(type_iov, bytes_to_segments_touches_no_other_segment) {
    const datatype inner([](MPI_Datatype *t) { MPI_Type_vector(1 << 17, 1, 2, MPI_INT, t); });
    const datatype outer([&](MPI_Datatype *t) { MPI_Type_create_hvector(1 << 17, 1, MPI_Aint{1} << 21, inner, t); });
    const MPI_Count all = MPI_Count{1} << 34;
    EXPECT_EQ(all, length_of(outer));
    EXPECT_EQ(all / 2, length_of(outer, all / 2 * 4 + 3));
    EXPECT_EQ((segments{{(MPI_Aint{1} << 21) * ((1 << 17) - 1) + ((1 << 17) - 1) * 8L, 4}}),
              some_of(outer, all - 1, 3));
}

TEST(type_iov, a_billion_segments_and_any_of_them) {
    const datatype rows([](MPI_Datatype *t) { MPI_Type_vector(1000, 1, 2, MPI_CHAR, t); });
    const datatype planes([&](MPI_Datatype *t) { MPI_Type_create_hvector(1000, 1, 3000, rows, t); });
    const datatype cube([&](MPI_Datatype *t) { MPI_Type_create_hvector(1000, 1, 4'000'000, planes, t); });
    EXPECT_EQ(1'000'000'000, length_of(cube));
    EXPECT_EQ((segments{{123 * 4'000'000L + 456 * 3000 + 789 * 2, 1}}), some_of(cube, 123'456'789, 1));
}

TEST(type_iov, segments_are_in_the_order_of_the_type_map) {
    const datatype negative([](MPI_Datatype *t) { MPI_Type_vector(3, 1, -2, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 4}, {-8, 4}, {-16, 4}}), all_of(negative));
    const int lengths[] = {2, 0, 3};
    const MPI_Aint places[] = {8, 100, -16};
    const datatype indexed([&](MPI_Datatype *t) { MPI_Type_create_hindexed(3, lengths, places, MPI_INT, t); });
    EXPECT_EQ((segments{{8, 8}, {-16, 12}}), all_of(indexed)) << "empty blocks are left out";
    const int twos[] = {2, 2};
    const int overlapping[] = {0, 1};
    const datatype overlap([&](MPI_Datatype *t) { MPI_Type_indexed(2, twos, overlapping, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 8}, {4, 8}}), all_of(overlap));
}

TEST(type_iov, neighbours_that_touch_are_one_segment) {
    const int blocks[] = {0, 2, 6};
    const datatype indexed([&](MPI_Datatype *t) { MPI_Type_create_indexed_block(3, 2, blocks, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 16}, {24, 8}}), all_of(indexed));
    const int ones[] = {1, 1};
    const MPI_Aint places[] = {0, 4};
    const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
    const datatype packed([&](MPI_Datatype *t) { MPI_Type_create_struct(2, ones, places, members, t); });
    EXPECT_EQ((segments{{0, 12}}), all_of(packed));
    const datatype dense([](MPI_Datatype *t) { MPI_Type_vector(1000, 3, 3, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 12000}}), all_of(dense));
}

TEST(type_iov, pairs_have_their_members_where_C_has_them) {
    EXPECT_EQ((segments{{0, 12}}), all_of(MPI_DOUBLE_INT));
    EXPECT_EQ((segments{{0, 8}}), all_of(MPI_FLOAT_INT));
    EXPECT_EQ((segments{{0, 8}}), all_of(MPI_2INT));
    EXPECT_EQ((segments{{0, sizeof(long) + 4}}), all_of(MPI_LONG_INT));
    EXPECT_EQ((segments{{0, sizeof(long double) + 4}}), all_of(MPI_LONG_DOUBLE_INT));
    EXPECT_EQ((segments{{0, 2}, {4, 4}}), all_of(MPI_SHORT_INT));
    const datatype two([](MPI_Datatype *t) { MPI_Type_contiguous(2, MPI_SHORT_INT, t); });
    EXPECT_EQ((segments{{0, 2}, {4, 4}, {8, 2}, {12, 4}}), all_of(two));
}

TEST(type_iov, a_type_without_bytes_has_no_segments) {
    const datatype none([](MPI_Datatype *t) { MPI_Type_contiguous(0, MPI_INT, t); });
    EXPECT_EQ(0, length_of(none));
    EXPECT_EQ(0, length_of(none, 0));
    EXPECT_TRUE(some_of(none, 0, 3).empty());
    EXPECT_EQ(0, thence::type_segments(none).bytes());
    const int ones[] = {1, 1};
    const MPI_Aint places[] = {8, 0};
    const MPI_Datatype members[] = {none, MPI_INT};
    const datatype with_none([&](MPI_Datatype *t) { MPI_Type_create_struct(2, ones, places, members, t); });
    EXPECT_EQ((segments{{0, 4}}), all_of(with_none));
}

TEST(type_iov, nested_resized_types_repeat_at_their_own_extents) {
    const datatype wide([](MPI_Datatype *t) { MPI_Type_create_resized(MPI_INT, 0, 12, t); });
    const datatype shifted([&](MPI_Datatype *t) { MPI_Type_create_resized(wide, -4, 20, t); });
    const datatype two([&](MPI_Datatype *t) { MPI_Type_contiguous(2, shifted, t); });
    const datatype narrow([&](MPI_Datatype *t) { MPI_Type_create_resized(two, 0, 4, t); });
    const datatype again([&](MPI_Datatype *t) { MPI_Type_contiguous(3, narrow, t); });
    EXPECT_EQ((segments{{0, 4}}), all_of(shifted));
    EXPECT_EQ((segments{{0, 4}, {20, 4}, {4, 4}, {24, 4}, {8, 4}, {28, 4}}), all_of(again));
}

TEST(type_iov, a_subarray_in_both_orders) {
    const int sizes[] = {4, 6};
    const int parts[] = {2, 3};
    const int starts[] = {1, 2};
    const datatype in_c(
        [&](MPI_Datatype *t) { MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, t); });
    EXPECT_EQ((segments{{32, 12}, {56, 12}}), all_of(in_c));
    const datatype in_fortran(
        [&](MPI_Datatype *t) { MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, t); });
    EXPECT_EQ((segments{{36, 8}, {52, 8}, {68, 8}}), all_of(in_fortran));
}

TEST(type_iov, predefined_types_without_a_name_are_one_segment) {
    MPI_Datatype real = MPI_DATATYPE_NULL;
    if (MPI_Type_create_f90_real(6, 30, &real) != MPI_SUCCESS || real == MPI_DATATYPE_NULL) {
        GTEST_SKIP() << "this MPI has no such type";
    }
    for (int i = 0; i < 2; ++i) { // it must not be freed
        const datatype vector([&](MPI_Datatype *t) { MPI_Type_vector(2, 1, 3, real, t); });
        EXPECT_EQ((segments{{0, 4}, {12, 4}}), all_of(vector));
    }
    EXPECT_EQ((segments{{0, 4}}), all_of(real));
}

#if defined(THENCE_MPI_LARGE_COUNTS)
TEST(type_iov, types_that_were_made_with_large_counts) {
    const MPI_Count huge = MPI_Count{5} << 31;
    const datatype contiguous([&](MPI_Datatype *t) { MPI_Type_contiguous_c(huge, MPI_INT, t); });
    EXPECT_EQ((segments{{0, huge * 4}}), all_of(contiguous));
    const datatype vector([&](MPI_Datatype *t) { MPI_Type_vector_c(huge, 1, 3, MPI_CHAR, t); });
    EXPECT_EQ(huge, length_of(vector));
    EXPECT_EQ((segments{{(huge - 1) * 3, 1}}), some_of(vector, huge - 1, 2));
    const datatype hvector([&](MPI_Datatype *t) { MPI_Type_create_hvector_c(2, 3, huge, MPI_INT, t); });
    EXPECT_EQ((segments{{0, 12}, {huge, 12}}), all_of(hvector));
    const MPI_Count lengths[] = {2, 1};
    const MPI_Count places[] = {huge, 0};
    const datatype indexed([&](MPI_Datatype *t) { MPI_Type_indexed_c(2, lengths, places, MPI_INT, t); });
    EXPECT_EQ((segments{{huge * 4, 8}, {0, 4}}), all_of(indexed));
    const datatype hindexed([&](MPI_Datatype *t) { MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, t); });
    EXPECT_EQ((segments{{huge, 8}, {0, 4}}), all_of(hindexed));
    const datatype block([&](MPI_Datatype *t) { MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, t); });
    EXPECT_EQ((segments{{huge * 4, 8}, {0, 8}}), all_of(block));
    const datatype hblock([&](MPI_Datatype *t) { MPI_Type_create_hindexed_block_c(2, 2, places, MPI_INT, t); });
    EXPECT_EQ((segments{{huge, 8}, {0, 8}}), all_of(hblock));
    const MPI_Datatype members[] = {MPI_INT, MPI_SHORT_INT};
    const datatype structure([&](MPI_Datatype *t) { MPI_Type_create_struct_c(2, lengths, places, members, t); });
    EXPECT_EQ((segments{{huge, 8}, {0, 2}, {4, 4}}), all_of(structure));
    const datatype resized([&](MPI_Datatype *t) { MPI_Type_create_resized_c(MPI_INT, 0, huge, t); });
    const datatype two([&](MPI_Datatype *t) { MPI_Type_contiguous(2, resized, t); });
    EXPECT_EQ((segments{{0, 4}, {huge, 4}}), all_of(two));
    const MPI_Count sizes[] = {4, huge};
    const MPI_Count parts[] = {2, 3};
    const MPI_Count starts[] = {1, 2};
    const datatype subarray(
        [&](MPI_Datatype *t) { MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, t); });
    EXPECT_EQ((segments{{huge + 2, 3}, {2 * huge + 2, 3}}), all_of(subarray));
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    const int grid[] = {2, 2};
    const MPI_Count array[] = {4, 7};
    const datatype distributed([&](MPI_Datatype *t) {
        MPI_Type_create_darray_c(4, 1, 2, array, kinds, blocks, grid, MPI_ORDER_C, MPI_CHAR, t);
    });
    EXPECT_EQ((segments{{2, 2}, {6, 1}, {9, 2}, {13, 1}}), all_of(distributed));
}
#endif

TEST(type_iov, segments_of_several_elements_at_an_address) {
    const datatype two([](MPI_Datatype *t) { MPI_Type_vector(2, 1, 2, MPI_INT, t); }); // extent 12
    int buffer[8] = {};
    thence_iov iov[5];
    MPI_Count got = 0;
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov_x(buffer, 2, two, 1, iov, 5, &got));
    ASSERT_EQ(3, got);
    EXPECT_EQ(buffer + 2, iov[0].iov_base);
    EXPECT_EQ(buffer + 3, iov[1].iov_base);
    EXPECT_EQ(buffer + 5, iov[2].iov_base);
    MPI_Count length = 0;
    MPI_Count bytes = 0;
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov_len_x(2, two, 13, &length, &bytes));
    EXPECT_EQ(3, length);
    EXPECT_EQ(12, bytes);
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov_len_x(0, two, -1, &length, &bytes));
    EXPECT_EQ(0, length);
}

TEST(type_iov, a_range_stays_when_the_datatype_is_freed) {
    datatype vector([](MPI_Datatype *t) { MPI_Type_vector(1000, 1, 2, MPI_INT, t); });
    thence::type_segments range(vector);
    auto at = range.begin() + 500;
    EXPECT_EQ(4, (*at).iov_len);
    MPI_Type_free(&vector.handle);
    const datatype other([](MPI_Datatype *t) { MPI_Type_contiguous(7, MPI_CHAR, t); }); // may get its handle
    EXPECT_EQ(1000, std::ranges::distance(range));
    EXPECT_EQ(reinterpret_cast<void *>(std::uintptr_t{999 * 8}), range[999].iov_base);
    long sum = 0;
    for (const thence_iov &segment : range) {
        sum += segment.iov_len;
    }
    EXPECT_EQ(4000, sum);
    EXPECT_EQ(1, length_of(other));
    const thence::type_segments moved = std::move(range);
    EXPECT_EQ(1000U, moved.size());
    EXPECT_EQ(250, moved.within(1003).segments);
    EXPECT_EQ(1000, moved.within(1003).bytes);
    const auto found = std::ranges::lower_bound(moved, std::uintptr_t{4000}, {}, [](const thence_iov &segment) {
        return reinterpret_cast<std::uintptr_t>(segment.iov_base);
    });
    EXPECT_EQ(500, found - moved.begin());
}

TEST(type_iov, a_duplicate_has_the_segments_of_its_original) {
    datatype vector([](MPI_Datatype *t) { MPI_Type_vector(3, 1, 2, MPI_INT, t); });
    const segments before = all_of(vector);
    const datatype copy([&](MPI_Datatype *t) { MPI_Type_dup(vector, t); });
    MPI_Type_free(&vector.handle);
    EXPECT_EQ(before, all_of(copy));
}

TEST(type_iov, a_type_need_not_be_committed) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    EXPECT_EQ(3, length_of(type));
    MPI_Type_free(&type);
}

TEST(type_iov, many_threads_may_ask_first) {
    for (int round = 0; round < 50; ++round) {
        const datatype vector([&](MPI_Datatype *t) { MPI_Type_vector(100, 1, 2 + round, MPI_INT, t); });
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] { EXPECT_EQ(100, length_of(vector)); });
        }
    }
}

TEST(type_iov, deep_nesting_has_a_limit) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_dup(MPI_INT, &type);
    MPI_Count length = -7;
    MPI_Count bytes = -7;
    int code = MPI_SUCCESS;
    for (int i = 0; i < 1001; ++i) {
        const int ones[] = {1, 1};
        const MPI_Aint places[] = {8, -8 * i};
        const MPI_Datatype members[] = {type, MPI_INT};
        MPI_Datatype next = MPI_DATATYPE_NULL;
        MPI_Type_create_struct(2, ones, places, members, &next);
        MPI_Type_free(&type);
        type = next;
        if (i == 900) {
            EXPECT_EQ(902, length_of(type));
        }
    }
    // It is read whole, or from the one that was read: either way it is too deep.
    code = thence_type_iov_len(type, -1, &length, &bytes);
    EXPECT_EQ(MPI_ERR_TYPE, class_of(code));
    EXPECT_EQ(-7, length);
    MPI_Type_free(&type);
}

TEST(type_iov, wrong_arguments_are_refused_and_set_nothing) {
    MPI_Count length = -7;
    MPI_Count bytes = -7;
    thence_iov iov[2] = {{nullptr, -7}, {nullptr, -7}};
    const auto refused = [&](int expected, int code) {
        EXPECT_EQ(expected, class_of(code));
        EXPECT_EQ(-7, length);
        EXPECT_EQ(-7, bytes);
        EXPECT_EQ(-7, iov[0].iov_len);
    };
    refused(MPI_ERR_TYPE, thence_type_iov_len(MPI_DATATYPE_NULL, -1, &length, &bytes));
    refused(MPI_ERR_TYPE, thence_type_iov(MPI_DATATYPE_NULL, 0, iov, 1, &length));
    refused(MPI_ERR_ARG, thence_type_iov_len(MPI_INT, -2, &length, &bytes));
    refused(MPI_ERR_ARG, thence_type_iov_len(MPI_INT, -1, nullptr, &bytes));
    refused(MPI_ERR_ARG, thence_type_iov_len(MPI_INT, -1, &length, nullptr));
    refused(MPI_ERR_ARG, thence_type_iov(MPI_INT, -1, iov, 1, &length));
    refused(MPI_ERR_ARG, thence_type_iov(MPI_INT, 0, iov, -1, &length));
    refused(MPI_ERR_ARG, thence_type_iov(MPI_INT, 0, nullptr, 1, &length));
    refused(MPI_ERR_ARG, thence_type_iov(MPI_INT, 0, iov, 1, nullptr));
    refused(MPI_ERR_COUNT, thence_type_iov_len_x(-1, MPI_INT, -1, &length, &bytes));
    refused(MPI_ERR_COUNT, thence_type_iov_len_x(LLONG_MAX, MPI_INT, -1, &length, &bytes));
    refused(MPI_ERR_COUNT, thence_type_iov_x(nullptr, -1, MPI_INT, 0, iov, 1, &length));
    refused(MPI_ERR_COUNT, thence_type_copy(iov, -1, MPI_INT, iov, 1, MPI_INT, &bytes));
    refused(MPI_ERR_TYPE, thence_type_copy(iov, 1, MPI_INT, iov, 1, MPI_DATATYPE_NULL, &bytes));
    thence_layout *layout = nullptr;
    refused(MPI_ERR_TYPE, thence_layout_create(MPI_DATATYPE_NULL, &layout));
    EXPECT_EQ(nullptr, layout);
    refused(MPI_ERR_ARG, thence_layout_create(MPI_INT, nullptr));
    refused(MPI_ERR_ARG, thence_layout_free(&layout));
    refused(MPI_ERR_ARG, thence_layout_iov_len(nullptr, 1, -1, &length, &bytes));
    refused(MPI_ERR_ARG, thence_layout_iov(nullptr, nullptr, 1, 0, iov, 1, &length));
    ASSERT_EQ(MPI_SUCCESS, thence_layout_create(MPI_INT, &layout));
    refused(MPI_ERR_ARG, thence_layout_iov_len(layout, 1, -2, &length, &bytes));
    refused(MPI_ERR_COUNT, thence_layout_iov_len(layout, -1, -1, &length, &bytes));
    refused(MPI_ERR_ARG, thence_layout_iov(layout, nullptr, 1, -1, iov, 1, &length));
    EXPECT_EQ(MPI_SUCCESS, thence_layout_free(&layout));
    EXPECT_EQ(nullptr, layout);
    EXPECT_THROW(thence::type_segments{MPI_DATATYPE_NULL}, thence::error);
}

TEST(type_iov, a_copy_that_does_not_fit_says_so) {
    const int from[] = {1, 2, 3, 4};
    int to[] = {0, 0, 0, 0};
    MPI_Count bytes = -7;
    EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(thence_type_copy(from, 4, MPI_INT, to, 3, MPI_INT, &bytes)));
    EXPECT_EQ(12, bytes);
    EXPECT_EQ(3, to[2]);
    EXPECT_EQ(0, to[3]);
    EXPECT_EQ(MPI_SUCCESS, thence_type_copy(from, 1, MPI_INT, to, 3, MPI_INT, nullptr));
}

} // namespace
