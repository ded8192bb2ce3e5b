// SPDX-License-Identifier: BSD-3-Clause
#include "sequence.hpp"

#include <algorithm>
#include <set>

namespace qr {

Sequence::Sequence(const Shape &s, Tree tree) : shape(s), tiles_(s.tile_rows() * s.tile_columns()) {
    const int rows = shape.tile_rows();
    for (int k = 0; k < shape.tile_columns(); ++k) {
        factorize(k, k);
        if (tree == Tree::flat) {
            for (int i = k + 1; i < rows; ++i) {
                eliminate(k, k, i, false);
            }
            continue;
        }
        // The tile that stays must be as high as the panel is wide: a lower one, the last, is eliminated as it is.
        const auto is_high = [&](int i) { return shape.height(i) >= shape.width(k); };
        for (int i = k + 1; i < rows; ++i) {
            if (is_high(i)) {
                factorize(k, i);
            }
        }
        for (int distance = 1; k + distance < rows; distance *= 2) {
            for (int i = k; i + distance < rows; i += 2 * distance) {
                eliminate(k, i, i + distance, is_high(i + distance));
            }
        }
    }
    // What each task needs that is not on its rank comes in a message. Where a block is current:
    std::vector<std::set<int>> current(static_cast<std::size_t>(blocks()));
    holders.assign(static_cast<std::size_t>(blocks()), -1);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < shape.tile_columns(); ++j) {
            holders[static_cast<std::size_t>(tile(i, j))] = shape.owner(i, j);
            current[static_cast<std::size_t>(tile(i, j))].insert(shape.owner(i, j));
        }
    }
    for (int n = 0; n < static_cast<int>(tasks.size()); ++n) {
        const Task &task = tasks[static_cast<std::size_t>(n)];
        for (const Use &use : uses(task)) {
            const auto b = static_cast<std::size_t>(use.block);
            if (!current[b].empty() && current[b].insert(task.rank).second) {
                transfers.push_back({use.block, holders[b], task.rank, n});
            }
            if (use.writes) {
                current[b] = {task.rank};
                holders[b] = task.rank;
            }
        }
    }
}

void Sequence::add(Task task) {
    task.step = step_;
    tasks.push_back(task);
}

void Sequence::factorize(int k, int i) {
    ++step_;
    add({Task::geqrt, false, shape.owner(i, k), k, i, i, k, 0});
    ++step_;
    for (int j = k + 1; j < shape.tile_columns(); ++j) {
        add({Task::gemqrt, false, shape.owner(i, j), k, i, i, j, 0});
    }
}

void Sequence::eliminate(int k, int upper, int lower, bool triangular) {
    ++step_;
    add({Task::tpqrt, triangular, shape.owner(lower, k), k, upper, lower, k, 0});
    ++step_;
    for (int j = k + 1; j < shape.tile_columns(); ++j) {
        add({Task::tpmqrt, triangular, shape.owner(lower, j), k, upper, lower, j, 0});
    }
}

Sequence::Uses Sequence::uses(const Task &t) const {
    switch (t.kind) {
    case Task::geqrt:
        return {{{{tile(t.upper, t.k), true}, {factor(t.upper, t.k), true}}}, 2};
    case Task::gemqrt:
        return {{{{tile(t.upper, t.k), false}, {factor(t.upper, t.k), false}, {tile(t.upper, t.j), true}}}, 3};
    case Task::tpqrt:
        return {{{{tile(t.upper, t.k), true}, {tile(t.lower, t.k), true}, {second_factor(t.lower, t.k), true}}}, 3};
    default:
        return {{{{tile(t.lower, t.k), false},
                  {second_factor(t.lower, t.k), false},
                  {tile(t.upper, t.j), true},
                  {tile(t.lower, t.j), true}}},
                4};
    }
}

std::size_t Sequence::bytes(int block) const {
    const auto edge = static_cast<std::size_t>(shape.tile);
    return (is_tile(block) ? edge * edge : inner * edge) * sizeof(double);
}

double Sequence::operations() const {
    const double m = shape.rows;
    const double n = shape.columns;
    return 2 * m * n * n - 2 * n * n * n / 3;
}

double Sequence::operations(const Task &t) const {
    const double edge = shape.tile;
    const double cube = edge * edge * edge;
    switch (t.kind) {
    case Task::geqrt:
        return 4 * cube / 3;
    case Task::gemqrt:
        return 2 * cube;
    case Task::tpqrt:
        return t.triangular ? 2 * cube / 3 : 2 * cube;
    default:
        return t.triangular ? 2 * cube : 4 * cube;
    }
}

} // namespace qr
