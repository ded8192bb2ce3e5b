// SPDX-License-Identifier: BSD-3-Clause
// Random trees, compared with the list of their segments that is made beside them.
#include "mpix/datatype/copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace thence::datatype;

// A tree, and where its bytes lie, one by one.
struct grown {
    tree what;
    std::vector<number> bytes;
};

class random_trees {
public:
    explicit random_trees(unsigned seed) : random_(seed) {}
    number between(number low, number high) { return std::uniform_int_distribution<number>(low, high)(random_); }

    grown grow(int levels) {
        if (levels == 0) {
            const number displacement = between(-20, 20);
            const number length = between(0, 5);
            grown result{block(displacement, length), {}};
            for (number i = 0; i < length; ++i) {
                result.bytes.push_back(displacement + i);
            }
            return result;
        }
        switch (between(0, 2)) {
        case 0: {
            const grown inner = grow(levels - 1);
            const number times = between(0, 4);
            const number stride = between(0, 3) == 0 ? bytes_of(inner.what) : between(-30, 30);
            return {repeat(times, stride, inner.what), repeated(inner.bytes, 0, times, stride)};
        }
        case 1: {
            const grown inner = grow(levels - 1);
            const number by = between(-50, 50);
            return {shifted(by, inner.what), repeated(inner.bytes, by, 1, 0)};
        }
        default: {
            list_builder list;
            grown result;
            const grown same = grow(levels - 1);
            for (number parts = between(0, 5); parts > 0; --parts) {
                const grown inner = between(0, 1) == 0 ? same : grow(between(0, 1) == 0 ? 0 : levels - 1);
                const number at = between(-40, 40);
                const number times = between(0, 3);
                const number stride = between(-9, 9);
                list.add(at, times, stride, inner.what);
                const std::vector<number> more = repeated(inner.bytes, at, times, stride);
                result.bytes.insert(result.bytes.end(), more.begin(), more.end());
            }
            result.what = list.finish();
            return result;
        }
        }
    }

private:
    static std::vector<number> repeated(const std::vector<number> &bytes, number at, number times, number stride) {
        std::vector<number> result;
        for (number i = 0; i < times; ++i) {
            for (const number byte : bytes) {
                result.push_back(at + i * stride + byte);
            }
        }
        return result;
    }
    std::mt19937 random_;
};

sequence once(const tree &what) {
    return {what.get(), 1, 0, 0};
}

number displacement(const thence_iov &segment) {
    return static_cast<number>(reinterpret_cast<std::intptr_t>(segment.iov_base));
}

std::vector<number> expanded(const std::vector<thence_iov> &segments) {
    std::vector<number> result;
    for (const thence_iov &segment : segments) {
        for (number i = 0; i < segment.iov_len; ++i) {
            result.push_back(displacement(segment) + i);
        }
    }
    return result;
}

TEST(trees, have_the_segments_that_they_are_made_of) {
    random_trees random(1);
    for (int i = 0; i < 20'000; ++i) {
        const grown one = random.grow(static_cast<int>(random.between(0, 4)));
        const sequence all = once(one.what);
        ASSERT_EQ(static_cast<number>(one.bytes.size()), all.bytes());
        std::vector<thence_iov> segments(static_cast<std::size_t>(all.segments()) + 1);
        ASSERT_EQ(all.segments(), write_segments(all, 0, segments.data(), all.segments() + 1));
        segments.pop_back();
        ASSERT_EQ(one.bytes, expanded(segments)) << "tree " << i;
        // From any segment on, and up to any number of bytes.
        const number from = random.between(0, all.segments());
        thence_iov some[3];
        const number got = write_segments(all, from, some, 3);
        ASSERT_EQ(std::min<number>(3, all.segments() - from), got);
        for (number k = 0; k < got; ++k) {
            ASSERT_EQ(0, std::memcmp(&some[k], &segments[static_cast<std::size_t>(from + k)], sizeof some[k]));
        }
        if (all.bytes() > 0) {
            const number most = random.between(0, all.bytes() - 1);
            fitting expected{0, 0};
            while (expected.bytes + segments[static_cast<std::size_t>(expected.segments)].iov_len <= most) {
                expected.bytes += segments[static_cast<std::size_t>(expected.segments++)].iov_len;
            }
            const fitting found = fit(all, most);
            ASSERT_EQ(expected.segments, found.segments);
            ASSERT_EQ(expected.bytes, found.bytes);
        }
    }
}

