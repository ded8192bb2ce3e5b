// SPDX-License-Identifier: BSD-3-Clause
// What the library reads of datatypes: the arguments of each constructor in each form, how often MPI is asked, and that
// every handle is freed.
#include "core/continuation/lifetime.hpp"
#include "core/engine/engine.hpp"
#include "library.hpp"
#include "mpix/datatype/layout.hpp"
#include "types.hpp"

#include <thence/type_iov.h>

#include <climits>
#include <thread>
#include <utility>

namespace {

using namespace thence::fake;
using segments = std::vector<std::pair<long, long>>;

// Whether MPI has calls for large counts: then only these are used.
class reading : public ::testing::TestWithParam<bool> {
protected:
    reading() {
        features offers;
        offers.large_counts = GetParam();
        world.begin(offers);
        world.handler = MPI_ERRORS_RETURN;
    }
    ~reading() override {
        EXPECT_EQ(0, type_references());
        world.finalize();
        thence::continuation::tear_down(); // it may be set up again
        thence::engine::reset();
        world.take_reported();
        world.end();
    }
};
class with_large_counts : public reading {};
INSTANTIATE_TEST_SUITE_P(, with_large_counts, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(, reading, ::testing::Bool(),
                         [](const auto &instance) { return instance.param ? "large_counts" : "small_counts"; });

segments all_of(MPI_Datatype type) {
    MPI_Count length = -7;
    MPI_Count bytes = -7;
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov_len(type, -1, &length, &bytes));
    std::vector<thence_iov> iov(static_cast<std::size_t>(length) + 1);
    MPI_Count got = -7;
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov(type, 0, iov.data(), length + 1, &got));
    EXPECT_EQ(length, got);
    segments result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        result.emplace_back(static_cast<long>(reinterpret_cast<std::intptr_t>(iov[i].iov_base)), iov[i].iov_len);
    }
    return result;
}

// Made, asked for, and freed.
segments of(const constructor &by) {
    MPI_Datatype type = make_type(by);
    const segments result = all_of(type);
    free_type(type);
    return result;
}

int refused(MPI_Datatype type) {
    MPI_Count length = -7;
    MPI_Count bytes = -7;
    const int code = thence_type_iov_len(type, -1, &length, &bytes);
    EXPECT_EQ(-7, length);
    EXPECT_EQ(-7, bytes);
    return code;
}

#if defined(THENCE_MPI_INTEGER_COMBINERS)
TEST_P(reading, knows_the_constructors_with_displacements_of_type_int) {
    EXPECT_EQ((segments{{0, 8}, {20, 8}}),
              of({.combiner = MPI_COMBINER_HVECTOR_INTEGER, .integers = {2, 2, 20}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{16, 4}, {0, 8}}),
              of({.combiner = MPI_COMBINER_HINDEXED_INTEGER, .integers = {2, 1, 2, 16, 0}, .types = {MPI_INT}}));
    EXPECT_EQ(
        (segments{{16, 4}, {0, 16}}),
        of({.combiner = MPI_COMBINER_STRUCT_INTEGER, .integers = {2, 1, 2, 16, 0}, .types = {MPI_INT, MPI_DOUBLE}}));
}
#endif

#if defined(THENCE_MPI_COMBINER_VALUE_INDEX)
TEST_P(reading, puts_an_index_where_C_does) {
    MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VALUE_INDEX,
                                   .types = {MPI_SHORT, MPI_LONG},
                                   .extent = 16,
                                   .predefined = true,
                                   .size = 10});
    EXPECT_EQ((segments{{0, 2}, {8, 8}}), all_of(type));
    EXPECT_EQ((segments{{0, 2}, {8, 8}, {16, 2}, {24, 8}}),
              of({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {2}, .types = {type}}));
    free_type(type);
}
#endif

TEST_P(reading, does_not_free_a_predefined_datatype_without_a_name) {
    MPI_Datatype real =
        make_type({.combiner = MPI_COMBINER_F90_REAL, .integers = {6, 30}, .extent = 4, .predefined = true, .size = 4});
    EXPECT_EQ((segments{{0, 4}, {8, 4}}),
              of({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {real}}));
    free_type(real);
}

