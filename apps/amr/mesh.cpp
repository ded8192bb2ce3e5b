// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace amr {
namespace {

std::uint64_t key(int level, const std::array<int, 3> &at) {
    std::uint64_t k = static_cast<std::uint64_t>(level);
    for (const int c : at) {
        k = k << 18 | static_cast<std::uint64_t>(c);
    }
    return k;
}

// Each third bit of the result.
std::uint64_t spread(int number) {
    std::uint64_t out = 0;
    for (int bit = 0; bit < 18; ++bit) {
        out |= static_cast<std::uint64_t>(number >> bit & 1) << (3 * bit);
    }
    return out;
}

// The place of the low corner in Morton order. Leaves do not overlap, so no two have the same.
std::uint64_t order(const Leaf &leaf, int levels) {
    std::uint64_t out = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        out |= spread(leaf.at[axis] << (levels - leaf.level)) << axis;
    }
    return out;
}

Leaf child_of(const Leaf &parent, int octant) {
    Leaf child{parent.level + 1, parent.at, parent.owner};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        child.at[axis] = 2 * parent.at[axis] + (octant >> axis & 1);
    }
    return child;
}

int octant_of(const Leaf &leaf) {
    return (leaf.at[0] & 1) | (leaf.at[1] & 1) << 1 | (leaf.at[2] & 1) << 2;
}

Leaf parent_of(const Leaf &leaf) {
    return {leaf.level - 1, {leaf.at[0] >> 1, leaf.at[1] >> 1, leaf.at[2] >> 1}, leaf.owner};
}

// A coordinate that moves between 0 and 1, and is reflected there.
double reflected(double x) {
    x = std::fmod(std::fabs(x), 2.0);
    return x > 1 ? 2 - x : x;
}

std::vector<Leaf> root_leaves(const Settings &s) {
    std::vector<Leaf> roots;
    for (int z = 0; z < s.roots[2]; ++z) {
        for (int y = 0; y < s.roots[1]; ++y) {
            for (int x = 0; x < s.roots[0]; ++x) {
                roots.push_back({0, {x, y, z}, 0});
            }
        }
    }
    return roots;
}

} // namespace

bool Object::touches(const std::array<double, 3> &low, const std::array<double, 3> &high, int time) const {
    double nearest = 0, farthest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double c = reflected(centre[axis] + time * step[axis]);
        const double out = std::max({low[axis] - c, 0.0, c - high[axis]}),
                     far = std::max(c - low[axis], high[axis] - c);
        nearest += out * out;
        farthest += far * far;
    }
    return nearest <= radius * radius && radius * radius <= farthest;
}

std::array<double, 3> Leaf::low(const Settings &s) const {
    std::array<double, 3> corner;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        corner[axis] = static_cast<double>(at[axis]) / (s.roots[axis] << level);
    }
    return corner;
}

std::array<double, 3> Leaf::high(const Settings &s) const {
    return Leaf{level, {at[0] + 1, at[1] + 1, at[2] + 1}}.low(s);
}

Mesh::Mesh(const Settings &s, int n) : Mesh(s, root_leaves(s), n) {
    std::vector<Origin> origins;
    for (int level = 0; level < s.levels; ++level) {
        *this = next(0, origins);
    }
}

Mesh::Mesh(const Settings &s, std::vector<Leaf> leaves, int n) : settings(&s), ranks(n), all(std::move(leaves)) {
    std::sort(all.begin(), all.end(),
              [&](const Leaf &a, const Leaf &b) { return order(a, s.levels) < order(b, s.levels); });
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].owner = static_cast<int>(i * static_cast<std::size_t>(ranks) / all.size());
        index.emplace(key(all[i].level, all[i].at), static_cast<int>(i));
    }
}

int Mesh::find(int level, const std::array<int, 3> &at) const {
    const auto found = level < 0 ? index.end() : index.find(key(level, at));
    return found == index.end() ? -1 : found->second;
}

