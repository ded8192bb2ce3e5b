// SPDX-License-Identifier: BSD-3-Clause
// Callbacks on notifications (thence/notify.h), with one thread and without tasks: a piece of a boundary row is put
// into the halo row of the next band, which sets a notification there. A block is ready when the blocks and the pieces
// that it needs are there. As in solve_tagaspi.cpp there are no acknowledgements, and a piece is written again only
// when the put before it has arrived. Invariant: whatever a block needs for an iteration comes after its sweep of the
// iteration before, so one counter is sufficient.
#include "halo.hpp"

#include "common/check.hpp"
#include "common/program.hpp"
#include "common/ready_queue.hpp"

#include <atomic>
#include <queue>
#include <thence/notify.h>
#include <tuple>
#include <vector>

namespace heat {
namespace {

using apps::check;

// The cells of all bands, with two notifications for each column of blocks, one for each direction.
struct Memory {
    thence_space space = nullptr;
    thence_segment bands = nullptr;
};
Memory memory;

unsigned notification_of(Direction d, int k) {
    return 2 * static_cast<unsigned>(k) + (d == Direction::down ? 0 : 1);
}

class Callbacks {
public:
    explicit Callbacks(Run &r)
        : run(r), halo(r), rows(r.block_rows()), cols(r.block_cols()),
          blocks(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)),
          columns(static_cast<std::size_t>(cols)) {}

    void solve() {
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k) {
                Block &block = at(i, k);
                block.all = this;
                block.row = i;
                block.col = k;
                begin(block);
            }
        }
        for (long left = static_cast<long>(blocks.size()) * run.iterations; left > 0;) {
            poll(); // what has arrived may be computed too
            if (Block *const block = ready.take()) {
                advance(*block);
                --left;
            }
        }
        check(thence_queue_flush(memory.space, 0));
        for (int k = 0; k < cols && halo.sends(Direction::down); ++k) {
            halo.complete(sent(Direction::down, k)); // no block of this rank comes after it
        }
    }

private:
    struct Block {
        Callbacks *all = nullptr;
        int row = 0, col = 0;
        int iteration = 0;           // the next one
        std::atomic<int> missing{0}; // what it needs for that, blocks and pieces
    };
    // The records of the messages of one column of blocks, one for each direction.
    struct Column {
        Flight received[2], sent[2];
    };
    // Earlier iterations first, then columns, as the next rank needs the last block of a column, and blocks of a column
    // share rows.
    struct Later {
        bool operator()(const Block *a, const Block *b) const {
            return std::tie(a->iteration, a->col, a->row) > std::tie(b->iteration, b->col, b->row);
        }
    };

    Block &at(int i, int k) {
        return blocks[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k)];
    }
    Flight &received(Direction d, int k) { return columns[static_cast<std::size_t>(k)].received[static_cast<int>(d)]; }
    Flight &sent(Direction d, int k) { return columns[static_cast<std::size_t>(k)].sent[static_cast<int>(d)]; }

    // Whether a block of row `i` uses a piece of this direction, and whether it sends one after its sweep.
    bool needs(Direction d, int t, int i) const {
        return halo.receives(d) && (d == Direction::down ? i == 0 : i == rows - 1 && t > 0);
    }
    bool gives(Direction d, int t, int i) const {
        return halo.sends(d) && (d == Direction::down ? i == rows - 1 : i == 0 && t + 1 < run.iterations);
    }

    void begin(Block &block) {
        const int t = block.iteration, i = block.row, k = block.col;
        block.missing = 1 + (i > 0) + (k > 0); // one until all pieces are asked for
        if (t > 0) {
            block.missing += (i + 1 < rows) + (k + 1 < cols);
        }
        for (const Direction d : {Direction::down, Direction::up}) {
            if (needs(d, t, i)) {
                await(d, block);
            }
        }
        arrived(&block);
    }

    void await(Direction d, Block &block) {
        const int k = block.col, t = d == Direction::down ? block.iteration : block.iteration - 1;
        const Timed timed(run.recorder, Activity::start, t, -1, k);
        received(d, k) = halo.describe(false, d, t, k, run.col0(k), run.col1(k));
        int here = 0;
        ++block.missing;
        check(thence_notification_continue(memory.bands, notification_of(d, k), 1, nullptr, arrived, &block, &here));
        block.missing -= here;
    }

    static void arrived(void *data) {
        Block &block = *static_cast<Block *>(data);
        if (--block.missing == 0) {
            block.all->ready.push(&block);
        }
    }

    void advance(Block &block) {
        const int t = block.iteration++, i = block.row, k = block.col;
        for (const Direction d : {Direction::down, Direction::up}) {
            if (needs(d, t, i)) {
                halo.complete(received(d, k));
            }
            if (t > 0 && gives(d, t - 1, i)) { // what this block needed came after it
                halo.complete(sent(d, k));
            }
        }
        run.compute(t, i, k);
        for (const Direction d : {Direction::down, Direction::up}) {
            if (gives(d, t, i)) {
                put(d, t, k);
            }
        }
        const bool again = t + 1 < run.iterations;
        if (again) {
            begin(block);
        }
        if (i + 1 < rows) {
            arrived(&at(i + 1, k));
        }
        if (k + 1 < cols) {
            arrived(&at(i, k + 1));
        }
        if (again && i > 0) {
            arrived(&at(i - 1, k));
        }
        if (again && k > 0) {
            arrived(&at(i, k - 1));
        }
    }

    void put(Direction d, int t, int k) {
        const Timed timed(run.recorder, Activity::start, t, -1, k);
        const Message &m = (sent(d, k) = halo.describe(true, d, t, k, run.col0(k), run.col1(k))).message;
        const bool down = d == Direction::down;
        const int from = down ? run.band.rows() - 1 : 0, to = down ? -1 : run.partition.rows_of(m.peer);
        // Bands differ in their number of rows, not in their columns.
        check(thence_put_notify(run.band.row(from) + run.col0(k), static_cast<std::size_t>(m.cells) * sizeof(double),
                                m.peer, memory.bands,
                                static_cast<std::size_t>(run.band.offset(to) + run.col0(k)) * sizeof(double),
                                notification_of(d, k), 1, 0, nullptr));
    }

    void poll() {
        const Timed timed(run.recorder, Activity::poll);
        ready.poll();
    }

    Run &run;
    Halo halo;
    const int rows, cols;
    std::vector<Block> blocks;
    std::vector<Column> columns;
    apps::ReadyQueue<std::priority_queue<Block *, std::vector<Block *>, Later>> ready;
};

} // namespace

void solve_callbacks(Run &run) {
    Callbacks(run).solve();
}

// Before the timed run: the cells lie in a segment.
void prepare_callbacks(Run &run) {
    const auto notifications = 2 * static_cast<unsigned>(run.block_cols());
    apps::check_notifications(run.comm, notifications, THENCE_MOST_NOTIFICATIONS,
                              "the blocks of a row need, two for each; use a larger --block");
    check(thence_space_create(run.comm, 1, &memory.space));
    check(thence_segment_create(memory.space, run.band.size() * sizeof(double), notifications, &memory.bands));
    thence_segment_info info{};
    check(thence_segment_query(memory.bands, run.rank, &info, sizeof info));
    run.band.use_memory(static_cast<double *>(info.memory));
}

void release_callbacks(Run &) {
    check(thence_segment_free(&memory.bands));
    check(thence_space_free(&memory.space));
}

} // namespace heat
