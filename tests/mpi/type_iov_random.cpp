// SPDX-License-Identifier: BSD-3-Clause
// The segments of random datatypes, compared with what MPI_Pack does with them.
#include "random_types.hpp"

#include <gtest/gtest.h>
#include <thence/type_iov.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

// The offsets of the bytes in the order in which MPI_Pack packs them. Each byte of the source has its own number, of
// which one call packs eight bits.
class packed_by_mpi {
public:
    std::vector<int> offsets(int count, MPI_Datatype type) {
        int bytes = 0;
        MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
        std::vector<int> result(static_cast<std::size_t>(bytes), 0);
        std::vector<unsigned char> packed(static_cast<std::size_t>(bytes));
        for (int part = 0; part < 2; ++part) {
            int position = 0;
            MPI_Pack(source_[part].data() + random_types::reach, count, type, packed.data(), bytes, &position,
                     MPI_COMM_SELF);
            result.resize(static_cast<std::size_t>(position));
            for (std::size_t i = 0; i < result.size(); ++i) {
                result[i] |= packed[i] << (8 * part);
            }
        }
        for (int &offset : result) {
            offset -= random_types::reach;
        }
        return result;
    }

private:
    static std::vector<unsigned char> numbers(int shift) {
        std::vector<unsigned char> result(2 * random_types::reach);
        for (std::size_t i = 0; i < result.size(); ++i) {
            result[i] = static_cast<unsigned char>(i >> shift);
        }
        return result;
    }
    std::vector<unsigned char> source_[2] = {numbers(0), numbers(8)};
};

// All segments, a random number at a time.
std::vector<thence_iov> segments_of(int count, MPI_Datatype type, random_types &random) {
    std::vector<thence_iov> all;
    for (;;) {
        std::vector<thence_iov> some(static_cast<std::size_t>(random.between(1, 20)));
        MPI_Count got = -1;
        EXPECT_EQ(MPI_SUCCESS, thence_type_iov_x(nullptr, count, type, static_cast<MPI_Count>(all.size()), some.data(),
                                                 static_cast<MPI_Count>(some.size()), &got));
        all.insert(all.end(), some.begin(), some.begin() + got);
        if (got < static_cast<MPI_Count>(some.size())) {
            return all;
        }
    }
}

MPI_Aint displacement(const thence_iov &segment) {
    return static_cast<MPI_Aint>(reinterpret_cast<std::intptr_t>(segment.iov_base));
}

std::vector<int> offsets_of(const std::vector<thence_iov> &segments) {
    std::vector<int> result;
    for (const thence_iov &segment : segments) {
        for (MPI_Aint i = 0; i < segment.iov_len; ++i) {
            result.push_back(static_cast<int>(displacement(segment) + i));
        }
    }
    return result;
}

// The queries by bytes and by numbers agree with the list.
void expect_queries_agree(int count, MPI_Datatype type, const std::vector<thence_iov> &all, random_types &random) {
    MPI_Count bytes = 0;
    for (const thence_iov &segment : all) {
        ASSERT_GT(segment.iov_len, 0);
        bytes += segment.iov_len;
    }
    for (int i = 0; i < 4; ++i) {
        const MPI_Count most = i == 0 ? -1 : random.between(0, static_cast<int>(bytes) + 3);
        MPI_Count whole = 0;
        MPI_Count whole_bytes = 0;
        while (whole < static_cast<MPI_Count>(all.size()) &&
               (most == -1 || whole_bytes + all[static_cast<std::size_t>(whole)].iov_len <= most)) {
            whole_bytes += all[static_cast<std::size_t>(whole++)].iov_len;
        }
        MPI_Count length = -1;
        MPI_Count length_bytes = -1;
        ASSERT_EQ(MPI_SUCCESS, thence_type_iov_len_x(count, type, most, &length, &length_bytes));
        ASSERT_EQ(whole, length) << most << " bytes";
        ASSERT_EQ(whole_bytes, length_bytes);
        const MPI_Count number = random.between(0, static_cast<int>(all.size()) + 1);
        thence_iov one{};
        MPI_Count got = -1;
        ASSERT_EQ(MPI_SUCCESS, thence_type_iov_x(nullptr, count, type, number, &one, 1, &got));
        ASSERT_EQ(number < static_cast<MPI_Count>(all.size()) ? 1 : 0, got);
        if (got == 1) {
            ASSERT_EQ(0, std::memcmp(&one, &all[static_cast<std::size_t>(number)], sizeof one));
        }
    }
}

class random_datatypes : public testing::Test {
protected:
    static constexpr int reach = random_types::reach;

    random_datatypes() : random_(seed()) {}
    static unsigned seed() {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return 20261124U + static_cast<unsigned>(rank);
    }
    // How many of `all` this rank does.
    static int share(int all) {
        int size = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return all / size;
    }

    random_types random_;
    packed_by_mpi packed_;
};

TEST_F(random_datatypes, have_the_segments_that_MPI_packs) {
    const int types = share(100'000);
    for (int i = 0; i < types; ++i) {
        MPI_Datatype type = random_.make(random_.between(0, 4));
        const int count = random_.between(0, 3);
        const std::vector<thence_iov> all = segments_of(count, type, random_);
        ASSERT_EQ(packed_.offsets(count, type), offsets_of(all))
            << "datatype " << i << ": " << random_types::text(type);
        ASSERT_NO_FATAL_FAILURE(expect_queries_agree(count, type, all, random_)) << random_types::text(type);
        MPI_Type_free(&type);
    }
}

// A copy of a datatype with no overlap of its own, so that it can be a destination.
bool overlaps(const std::vector<int> &offsets) {
    std::vector<int> sorted = offsets;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end();
}

TEST_F(random_datatypes, are_copied_into_each_other) {
    std::vector<unsigned char> source(2 * reach);
    std::vector<unsigned char> destination(2 * reach);
    std::vector<unsigned char> expected(2 * reach);
    for (unsigned char &byte : source) {
        byte = static_cast<unsigned char>(random_.between(1, 255));
    }
    const int pairs = share(10'000);
    for (int i = 0; i < pairs; ++i) {
        MPI_Datatype from = random_.make(random_.between(0, 3));
        MPI_Datatype to = random_.make(random_.between(0, 3));
        const int sent = random_.between(0, 3);
        const int received = random_.between(0, 3);
        const std::vector<int> from_offsets = packed_.offsets(sent, from);
        const std::vector<int> to_offsets = packed_.offsets(received, to);
        if (!overlaps(to_offsets)) {
            std::ranges::fill(destination, 0);
            std::ranges::fill(expected, 0);
            const std::size_t bytes = std::min(from_offsets.size(), to_offsets.size());
            for (std::size_t k = 0; k < bytes; ++k) {
                expected[static_cast<std::size_t>(to_offsets[k] + reach)] =
                    source[static_cast<std::size_t>(from_offsets[k] + reach)];
            }
            MPI_Count copied = -1;
            const int code =
                thence_type_copy(source.data() + reach, sent, from, destination.data() + reach, received, to, &copied);
            int error_class = MPI_SUCCESS;
            MPI_Error_class(code, &error_class);
            ASSERT_EQ(from_offsets.size() > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS, error_class);
            ASSERT_EQ(static_cast<MPI_Count>(bytes), copied);
            ASSERT_EQ(expected, destination)
                << "pair " << i << ": " << random_types::text(from) << " to " << random_types::text(to);
        }
        MPI_Type_free(&from);
        MPI_Type_free(&to);
    }
}

} // namespace
