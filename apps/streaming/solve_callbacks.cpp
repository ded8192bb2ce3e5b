// SPDX-License-Identifier: BSD-3-Clause
// Callbacks on notifications (thence/notify.h), with one thread and without tasks: a block is put into the memory of
// the next stage, which sets a notification there. When the notifications that the next chunk of a block needs have
// arrived, the block is computed, acknowledged to the stage before and put into the next one. Blocks are computed in
// the order in which they may be.
#include "link.hpp"

#include "common/check.hpp"
#include "common/program.hpp"
#include "common/ready_queue.hpp"

#include <atomic>
#include <queue>
#include <thence/notify.h>
#include <vector>

namespace streaming {
namespace {

using apps::check;

// The receive buffers of all stages, with a notification for each block: it is there. And acknowledgements alone, one
// for each block: it was used.
struct Memory {
    thence_space space = nullptr;
    thence_segment arriving = nullptr, used = nullptr;
};
Memory memory;

class Callbacks {
public:
    explicit Callbacks(Run &r) : run(r), link(r), each(static_cast<std::size_t>(r.blocks())) {}

    void solve() {
        for (int b = 0; b < run.blocks(); ++b) {
            Block &block = each[static_cast<std::size_t>(b)];
            block.all = this;
            block.number = b;
            begin(block);
        }
        for (long left = static_cast<long>(run.chunks()) * run.blocks(); left > 0;) {
            poll(); // what has arrived may be computed too
            if (Block *const block = ready.take()) {
                advance(*block);
                --left;
            }
        }
        check(thence_queue_flush(memory.space, 0));
    }

private:
    struct Block {
        Callbacks *all = nullptr;
        int number = 0, chunk = 0;
        std::atomic<int> missing{0}; // notifications
        Message received{}, sent{};
    };

    // What the next chunk of a block needs: its numbers, and that the next stage has used those of the chunk before.
    void begin(Block &block) {
        block.missing = 1; // until all are asked for
        if (run.stage.receives()) {
            block.received = link.describe(false, block.chunk, block.number).message;
            await(memory.arriving, block);
        }
        if (run.stage.sends() && block.chunk > 0) {
            await(memory.used, block);
        }
        arrived(&block);
    }

    void await(thence_segment segment, Block &block) {
        const Timed timed(run.recorder, Activity::start, block.chunk, -1, block.number);
        int here = 0;
        ++block.missing;
        check(thence_notification_continue(segment, static_cast<unsigned>(block.number), 1, nullptr, arrived, &block,
                                           &here));
        block.missing -= here;
    }

    static void arrived(void *data) {
        Block &block = *static_cast<Block *>(data);
        if (--block.missing == 0) {
            block.all->ready.push(&block);
        }
    }

    void advance(Block &block) {
        const int b = block.number, c = block.chunk++;
        const auto id = static_cast<unsigned>(b);
        if (run.stage.receives()) {
            complete(block.received);
        }
        if (run.stage.sends() && c > 0) {
            complete(block.sent);
        }
        run.compute(c, b);
        {
            const Timed timed(run.recorder, Activity::start, c, -1, b);
            if (run.stage.receives() && c + 1 < run.chunks()) {
                check(thence_notify(run.stage.before(), memory.used, id, 1, 0));
            }
            if (run.stage.sends()) {
                block.sent = link.describe(true, c, b).message;
                check(thence_put_notify(
                    run.stage.out(b), static_cast<std::size_t>(run.stage.length(b)) * sizeof(double), run.stage.after(),
                    memory.arriving, static_cast<std::size_t>(run.stage.first(b)) * sizeof(double), id, 1, 0, nullptr));
            }
        }
        if (block.chunk < run.chunks()) {
            begin(block);
        } else if (run.stage.sends()) {
            complete(block.sent);
        }
    }

    void complete(Message message) {
        message.complete = now();
        run.recorder.add(message);
    }

    void poll() {
        const Timed timed(run.recorder, Activity::poll);
        ready.poll();
    }

    Run &run;
    Link link;
    std::vector<Block> each;
    apps::ReadyQueue<std::queue<Block *>> ready; // the oldest first
};

} // namespace

void solve_callbacks(Run &run) {
    Callbacks(run).solve();
}

// Before the timed run: the receive buffer of the stage lies in a segment.
void prepare_callbacks(Run &run) {
    const auto notifications = static_cast<unsigned>(run.blocks());
    apps::check_notifications(run.comm, notifications, THENCE_MOST_NOTIFICATIONS,
                              "the blocks of a chunk need; use a larger --block");
    int rank = 0;
    MPI_Comm_rank(run.comm, &rank);
    check(thence_space_create(run.comm, 1, &memory.space));
    check(thence_segment_create(memory.space, static_cast<std::size_t>(run.stage.numbers()) * sizeof(double),
                                notifications, &memory.arriving));
    check(thence_segment_create(memory.space, 0, notifications, &memory.used));
    thence_segment_info info{};
    check(thence_segment_query(memory.arriving, rank, &info, sizeof info));
    run.stage.use_memory(static_cast<double *>(info.memory), run.stage.out(0));
}

void release_callbacks(Run &) {
    check(thence_segment_free(&memory.used));
    check(thence_segment_free(&memory.arriving));
    check(thence_space_free(&memory.space));
}

} // namespace streaming