TEST(trees, are_packed_and_unpacked_as_their_bytes_are_in_order) {
    constexpr number middle = 5'000;
    random_trees random(2);
    std::vector<char> memory(2 * middle);
    for (char &byte : memory) {
        byte = static_cast<char>(random.between(1, 127));
    }
    for (int i = 0; i < 5'000; ++i) {
        const grown one = random.grow(static_cast<int>(random.between(0, 4)));
        sequence all = once(one.what);
        all.base = static_cast<number>(reinterpret_cast<std::intptr_t>(memory.data())) + middle;
        const number room = random.between(0, all.bytes() + 2); // so it may end inside of a segment
        std::vector<char> packed(static_cast<std::size_t>(room) + 1, 0);
        const copied done = pack(all, packed.data(), room);
        ASSERT_EQ(std::min(room, all.bytes()), done.bytes);
        ASSERT_EQ(all.bytes() > room, done.truncated);
        for (std::size_t k = 0; k < static_cast<std::size_t>(done.bytes); ++k) {
            ASSERT_EQ(memory[static_cast<std::size_t>(one.bytes[k] + middle)], packed[k]) << "tree " << i;
        }
        ASSERT_EQ(0, packed[static_cast<std::size_t>(done.bytes)]);
        // Each byte that is unpacked is the last one that was written there.
        std::vector<char> expected(2 * middle, 0);
        std::vector<char> unpacked(2 * middle, 0);
        for (std::size_t k = 0; k < static_cast<std::size_t>(done.bytes); ++k) {
            expected[static_cast<std::size_t>(one.bytes[k] + middle)] = packed[k];
        }
        all.base = static_cast<number>(reinterpret_cast<std::intptr_t>(unpacked.data())) + middle;
        unpack(packed.data(), done.bytes, all);
        ASSERT_EQ(expected, unpacked) << "tree " << i;
    }
}

TEST(trees, of_regular_lists_are_repetitions) {
    list_builder list;
    for (number i = 0; i < 1000; ++i) {
        list.add(i * 24, 2, 4, block(0, 4));
    }
    const tree made = list.finish();
    EXPECT_EQ(shape::repeat, made->kind);
    EXPECT_EQ(1000, made->segments);
    list_builder other;
    for (const number at : {0, 100, 30}) {
        other.add(at, 1, 0, block(0, 8));
    }
    EXPECT_EQ(shape::equal_blocks, other.finish()->kind);
}

TEST(trees, of_nested_regular_loops_are_one_loop) {
    const tree rows = repeat(10, 8, repeat(5, 80, block(0, 4)));
    EXPECT_EQ(2, repeat(3, 400, repeat(5, 80, block(0, 4)))->depth) << "15 times the block";
    EXPECT_EQ(3, rows->depth);
    EXPECT_EQ(1, repeat(1000, 4, block(0, 4))->depth);
}

TEST(trees, count_without_overflow) {
    constexpr number most = std::numeric_limits<number>::max();
    const tree large = repeat(most / 8, 100, block(0, 8));
    EXPECT_EQ(most / 8, large->segments);
    EXPECT_THROW(repeat(2, 0, large), too_large);
    list_builder list;
    list.add(0, 1, 0, large);
    list.add(1, 1, 0, large);
    EXPECT_THROW(list.finish(), too_large);
    sequence two = once(large);
    EXPECT_TRUE(countable(two));
    two.times = 2;
    EXPECT_FALSE(countable(two));
}

TEST(trees, have_a_limit_of_depth) {
    tree deep = block(0, 1);
    const auto deeper = [](const tree &what) {
        list_builder list;
        list.add(1, 1, 0, what);
        list.add(-1, 1, 0, block(0, 1));
        return list.finish();
    };
    for (int i = 2; i < most_levels; ++i) {
        deep = deeper(deep);
    }
    EXPECT_NO_THROW(deep = deeper(deep));
    EXPECT_THROW(deeper(deep), too_deep);
    EXPECT_THROW(repeat(2, 5, deep), too_deep);
    thence_iov last{};
    EXPECT_EQ(1, write_segments(once(deep), deep->segments - 1, &last, 1));
}

} // namespace
