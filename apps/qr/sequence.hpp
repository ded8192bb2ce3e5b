// SPDX-License-Identifier: BSD-3-Clause
// The tasks of the factorization in a sequential order, and the messages between ranks that follow from it. Every rank
// makes the same sequence, so both ends of a message know it by its number.
//
// Blocks are the tiles and, for each elimination, the triangular factors of its reflectors. A task runs on one rank and
// reads and writes blocks. Invariant: a block is current on the rank that wrote it last, and on those that have got it
// since.
#pragma once

#include "tiles.hpp"

#include <array>
#include <vector>

namespace qr {

enum class Tree {
    flat,  // the tiles of a column one after the other into the first
    binary // pairs, pairs of pairs, ...
};

struct Task {
    enum Kind : signed char { geqrt, gemqrt, tpqrt, tpmqrt };
    Kind kind;
    bool triangular; // tpqrt, tpmqrt: the lower tile was factorized before
    int rank;        // runs it
    int k;           // the column that is eliminated
    int upper;       // the row of the tile that stays; that of geqrt and gemqrt
    int lower;       // the row of the tile that is eliminated
    int j;           // the column that is updated
    int step;        // of the elimination: tasks of one step that update columns are independent
};

struct Use {
    int block;
    bool writes;
};

struct Transfer {
    int block;
    int from, to; // ranks
    int before;   // the task that needs it
};

class Sequence {
public:
    Sequence(const Shape &shape, Tree tree);

    const Shape shape;
    std::vector<Task> tasks;
    std::vector<Transfer> transfers; // ordered by `before`
    std::vector<int> holders;        // of each block, the rank where it is current at the end

    int blocks() const { return tiles_ * 3; }
    int tile(int i, int j) const { return i * shape.tile_columns() + j; }
    // The factors of geqrt on row i, and of the elimination of row i, of column k.
    int factor(int i, int k) const { return tiles_ + tile(i, k); }
    int second_factor(int i, int k) const { return 2 * tiles_ + tile(i, k); }
    bool is_tile(int block) const { return block < tiles_; }
    std::size_t bytes(int block) const;
    // The blocks that a task uses: at most four.
    struct Uses {
        std::array<Use, 4> each;
        int count;
        const Use *begin() const { return each.data(); }
        const Use *end() const { return each.data() + count; }
    };
    Uses uses(const Task &task) const;
    double operations() const; // of the whole factorization
    double operations(const Task &task) const;

private:
    void eliminate(int k, int upper, int lower, bool triangular);
    void factorize(int k, int i);
    void add(Task task);

    int tiles_;
    int step_ = 0;
};

// Runs a task; `at(block)` gives the memory of a block.
template <class At> void run(const Sequence &s, const Task &t, At at) {
    const Shape &h = s.shape;
    const int edge = h.tile;
    const int columns = h.width(t.k); // of the panel
    switch (t.kind) {
    case Task::geqrt:
        geqrt(h.height(t.upper), columns, at(s.tile(t.upper, t.k)), at(s.factor(t.upper, t.k)), edge);
        break;
    case Task::gemqrt:
        gemqrt(true, h.height(t.upper), h.width(t.j), columns < h.height(t.upper) ? columns : h.height(t.upper),
               at(s.tile(t.upper, t.k)), at(s.factor(t.upper, t.k)), at(s.tile(t.upper, t.j)), edge);
        break;
    case Task::tpqrt:
        tpqrt(t.triangular, h.height(t.lower), columns, at(s.tile(t.upper, t.k)), at(s.tile(t.lower, t.k)),
              at(s.second_factor(t.lower, t.k)), edge);
        break;
    case Task::tpmqrt:
        tpmqrt(true, t.triangular, h.height(t.lower), h.width(t.j), columns, at(s.tile(t.lower, t.k)),
               at(s.second_factor(t.lower, t.k)), at(s.tile(t.upper, t.j)), at(s.tile(t.lower, t.j)), edge);
        break;
    }
}

} // namespace qr
