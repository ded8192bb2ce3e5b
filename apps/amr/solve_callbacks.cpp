// SPDX-License-Identifier: BSD-3-Clause
// Callbacks on notifications (thence/notify.h), with one thread and without tasks: a parcel is put into the receive
// buffer of its peer, which sets a notification there. All stages use the same buffers, so a parcel that is unpacked is
// acknowledged by a notification, and the one of the next stage waits for that. What is ready is done, the most urgent
// first.
//
// An exchange (a parcel that is sent or unpacked, the local copies of a block) touches some blocks. These are computed
// after it, and it comes again after they are computed. Invariant: so an exchange and a block that it touches take
// turns, neither comes twice in a row, and one counter for each is sufficient.
#include "agreement.hpp"
#include "link.hpp"

#include "common/check.hpp"
#include "common/input_error.hpp"
#include "common/program.hpp"
#include "common/ready_queue.hpp"

#include <atomic>
#include <deque>
#include <queue>
#include <thence/notify.h>
#include <tuple>

namespace amr {
namespace {

using apps::check;

// The receive buffers of all ranks, with a notification for each incoming parcel: it is there. And acknowledgements
// alone, one for each outgoing parcel: it was unpacked. They are replaced by larger ones where a plan needs them.
struct Memory {
    thence_space space = nullptr;
    thence_segment arriving = nullptr, used = nullptr;
    unsigned long long numbers = 0, notifications = 0; // of each rank
    double *buffer = nullptr;
};
Memory memory;

void free_segments() {
    if (memory.arriving != nullptr) {
        check(thence_segment_free(&memory.used));
        check(thence_segment_free(&memory.arriving));
    }
}

// Collective.
void make_segments(const Domain &domain, unsigned long long numbers, unsigned long long notifications) {
    constexpr unsigned long long most = THENCE_MOST_NOTIFICATIONS;
    apps::check_notifications(domain.comm(), notifications, most, "the messages of a rank need; use a larger --faces");
    if (memory.space == nullptr) {
        check(thence_space_create(domain.comm(), 1, &memory.space));
    }
    free_segments();
    memory.numbers = numbers + numbers / 2;
    memory.notifications = std::min(notifications + notifications / 2, most);
    const auto each = static_cast<unsigned>(memory.notifications);
    check(thence_segment_create(memory.space, memory.numbers * sizeof(double), each, &memory.arriving));
    check(thence_segment_create(memory.space, 0, each, &memory.used));
    thence_segment_info info{};
    check(thence_segment_query(memory.arriving, domain.rank(), &info, sizeof info));
    memory.buffer = static_cast<double *>(info.memory);
}

// Lets the parcels of the present mesh arrive in a segment. Collective.
void fit(Domain &domain) {
    const Plan &plan = domain.plan();
    unsigned long long needed[] = {plan.receive_numbers, std::max(plan.incoming.size(), plan.outgoing.size())};
    MPI_Allreduce(MPI_IN_PLACE, needed, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, domain.comm());
    if (needed[0] > memory.numbers || needed[1] > memory.notifications) {
        make_segments(domain, needed[0], needed[1]);
    }
    domain.receive_into(memory.buffer);
}

// The stages between two refinements.
class Callbacks {
public:
    Callbacks(Run &r, Epoch e) : run(r), link(r), plan(r.domain.plan()), agreement(r.domain), epoch(e) { make_work(); }

    void solve() {
        for (Work &w : work) {
            begin(w, w.kind < compute_sent ? 0 : w.others.size());
        }
        for (std::size_t left = work.size() * static_cast<std::size_t>(epoch.end - epoch.first); left > 0;) {
            // What has arrived goes before computation. Not before other work: on simulated ranks that takes no time,
            // and a rank that only polls at one simulated time is taken for one that waits.
            const Work *const next = ready.next();
            if (next == nullptr || next->kind >= compute_sent) {
                poll();
            }
            if (Work *const w = ready.take()) {
                advance(*w);
                --left;
            }
        }
        if (memory.space != nullptr) {
            check(thence_queue_flush(memory.space, 0));
        }
        for (const Work &w : work) {
            if (w.kind == send) {
                link.complete(w.flight); // nothing comes after it
            }
        }
    }

private:
    // The most urgent first: other ranks wait for what is sent, and for blocks that have faces in it.
    enum Kind : std::uint8_t { send, unpack, copy, compute_sent, compute };

    // An exchange, or the computation of a block, of which each stage has one.
    struct Work {
        Callbacks *all;
        Kind kind;
        std::size_t index;            // of a parcel or of a block
        int stage;                    // the next one
        std::atomic<int> missing{0};  // what it needs for that
        Flight flight{};              // of a parcel
        std::vector<Work *> others{}; // the blocks of an exchange, or the exchanges of a block
    };
    struct Later {
        bool operator()(const Work *a, const Work *b) const {
            return std::tie(a->stage, a->kind, a->index) > std::tie(b->stage, b->kind, b->index);
        }
    };