TEST_P(with_large_counts, they_are_taken_where_the_constructor_had_them) {
    const MPI_Count huge = MPI_Count{1} << 40;
    EXPECT_EQ((segments{{0, huge * 4}}),
              of({.combiner = MPI_COMBINER_CONTIGUOUS, .counts = {huge}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{0, 8}, {huge * 4, 8}}),
              of({.combiner = MPI_COMBINER_VECTOR, .counts = {2, 2, huge}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{0, 8}, {huge, 8}}),
              of({.combiner = MPI_COMBINER_HVECTOR, .counts = {2, 2, huge}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{huge * 4, 4}, {4, 8}}),
              of({.combiner = MPI_COMBINER_INDEXED, .counts = {2, 1, 2, huge, 1}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{huge, 4}, {1, 8}}),
              of({.combiner = MPI_COMBINER_HINDEXED, .counts = {2, 1, 2, huge, 1}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{huge * 4, 8}, {4, 8}}),
              of({.combiner = MPI_COMBINER_INDEXED_BLOCK, .counts = {2, 2, huge, 1}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{huge, 8}, {1, 8}}),
              of({.combiner = MPI_COMBINER_HINDEXED_BLOCK, .counts = {2, 2, huge, 1}, .types = {MPI_INT}}));
    EXPECT_EQ((segments{{huge, 4}, {1, 16}}),
              of({.combiner = MPI_COMBINER_STRUCT, .counts = {2, 1, 2, huge, 1}, .types = {MPI_INT, MPI_DOUBLE}}));
    EXPECT_EQ((segments{{huge + 2, 3}, {2 * huge + 2, 3}}), of({.combiner = MPI_COMBINER_SUBARRAY,
                                                                .integers = {2, MPI_ORDER_C},
                                                                .counts = {4, huge, 2, 3, 1, 2},
                                                                .types = {MPI_CHAR}}));
    EXPECT_EQ((segments{{huge / 2, huge / 2}}),
              of({.combiner = MPI_COMBINER_DARRAY,
                  .integers = {2, 1, 1, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 2, MPI_ORDER_C},
                  .counts = {huge},
                  .types = {MPI_CHAR}}));
}

TEST_P(reading, drops_zero_counts_and_empty_members) {
    EXPECT_TRUE(of({.combiner = MPI_COMBINER_STRUCT, .integers = {0}}).empty());
    EXPECT_TRUE(of({.combiner = MPI_COMBINER_VECTOR, .integers = {0, 2, 3}, .types = {MPI_INT}}).empty());
    MPI_Datatype empty = make_type({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {0}, .types = {MPI_INT}});
    EXPECT_EQ((segments{{0, 4}}), of({.combiner = MPI_COMBINER_STRUCT,
                                      .integers = {3, 5, 1, 0},
                                      .addresses = {-8, 0, 99},
                                      .types = {empty, MPI_INT, MPI_DOUBLE}}));
    free_type(empty);
}

TEST_P(reading, takes_negative_extents_and_strides) {
    MPI_Datatype back =
        make_type({.combiner = MPI_COMBINER_RESIZED, .addresses = {0, -8}, .types = {MPI_INT}, .extent = -8});
    EXPECT_EQ((segments{{0, 4}, {-8, 4}, {-16, 4}}),
              of({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {3}, .types = {back}}));
    free_type(back);
}

TEST_P(reading, asks_MPI_once) {
    MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_INT}});
    const long before = contents_calls();
    all_of(type);
    EXPECT_EQ(before + 1, contents_calls());
    all_of(type);
    MPI_Datatype copy = duplicate(type);
    EXPECT_EQ((segments{{0, 4}, {8, 4}}), all_of(copy));
    // Of what it is made of only the new part is read.
    MPI_Datatype outer = make_type({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {3}, .types = {type}});
    all_of(outer);
    EXPECT_EQ(before + 2, contents_calls());
    free_type(outer);
    free_type(copy);
    free_type(type);
}

