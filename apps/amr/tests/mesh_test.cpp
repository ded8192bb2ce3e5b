// SPDX-License-Identifier: BSD-3-Clause
// The invariants of the mesh over many steps, and that the plans of two ranks have the same messages.
#include "plan.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace {

using amr::Leaf;
using amr::Mesh;
using amr::Neighbour;
using amr::Origin;

amr::Settings settings_of(int levels) {
    amr::Settings s;
    s.roots = {3, 2, 1};
    s.levels = levels;
    s.faces = 3;
    s.objects = {{{0.3, 0.4, 0.5}, 0.2, {0.07, 0.02, 0}}, {{0.8, 0.8, 0.7}, 0.1, {-0.05, 0, 0.04}}};
    return s;
}

// Calls `check` with each mesh of ten times, its origins and the mesh before.
template <class F> void each_mesh(const amr::Settings &s, int ranks, F check) {
    Mesh mesh(s, ranks);
    for (int time = 1; time <= 10; ++time) {
        std::vector<Origin> origins;
        Mesh next = mesh.next(time, origins);
        check(mesh, next, origins);
        mesh = std::move(next);
    }
}

double volume(const amr::Settings &s, const Leaf &leaf) {
    const auto low = leaf.low(s), high = leaf.high(s);
    return (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
}

TEST(Mesh, leaves_cover_the_domain_and_neighbours_differ_by_one_level) {
    const amr::Settings s = settings_of(3);
    each_mesh(s, 4, [&](const Mesh &, const Mesh &mesh, const std::vector<Origin> &) {
        double all = 0;
        for (int i = 0; i < mesh.size(); ++i) {
            all += volume(s, mesh.leaf(i));
            for (int face = 0; face < 6; ++face) {
                const auto around = mesh.neighbours(i, face);
                EXPECT_TRUE(around.empty() || around.size() == 1 || around.size() == 4);
                for (const Neighbour &n : around) {
                    ASSERT_GE(n.leaf, 0);
                    const int difference = mesh.leaf(n.leaf).level - mesh.leaf(i).level;
                    EXPECT_EQ(difference, n.kind == Neighbour::same ? 0 : n.kind == Neighbour::finer ? 1 : -1);
                    // The neighbour has this leaf behind its opposite face, at the same quarter.
                    bool back = false;
                    for (const Neighbour &m : mesh.neighbours(n.leaf, face ^ 1)) {
                        back |= m.leaf == i && m.quarter == n.quarter;
                    }
                    EXPECT_TRUE(back);
                }
            }
        }
        EXPECT_NEAR(all, 1, 1e-12);
    });
}

TEST(Mesh, surfaces_are_in_blocks_of_the_finest_level_at_the_start) {
    const amr::Settings s = settings_of(3);
    const Mesh mesh(s, 1);
    for (const Leaf &leaf : mesh.leaves()) {
        for (const amr::Object &object : s.objects) {
            if (object.touches(leaf.low(s), leaf.high(s), 0)) {
                EXPECT_EQ(leaf.level, 3);
            }
        }
    }
}

TEST(Mesh, blocks_are_refined_and_coarsened_as_objects_move) {
    const amr::Settings s = settings_of(2);
    std::map<Origin::Kind, int> seen;
    each_mesh(s, 4, [&](const Mesh &before, const Mesh &mesh, const std::vector<Origin> &origins) {
        ASSERT_EQ(static_cast<int>(origins.size()), mesh.size());
        double from = 0, to = 0;
        for (int i = 0; i < mesh.size(); ++i) {
            const Origin &o = origins[static_cast<std::size_t>(i)];
            ++seen[o.kind];
            const int difference = mesh.leaf(i).level - before.leaf(o.from).level;
            EXPECT_EQ(difference, o.kind == Origin::kept ? 0 : o.kind == Origin::part ? 1 : -1);
            to += volume(s, mesh.leaf(i));
            from += volume(s, before.leaf(o.from)) * (o.kind == Origin::part     ? 0.125
                                                      : o.kind == Origin::merged ? 8
                                                                                 : 1);
        }
        EXPECT_NEAR(from, to, 1e-12);
    });
    EXPECT_GT(seen[Origin::kept], 0);
    EXPECT_GT(seen[Origin::part], 0);
    EXPECT_GT(seen[Origin::merged], 0);
}

TEST(Mesh, ranks_have_equally_many_leaves_and_the_mesh_does_not_depend_on_them) {
    const amr::Settings s = settings_of(2);
    std::vector<int> sizes;
    each_mesh(s, 1, [&](const Mesh &, const Mesh &mesh, const std::vector<Origin> &) { sizes.push_back(mesh.size()); });
    std::size_t time = 0;
    each_mesh(s, 5, [&](const Mesh &, const Mesh &mesh, const std::vector<Origin> &) {
        EXPECT_EQ(mesh.size(), sizes[time++]);
        std::map<int, int> leaves;
        for (const Leaf &leaf : mesh.leaves()) {
            ++leaves[leaf.owner];
        }
        EXPECT_EQ(leaves.size(), 5U);
        for (const auto &[rank, count] : leaves) {
            EXPECT_LE(std::abs(count - mesh.size() / 5), 1) << rank;
        }
    });
}

TEST(Plan, both_ranks_of_a_message_have_it_alike_and_each_face_arrives_once) {
    const amr::Settings s = settings_of(2);
    constexpr int ranks = 4;
    each_mesh(s, ranks, [&](const Mesh &, const Mesh &mesh, const std::vector<Origin> &) {
        std::vector<amr::Plan> plans;
        plans.reserve(ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            plans.emplace_back(s, mesh, rank);
        }
        std::map<std::array<int, 3>, const amr::Parcel *> sent;
        std::set<std::array<int, 3>> faces;
        const auto arrives = [&](const amr::Transfer &t) {
            const std::array<int, 3> face{t.to, t.face, t.kind == Neighbour::finer ? t.quarter : -1};
            EXPECT_TRUE(faces.insert(face).second);
        };
        for (int rank = 0; rank < ranks; ++rank) {
            std::size_t end = 0;
            for (const amr::Parcel &p : plans[static_cast<std::size_t>(rank)].outgoing) {
                EXPECT_EQ(p.offset, end);
                end += p.count;
                EXPECT_LE(p.transfers.size(), 3U);
                sent[{rank, p.peer, p.number}] = &p;
            }
        }
        std::size_t received = 0, expected = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const amr::Plan &plan = plans[static_cast<std::size_t>(rank)];
            for (const amr::Parcel &p : plan.incoming) {
                ++received;
                const amr::Parcel *other = sent[{p.peer, rank, p.number}];
                ASSERT_NE(other, nullptr);
                ASSERT_EQ(other->count, p.count);
                ASSERT_EQ(other->transfers.size(), p.transfers.size());
                for (std::size_t i = 0; i < p.transfers.size(); ++i) {
                    EXPECT_EQ(other->transfers[i].from, p.transfers[i].from);
                    EXPECT_EQ(other->transfers[i].to, p.transfers[i].to);
                    arrives(p.transfers[i]);
                }
            }
            for (const auto &transfers : plan.local) {
                for (const amr::Transfer &t : transfers) {
                    arrives(t);
                }
            }
        }
        EXPECT_EQ(received, sent.size());
        for (int i = 0; i < mesh.size(); ++i) {
            for (int face = 0; face < 6; ++face) {
                expected += mesh.neighbours(i, face).size();
            }
        }
        EXPECT_EQ(faces.size(), expected);
    });
}

} // namespace
