// SPDX-License-Identifier: BSD-3-Clause
// Which queue of a group a processor has, on machines with one NUMA node and with several, also with fewer queues than
// nodes.
#include "onesided/tagaspi/processors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace thence::tagaspi {
namespace {

struct machine {
    int nodes;
    int processors;  // of each node
    bool alternates; // neighbouring numbers belong to different nodes
};

std::ostream &operator<<(std::ostream &to, const machine &m) {
    return to << m.nodes << " nodes of " << m.processors << (m.alternates ? ", alternating" : "");
}

std::vector<placed_processor> processors_of(const machine &m) {
    std::vector<placed_processor> all;
    for (int i = 0; i < m.nodes * m.processors; ++i) {
        all.push_back({m.alternates ? i % m.nodes : i / m.processors, static_cast<std::size_t>(i)});
    }
    return all;
}

class queues_of_processors : public testing::TestWithParam<machine> {
protected:
    queues_of_processors() { sort_by_node(all); }
    unsigned queue_of(std::size_t position, unsigned queues) const {
        return queue_of_position(static_cast<unsigned>(position), static_cast<unsigned>(all.size()), queues);
    }
    std::vector<placed_processor> all = processors_of(GetParam());
};

TEST_P(queues_of_processors, are_shared_evenly_by_neighbours) {
    const auto number = static_cast<unsigned>(all.size());
    for (unsigned queues = 1; queues <= 2 * number; ++queues) {
        std::vector<unsigned> has(queues);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const unsigned queue = queue_of(i, queues);
            ASSERT_LT(queue, queues);
            ASSERT_TRUE(i == 0 || queue == queue_of(i - 1, queues) || queue == queue_of(i - 1, queues) + 1);
            ++has[queue];
        }
        const unsigned least = number / queues;
        EXPECT_EQ(*std::ranges::min_element(has), least) << queues << " queues";
        EXPECT_EQ(*std::ranges::max_element(has), number % queues == 0 ? least : least + 1) << queues << " queues";
    }
}

TEST_P(queues_of_processors, are_those_of_one_node_if_there_are_as_many_or_twice_as_many_and_of_whole_nodes_if_half) {
    const auto nodes = static_cast<unsigned>(GetParam().nodes);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto node = static_cast<unsigned>(all[i].node);
        EXPECT_EQ(queue_of(i, nodes), node);
        if (GetParam().processors % 2 == 0) {
            EXPECT_EQ(queue_of(i, 2 * nodes) / 2, node);
        }
        if (nodes % 2 == 0) {
            EXPECT_EQ(queue_of(i, nodes / 2), node / 2) << "fewer queues than nodes";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(machines, queues_of_processors,
                         testing::Values(machine{1, 1, false}, machine{1, 2, false}, machine{1, 13, false},
                                         machine{2, 8, false}, machine{2, 8, true}, machine{4, 6, true},
                                         machine{8, 16, false}, machine{8, 3, true}));

TEST(queues_of_added_processors, exist_although_a_processor_was_added_after_the_others_were_counted) {
    EXPECT_EQ(queue_of_position(8, 8, 4), 3U);
    EXPECT_EQ(queue_of_position(3, 3, 3), 2U);
    EXPECT_EQ(queue_of_position(0, 0, 1), 0U);
}

} // namespace
} // namespace thence::tagaspi
