// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory that other processes map: what is another file, or a file that is too short, is refused.
#include "onesided/memory/shared_block.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thence::memory {
namespace {

class shared_blocks : public ::testing::Test {
protected:
    shared_block made = shared_block::make(10'001);
    shared_block open(int descriptor, std::size_t bytes, std::uint64_t cookie) const {
        return shared_block::open(getpid(), descriptor, bytes, cookie);
    }
};

TEST_F(shared_blocks, are_the_same_memory_for_all_who_open_them) {
    ASSERT_TRUE(made);
    const shared_block opened = open(made.descriptor(), made.bytes(), made.cookie());
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened.bytes(), 10'001U);
    std::memset(made.data(), 5, made.bytes());
    EXPECT_EQ(opened.data()[10'000], 5);
    EXPECT_EQ(opened.cookie(), made.cookie());
}

TEST_F(shared_blocks, have_cookies_of_their_own) {
    const shared_block other = shared_block::make(10'001);
    EXPECT_NE(other.cookie(), made.cookie());
    EXPECT_FALSE(open(other.descriptor(), other.bytes(), made.cookie())) << "its number is used for another block";
    EXPECT_EQ(shared_block().cookie(), 0U);
}

TEST_F(shared_blocks, whose_pages_are_given_back_take_no_memory_although_they_are_mapped) {
    const shared_block opened = open(made.descriptor(), made.bytes(), made.cookie());
    ASSERT_TRUE(opened);
    std::memset(opened.data(), 5, opened.bytes());
    const auto cookie = made.cookie();
    const auto blocks = [&] {
        struct stat about {};
        EXPECT_EQ(fstat(made.descriptor(), &about), 0);
        return about.st_blocks;
    };
    EXPECT_GT(blocks(), 0);
    made.give_pages_back();
    EXPECT_EQ(blocks(), 0);
    EXPECT_EQ(opened.data()[10'000], 0);
    opened.data()[10'000] = 1; // of a process that does not know it yet
    EXPECT_FALSE(open(made.descriptor(), made.bytes(), cookie));
}

TEST_F(shared_blocks, cannot_be_made_shorter) {
    EXPECT_EQ(ftruncate(made.descriptor(), 0), -1);
    EXPECT_EQ(errno, EPERM);
}

TEST_F(shared_blocks, that_are_too_short_or_another_file_are_refused) {
    EXPECT_FALSE(open(made.descriptor(), 1'000'000, made.cookie()));
    EXPECT_FALSE(open(-1, 8, 0));
    EXPECT_FALSE(open(1'000'000, 8, 0)) << "no such descriptor";
    const int file = memfd_create("a file that can be made shorter", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 100'000), 0);
    EXPECT_FALSE(open(file, 8, 0));
    EXPECT_EQ(errno, ESTALE);
    ASSERT_EQ(ftruncate(file, 1), 0);
    EXPECT_FALSE(open(file, 8, 0));
    close(file);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_FALSE(open(ends[0], 8, 0));
    close(ends[0]);
    close(ends[1]);
}

TEST_F(shared_blocks, of_more_than_there_is_are_empty) {
    EXPECT_FALSE(shared_block::make(SIZE_MAX));
    EXPECT_FALSE(shared_block::make(SIZE_MAX / 2));
}

} // namespace
} // namespace thence::memory
