// SPDX-License-Identifier: BSD-3-Clause
// What blocks copy: faces between levels, parts of a refined block, and means of merged ones.
#include "block.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace {

using amr::Block;
using amr::Neighbour;
using amr::Transfer;

amr::Settings settings_of() {
    amr::Settings s;
    s.block = 4;
    s.variables = 2;
    return s;
}

// The cells of a block are numbered.
Block numbered(const amr::Settings &s) {
    std::vector<double> cells(static_cast<std::size_t>(Block::cells(s)));
    std::iota(cells.begin(), cells.end(), 0.0);
    Block block(s);
    block.load(cells.data());
    return block;
}

std::vector<double> packed(const amr::Settings &s, const Block &block, const Transfer &t) {
    std::vector<double> out(static_cast<std::size_t>(t.numbers(s)));
    EXPECT_EQ(block.pack(t, out.data()), out.data() + out.size());
    return out;
}

TEST(Block, a_face_of_the_same_level_is_the_layer_that_touches) {
    const amr::Settings s = settings_of();
    // The low face in x of the receiver is the last layer in x of the sender: 3, 7, 11, ...
    const auto low = packed(s, numbered(s), {0, 1, 0, Neighbour::same, 0});
    const auto high = packed(s, numbered(s), {0, 1, 1, Neighbour::same, 0});
    ASSERT_EQ(low.size(), 32U);
    for (std::size_t i = 0; i < low.size(); ++i) {
        EXPECT_EQ(low[i], 3 + 4.0 * static_cast<double>(i));
        EXPECT_EQ(high[i], 4.0 * static_cast<double>(i));
    }
}

TEST(Block, a_finer_block_sends_means_and_a_coarser_one_its_quarter) {
    const amr::Settings s = settings_of();
    // The low face in z: the sender's layer z = 3, which begins with 48.
    EXPECT_EQ(packed(s, numbered(s), {0, 1, 4, Neighbour::finer, 2}),
              (std::vector<double>{50.5, 52.5, 58.5, 60.5, 114.5, 116.5, 122.5, 124.5}));
    EXPECT_EQ(packed(s, numbered(s), {0, 1, 4, Neighbour::coarser, 3}),
              (std::vector<double>{58, 59, 62, 63, 122, 123, 126, 127}));
}

TEST(Block, a_stencil_of_equal_values_changes_nothing_whatever_the_levels_around_are) {
    const amr::Settings s = settings_of();
    Block block(s);
    const std::vector<double> ones(static_cast<std::size_t>(Block::cells(s)), 1.0);
    block.load(ones.data());
    for (int quarter = 0; quarter < 4; ++quarter) {
        block.unpack({0, 1, 0, Neighbour::finer, quarter}, ones.data());
    }
    block.unpack({0, 1, 1, Neighbour::coarser, 1}, ones.data());
    block.unpack({0, 1, 2, Neighbour::same, 0}, ones.data());
    for (const int wall : {3, 4, 5}) {
        block.fill_wall(wall);
    }
    std::vector<double> scratch, after(ones.size());
    block.stencil(scratch);
    block.save(after.data());
    for (const double value : after) {
        EXPECT_NEAR(value, 1, 1e-15);
    }
}

TEST(Block, parts_of_a_refined_block_merge_to_it_again) {
    const amr::Settings s = settings_of();
    const Block parent = numbered(s);
    Block again(s);
    std::vector<double> eighth(static_cast<std::size_t>(Block::cells(s)) / 8), before(8 * eighth.size()), after(before);
    for (int octant = 0; octant < 8; ++octant) {
        Block part(s);
        part.refine(parent, octant);
        part.save_coarser(eighth.data());
        again.load_eighth(octant, eighth.data());
    }
    parent.save(before.data());
    again.save(after.data());
    EXPECT_EQ(before, after);
}

} // namespace