bool Mesh::wanted(const Leaf &leaf, int time) const {
    const auto low = leaf.low(*settings), high = leaf.high(*settings);
    return std::any_of(settings->objects.begin(), settings->objects.end(),
                       [&](const Object &o) { return o.touches(low, high, time); });
}

std::vector<Neighbour> Mesh::neighbours(int i, int face) const {
    const Leaf &me = leaf(i);
    const auto axis = static_cast<std::size_t>(face / 2);
    const std::size_t u = axis == 0 ? 1 : 0, w = axis == 2 ? 1 : 2; // the axes of the face
    std::array<int, 3> at = me.at;
    at[axis] += face % 2 == 0 ? -1 : 1;
    if (at[axis] < 0 || at[axis] >= settings->roots[axis] << me.level) {
        return {};
    }
    if (const int same = find(me.level, at); same >= 0) {
        return {{Neighbour::same, same, 0}};
    }
    if (const int coarser = find(me.level - 1, {at[0] >> 1, at[1] >> 1, at[2] >> 1}); coarser >= 0) {
        return {{Neighbour::coarser, coarser, (me.at[u] & 1) | (me.at[w] & 1) << 1}};
    }
    std::vector<Neighbour> finer;
    for (int quarter = 0; quarter < 4; ++quarter) {
        std::array<int, 3> child = {2 * at[0], 2 * at[1], 2 * at[2]};
        child[axis] += face % 2 == 0 ? 1 : 0;
        child[u] += quarter & 1;
        child[w] += quarter >> 1;
        finer.push_back({Neighbour::finer, find(me.level + 1, child), quarter});
    }
    return finer;
}

// Levels are raised until no two neighbours differ by more than one, so a leaf becomes coarser only if all of its
// siblings do and their neighbours permit it. Changes only rise: the loop ends.
std::vector<int> Mesh::changes(int time) const {
    std::vector<int> change;
    change.reserve(all.size());
    for (const Leaf &leaf : all) {
        change.push_back(wanted(leaf, time) ? (leaf.level < settings->levels ? 1 : 0) : (leaf.level > 0 ? -1 : 0));
    }
    const auto of = [&](int i) -> int & { return change[static_cast<std::size_t>(i)]; };
    for (bool again = true; std::exchange(again, false);) {
        for (int i = 0; i < size(); ++i) {
            for (int face = 0; face < 6; ++face) {
                for (const Neighbour &n : neighbours(i, face)) {
                    if (leaf(n.leaf).level + of(n.leaf) < leaf(i).level + of(i) - 1) {
                        ++of(n.leaf);
                        again = true;
                    }
                }
            }
            if (of(i) >= 0) {
                continue;
            }
            const Leaf parent = parent_of(leaf(i));
            for (int octant = 0; octant < 8; ++octant) {
                const Leaf sibling = child_of(parent, octant);
                const int found = find(sibling.level, sibling.at);
                if (found < 0 || of(found) >= 0) {
                    of(i) = 0;
                    again = true;
                    break;
                }
            }
        }
    }
    return change;
}

Mesh Mesh::next(int time, std::vector<Origin> &origins) const {
    const std::vector<int> change = changes(time);
    std::vector<Leaf> leaves;
    origins.clear();
    // In Morton order the siblings that become one leaf follow each other, and so do the parts of a leaf.
    for (int i = 0; i < size(); ++i) {
        const int c = change[static_cast<std::size_t>(i)];
        if (c == 0) {
            leaves.push_back(leaf(i));
            origins.push_back({Origin::kept, i, 0});
        } else if (c > 0) {
            for (int octant = 0; octant < 8; ++octant) {
                leaves.push_back(child_of(leaf(i), octant));
                origins.push_back({Origin::part, i, octant});
            }
        } else if (octant_of(leaf(i)) == 0) {
            leaves.push_back(parent_of(leaf(i)));
            origins.push_back({Origin::merged, i, 0});
        }
    }
    return Mesh(*settings, std::move(leaves), ranks);
}

} // namespace amr