// Without that a datatype of 30 levels would be read 2^30 times.
TEST_P(reading, reads_a_member_that_is_there_twice_once) {
    MPI_Datatype type =
        make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_CHAR}, .extent = 3});
    for (int i = 0; i < 30; ++i) {
        MPI_Datatype next = make_type({.combiner = MPI_COMBINER_STRUCT,
                                       .integers = {2, 1, 1},
                                       .addresses = {0, MPI_Aint{4} << i},
                                       .types = {type, type},
                                       .extent = MPI_Aint{8} << i});
        free_type(type);
        type = next;
    }
    MPI_Count length = 0;
    MPI_Count bytes = 0;
    EXPECT_EQ(MPI_SUCCESS, thence_type_iov_len(type, -1, &length, &bytes));
    EXPECT_EQ(MPI_Count{2} << 30, length);
    free_type(type);
}

TEST_P(reading, of_a_freed_datatype_leaves_the_layout_to_those_that_keep_it) {
    MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_INT}});
    thence_layout *layout = nullptr;
    ASSERT_EQ(MPI_SUCCESS, thence_layout_create(type, &layout));
    free_type(type);
    EXPECT_EQ(0, type_references());
    thence_iov iov[3];
    MPI_Count got = 0;
    EXPECT_EQ(MPI_SUCCESS, thence_layout_iov(layout, nullptr, 1, 0, iov, 3, &got));
    EXPECT_EQ(2, got);
    world.finalize();
    EXPECT_EQ(MPI_SUCCESS, thence_layout_iov(layout, nullptr, 1, 1, iov, 3, &got));
    EXPECT_EQ(1, got);
    EXPECT_EQ(MPI_SUCCESS, thence_layout_free(&layout));
    world.initialize();
}

TEST_P(reading, refuses_what_it_does_not_know) {
    MPI_Datatype type = make_type({.combiner = 4711, .integers = {1}, .types = {MPI_INT}});
    EXPECT_EQ(MPI_ERR_UNSUPPORTED_OPERATION, refused(type));
    MPI_Datatype outer = make_type({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {2}, .types = {type}});
    EXPECT_EQ(MPI_ERR_UNSUPPORTED_OPERATION, refused(outer));
    free_type(outer);
    free_type(type);
}

TEST_P(reading, refuses_a_datatype_with_too_many_bytes) {
    MPI_Datatype type = MPI_CHAR;
    for (int i = 0; i < 3; ++i) {
        MPI_Datatype next =
            make_type({.combiner = MPI_COMBINER_CONTIGUOUS, .integers = {INT_MAX}, .types = {type}, .extent = 1});
        if (i > 0) {
            free_type(type);
        }
        type = next;
    }
    EXPECT_EQ(MPI_ERR_TYPE, refused(type));
    free_type(type);
}

TEST_P(reading, changes_nothing_when_MPI_fails) {
    MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_INT}});
    fail_next_attribute(MPI_ERR_INTERN);
    EXPECT_EQ(MPI_ERR_INTERN, refused(type));
    EXPECT_EQ((segments{{0, 4}, {8, 4}}), all_of(type));
    free_type(type);
}

TEST_P(reading, is_refused_while_MPI_is_not_active) {
    MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_INT}});
    all_of(type);
    world.finalize();
    EXPECT_EQ(MPI_ERR_OTHER, refused(type));
    world.initialize();
    free_type(type);
}

TEST_P(reading, by_many_threads_keeps_one_layout) {
    for (int round = 0; round < 100; ++round) {
        MPI_Datatype type = make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {2, 1, 2}, .types = {MPI_INT}});
        const thence::datatype::layout *found[4] = {};
        {
            std::vector<std::jthread> threads;
            for (auto &mine : found) {
                threads.emplace_back([&] { mine = thence::datatype::layout_of(type).what; });
            }
        }
        for (const auto *one : found) {
            EXPECT_EQ(found[0], one);
        }
        free_type(type);
    }
}

} // namespace
