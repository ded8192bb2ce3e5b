// SPDX-License-Identifier: BSD-3-Clause
// The tree of GASPI's collective calls, with more members than a machine has processes: 256, 1,024, and numbers that
// are no powers of two. A message is there as soon as it is sent, and the members go on in an order that is random.
#include "onesided/gaspi/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

namespace thence::gaspi {
namespace {

class sum_of_numbers final : public combination {
public:
    bool combine(bytes &into, const bytes &other) const override {
        if (into.size() != other.size()) {
            return false;
        }
        const std::uint64_t sum = number_in(into) + number_in(other);
        into = bytes_of(sum);
        return true;
    }
    static std::uint64_t number_in(const bytes &from) {
        std::uint64_t number = 0;
        std::memcpy(&number, from.data(), sizeof number);
        return number;
    }
    static bytes bytes_of(std::uint64_t number) {
        bytes made(sizeof number);
        std::memcpy(made.data(), &number, sizeof number);
        return made;
    }
};

class members {
public:
    explicit members(int size) : sent_by(static_cast<std::size_t>(size)), all_(sent_by.size()), order_(sent_by.size()) {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            all_[i].ranks.resize(all_.size());
            std::iota(all_[i].ranks.begin(), all_[i].ranks.end(), gaspi_rank_t{0});
            all_[i].own = static_cast<int>(i);
            all_[i].active = call::allreduce_user;
            all_[i].value = sum_of_numbers::bytes_of(i + 1);
        }
        std::iota(order_.begin(), order_.end(), 0);
    }
    group &operator[](int index) { return all_[static_cast<std::size_t>(index)]; }

    // Each member goes on once in a round, until the call is complete in all but one that is gone. Returns how many
    // rounds that took; 0: it does not end.
    int run(int gone = -1) {
        std::vector<bool> is_complete(all_.size());
        const int most = 4 * static_cast<int>(all_.size());
        for (int round = 1; round <= most; ++round) {
            std::ranges::shuffle(order_, random_);
            bool all_complete = true;
            for (const int own : order_) {
                const auto i = static_cast<std::size_t>(own);
                if (own != gone && !is_complete[i]) {
                    is_complete[i] = go_on(all_[i], gone);
                    all_complete = all_complete && is_complete[i];
                }
            }
            if (all_complete) {
                return round;
            }
        }
        return 0;
    }
    bool nothing_is_left() const { return on_their_way_.empty(); }

    std::vector<int> sent_by; // how many messages, by member

private:
    bool go_on(group &g, int gone) {
        const auto send = [&](int to, direction way) {
            if (to == gone) {
                return false;
            }
            ++sent_by[static_cast<std::size_t>(g.own)];
            const bool is_first =
                on_their_way_.emplace(std::tuple(g.own, to, way), contribution{g.value, g.value.size(), g.has_failed})
                    .second;
            EXPECT_TRUE(is_first) << g.own << " to " << to;
            return true;
        };
        const auto take = [&](int from, direction way, contribution &taken) {
            const auto found = on_their_way_.find({from, g.own, way});
            if (found == on_their_way_.end()) {
                taken = {};
                taken.has_failed = from == gone;
                return taken.has_failed;
            }
            taken = std::move(found->second);
            on_their_way_.erase(found);
            return true;
        };
        return advance(g, sum_of_numbers{}, send, take);
    }

    std::vector<group> all_;
    std::map<std::tuple<int, int, direction>, contribution> on_their_way_;
    std::mt19937 random_{42};

    std::vector<int> order_;
};

TEST(tree_of_collective_calls, gives_all_members_what_all_have_given) {
    for (const int size : {1, 2, 3, 4, 7, 8, 255, 256, 257, 1000, 1024}) {
        members all(size);
        const auto depth = static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1)));
        const int rounds = all.run();
        ASSERT_NE(rounds, 0) << size;
        EXPECT_LE(rounds, 2 * depth + 1) << size;
        const auto expected = static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(size + 1) / 2;
        for (int i = 0; i < size; ++i) {
            ASSERT_EQ(sum_of_numbers::number_in(all[i].value), expected) << i << " of " << size;
            ASSERT_FALSE(all[i].has_failed);
        }
        EXPECT_EQ(std::accumulate(all.sent_by.begin(), all.sent_by.end(), 0), 2 * (size - 1))
            << "one message up and one down for each member but the first";
        EXPECT_EQ(*std::ranges::max_element(all.sent_by), depth);
        EXPECT_TRUE(all.nothing_is_left());
    }
}

TEST(tree_of_collective_calls, fails_in_all_members_if_two_values_cannot_be_combined) {
    for (const int size : {2, 256, 1000}) {
        for (const int other : {0, 1, size / 2, size - 1}) {
            members all(size);
            all[other].value.push_back(0); // another length
            ASSERT_NE(all.run(), 0) << size;
            for (int i = 0; i < size; ++i) {
                ASSERT_TRUE(all[i].has_failed) << i << " of " << size;
            }
            EXPECT_TRUE(all.nothing_is_left());
        }
    }
}

TEST(tree_of_collective_calls, fails_in_all_others_if_a_member_is_gone) {
    for (const int size : {2, 256, 1000}) {
        for (const int gone : {0, 1, size / 2, size - 2, size - 1}) {
            members all(size);
            ASSERT_NE(all.run(gone), 0) << gone << " of " << size;
            for (int i = 0; i < size; ++i) {
                ASSERT_TRUE(i == gone || all[i].has_failed) << i << " of " << size;
            }
        }
    }
}

} // namespace
} // namespace thence::gaspi