    void make_work() {
        std::vector<Work *> blocks(static_cast<std::size_t>(run.domain.mesh().size()));
        for (const int leaf : plan.mine) {
            blocks[static_cast<std::size_t>(leaf)] = &add(compute, static_cast<std::size_t>(leaf));
        }
        std::vector<int> leaves;
        const auto join = [&](Work &exchange) {
            std::sort(leaves.begin(), leaves.end());
            leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
            for (const int leaf : leaves) {
                Work &block = *blocks[static_cast<std::size_t>(leaf)];
                exchange.others.push_back(&block);
                block.others.push_back(&exchange);
                if (exchange.kind == send) {
                    block.kind = compute_sent;
                }
            }
            leaves.clear();
        };
        for (std::size_t i = 0; i < plan.outgoing.size(); ++i) {
            for (const Transfer &t : plan.outgoing[i].transfers) {
                leaves.push_back(t.from);
            }
            join(add(send, i));
        }
        for (std::size_t i = 0; i < plan.incoming.size(); ++i) {
            for (const Transfer &t : plan.incoming[i].transfers) {
                leaves.push_back(t.to);
            }
            join(add(unpack, i));
        }
        for (const int leaf : plan.mine) {
            leaves.push_back(leaf);
            for (const Transfer &t : plan.local[static_cast<std::size_t>(leaf)]) {
                leaves.push_back(t.from);
            }
            join(add(copy, static_cast<std::size_t>(leaf)));
        }
    }
    Work &add(Kind kind, std::size_t index) { return work.emplace_back(this, kind, index, epoch.first); }

    // `needed`: how many of the others come before it.
    void begin(Work &w, std::size_t needed) {
        w.missing = 1 + static_cast<int>(needed); // one until the notification is asked for
        if (w.kind == unpack) {
            w.flight.message = link.message(false, w.stage, plan.incoming[w.index]);
            await(memory.arriving, w);
        } else if (w.kind == send && w.stage > epoch.first) {
            await(memory.used, w);
        }
        arrived(&w);
    }

    void await(thence_segment segment, Work &w) {
        const Timed timed(run.recorder, Activity::start);
        int here = 0;
        ++w.missing;
        check(thence_notification_continue(segment, static_cast<unsigned>(w.index), 1, nullptr, arrived, &w, &here));
        w.missing -= here;
    }

    static void arrived(void *data) {
        Work &w = *static_cast<Work *>(data);
        if (--w.missing == 0) {
            w.all->ready.push(&w);
        }
    }

    void advance(Work &w) {
        perform(w);
        const bool again = ++w.stage < epoch.end;
        if (again) {
            begin(w, w.others.size());
        }
        if (again || w.kind < compute_sent) { // nothing comes after the last computation
            for (Work *const other : w.others) {
                arrived(other);
            }
        }
    }

    void perform(Work &w) {
        switch (w.kind) {
        case send:
            put(w);
            break;
        case unpack:
            link.complete(w.flight);
            run.domain.unpack(plan.incoming[w.index]);
            acknowledge(w);
            break;
        case copy:
            run.domain.copy_local(static_cast<int>(w.index));
            break;
        case compute_sent:
        case compute:
            run.compute(w.stage, static_cast<int>(w.index));
            break;
        }
    }

    void put(Work &w) {
        const Parcel &parcel = plan.outgoing[w.index];
        if (w.stage > epoch.first) {
            link.complete(w.flight);
        }
        run.domain.pack(parcel);
        w.flight.message = link.message(true, w.stage, parcel);
        const Timed timed(run.recorder, Activity::start);
        check(thence_put_notify(run.domain.send_part(parcel), parcel.count * sizeof(double), parcel.peer,
                                memory.arriving, agreement.offset_there(parcel) * sizeof(double),
                                static_cast<unsigned>(agreement.arrives_as(parcel)), 1, 0, nullptr));
    }

    void acknowledge(const Work &w) {
        if (w.stage + 1 < epoch.end) {
            const Parcel &parcel = plan.incoming[w.index];
            const Timed timed(run.recorder, Activity::start);
            check(thence_notify(parcel.peer, memory.used, static_cast<unsigned>(agreement.left_as(parcel)), 1, 0));
        }
    }

    void poll() {
        const Timed timed(run.recorder, Activity::poll);
        ready.poll();
    }

    Run &run;
    Link link;
    const Plan &plan;
    const Agreement agreement;
    const Epoch epoch;
    std::deque<Work> work; // nothing moves
    apps::ReadyQueue<std::priority_queue<Work *, std::vector<Work *>, Later>> ready;
};

} // namespace

void solve_callbacks(Run &run) {
    try {
        run.epochs([&](Epoch epoch) {
            if (epoch.first > 0) { // the first mesh was there before
                fit(run.domain);
            }
            Callbacks(run, epoch).solve();
        });
    } catch (const apps::InputError &) { // of a mesh, on all ranks
        release_callbacks(run);
        throw;
    }
}

// Before the timed run: the segments of the first mesh.
void prepare_callbacks(Run &run) {
    fit(run.domain);
}

void release_callbacks(Run &) {
    free_segments();
    if (memory.space != nullptr) {
        check(thence_space_free(&memory.space));
    }
    memory = {};
}

} // namespace amr
