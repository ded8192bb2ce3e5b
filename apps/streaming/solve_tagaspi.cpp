// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI: the task that sends a block writes it into the receive buffer of the next stage, with a notification; the
// task that receives it waits for the notification. All chunks use the same memory, so the next stage acknowledges a
// block at the end of the task that has computed it. Two variants wait for that before they write the block of the next
// chunk:
//  - tagaspi: in the onready function of the task that writes.
//  - tagaspi-tasks: in a task before it.
#include "link.hpp"
#include "tasks.hpp"

#include "common/gaspi.hpp"

namespace streaming {
namespace {

// Both have a notification for each block: that it is there, and that it was used.
constexpr gaspi_segment_id_t arriving = 0, leaving = 1;

enum class Acknowledged { in_onready, in_own_task };

template <Acknowledged how> class TagaspiSolver {
public:
    explicit TagaspiSolver(Run &r) : run(r), link(r), each(static_cast<std::size_t>(r.blocks())) {}

    void receive(thence::flow &flow, int c, int b) {
        flow.submit({thence::out(run.stage.in(b))}, {.label = "receive"}, [this, c, b] {
            block(b).received = link.describe(false, c, b);
            const Timed timed(run.recorder, Activity::start, c, -1, b);
            apps::check_gaspi(tagaspi_notify_iwait(arriving, id(b), GASPI_NOTIFICATION_IGNORE));
        });
    }

    void send(thence::flow &flow, int c, int b) {
        const char *const used = &block(b).used;
        const auto until_used = [this, c, b] {
            if (c > 0) {
                const Timed timed(run.recorder, Activity::start, c, -1, b);
                apps::check_gaspi(tagaspi_notify_iwait(leaving, id(b), GASPI_NOTIFICATION_IGNORE));
            }
        };
        const auto write = [this, c, b] {
            block(b).sent = link.describe(true, c, b);
            const Timed timed(run.recorder, Activity::start, c, -1, b);
            apps::check_gaspi(tagaspi_write_notify(leaving, offset(b), rank(run.stage.after()), arriving, offset(b),
                                                   bytes(b), id(b), 1, queue(b)));
        };
        if constexpr (how == Acknowledged::in_onready) {
            flow.submit({thence::in(run.stage.out(b))}, {.label = "send"}, thence::onready(until_used), write);
        } else {
            flow.submit({thence::out(used)}, {.label = "acknowledged"}, until_used);
            flow.submit({thence::in(run.stage.out(b)), thence::in(used)}, {.label = "send"}, write);
        }
    }

    // In the task that computes a block, before and after it does.
    void begin(int c, int b) {
        if (run.stage.receives()) {
            link.complete(block(b).received);
        }
        if (c > 0 && run.stage.sends()) {
            link.complete(block(b).sent);
        }
    }
    void computed(int c, int b) {
        if (run.stage.receives() && c + 1 < run.chunks()) {
            const Timed timed(run.recorder, Activity::start, c, -1, b);
            apps::check_gaspi(tagaspi_notify(leaving, rank(run.stage.before()), id(b), 1, queue(b)));
        }
    }
    void end() {
        for (const Block &b : each) {
            if (run.stage.sends()) {
                link.complete(b.sent);
            }
        }
    }

private:
    struct Block {
        Flight received, sent;
        char used; // its address stands for the acknowledgement in dependences
    };
    Block &block(int b) { return each[static_cast<std::size_t>(b)]; }

    // The stage after has the same lane, so its part of a chunk is as large.
    gaspi_offset_t offset(int b) const { return apps::offset_of(static_cast<std::size_t>(run.stage.first(b))); }
    gaspi_size_t bytes(int b) const { return static_cast<gaspi_size_t>(run.stage.length(b)) * sizeof(double); }
    static gaspi_notification_id_t id(int b) { return static_cast<gaspi_notification_id_t>(b); }
    static gaspi_queue_id_t queue(int b) { return apps::queue_of(static_cast<std::size_t>(b)); }
    static gaspi_rank_t rank(int r) { return static_cast<gaspi_rank_t>(r); }

    Run &run;
    Link link;
    std::vector<Block> each;
};

template <Acknowledged how> void solve(Run &run) {
    TagaspiSolver<how> messages(run);
    run_tasks(run, messages);
}

} // namespace

void solve_tagaspi(Run &run) {
    solve<Acknowledged::in_onready>(run);
}
void solve_tagaspi_tasks(Run &run) {
    solve<Acknowledged::in_own_task>(run);
}

// Before the timed run: the two buffers of the stage lie in segments.
void prepare_tagaspi(Run &run) {
    apps::check_notifications(run.comm, static_cast<std::size_t>(run.blocks()),
                              "the blocks of a chunk need; use a larger --block");
    apps::check_gaspi(tagaspi_proc_init(GASPI_BLOCK));
    const auto numbers = static_cast<std::size_t>(run.stage.numbers());
    double *const in = apps::make_segment(arriving, numbers);
    run.stage.use_memory(in, apps::make_segment(leaving, numbers));
}

void release_tagaspi(Run &) {
    apps::check_gaspi(tagaspi_proc_term(GASPI_BLOCK));
}

} // namespace streaming
