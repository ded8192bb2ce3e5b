// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI: the task that sends a parcel packs it and writes it into the receive buffer of its peer, with a notification. The tasks
// that receive wait for it. All stages use the same buffers, so a parcel is acknowledged at the end of the task that unpacks it, and
// the task that writes the one of the next stage waits for that in its onready function.
//
// After each refinement every two neighbours agree on where the parcels of one lie in the buffer of the other, and on the numbers of
// their notifications. A rank says so when it has unpacked all parcels of the epoch before, so no parcel comes too early.
#include "tasks.hpp"

#include "common/gaspi.hpp"

#include <map>

namespace amr {
namespace {

// A notification of `arriving` for each incoming parcel: it is there; of `leaving` for each outgoing one: it was unpacked.
constexpr gaspi_segment_id_t arriving = 0, leaving = 1;

// The two buffers in segments, which are replaced by larger ones where a plan needs them.
class Segments {
public:
    explicit Segments(Domain &d) : domain(d) {}

    // Collective.
    void fit() {
        const Plan &plan = domain.plan();
        apps::check_notifications(domain.comm(), std::max(plan.incoming.size(), plan.outgoing.size()),
                                  "the messages of a rank need; use a larger --faces");
        unsigned long long needed = std::max(plan.send_numbers, plan.receive_numbers);
        MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, domain.comm());
        if (send == nullptr || needed > numbers) {
            if (send != nullptr) {
                apps::check_gaspi(gaspi_segment_delete(arriving));
                apps::check_gaspi(gaspi_segment_delete(leaving));
                MPI_Barrier(domain.comm());
            }
            numbers = needed + needed / 2;
            receive = apps::make_segment(arriving, numbers);
            send = apps::make_segment(leaving, numbers);
        }
        domain.use_memory(send, receive);
    }

private:
    Domain &domain;
    std::size_t numbers = 0; // in each
    double *send = nullptr, *receive = nullptr;
};

// What a rank tells each neighbour: where the neighbour's parcels begin in its buffer, and the first notifications of the parcels
// that it receives from there and sends to there.
struct Agreed {
    unsigned long long offset = 0, first_arriving = 0, first_leaving = 0;
};

std::map<int, Agreed> agree(const Domain &domain) {
    const Plan &plan = domain.plan();
    std::map<int, Agreed> mine, theirs;
    for (std::size_t i = plan.incoming.size(); i-- > 0;) {
        Agreed &agreed = mine[plan.incoming[i].peer];
        agreed.offset = plan.incoming[i].offset;
        agreed.first_arriving = i;
    }
    for (std::size_t i = plan.outgoing.size(); i-- > 0;) {
        mine[plan.outgoing[i].peer].first_leaving = i;
    }
    std::vector<MPI_Request> requests;
    constexpr int tag = 1, count = 3;
    for (const auto &[peer, agreed] : mine) {
        MPI_Irecv(&theirs[peer], count, MPI_UNSIGNED_LONG_LONG, peer, tag, domain.comm(), &requests.emplace_back());
        MPI_Isend(&agreed, count, MPI_UNSIGNED_LONG_LONG, peer, tag, domain.comm(), &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return theirs;
}

class TagaspiMessages {
public:
    TagaspiMessages(Run &r, Epoch e)
        : run(r), link(r), plan(r.domain.plan()), epoch(e), theirs(agree(r.domain)), received(plan.incoming.size()),
          sent(plan.outgoing.size()) {
        for (const Parcel &p : plan.outgoing) {
            first_of.emplace(p.peer, p.offset);
        }
    }

    void receive(thence::flow &flow, const char *key, int stage, std::size_t i) {
        flow.submit({thence::out(key)}, {.label = "receive"}, [this, stage, i] {
            received[i].message = link.message(false, stage, plan.incoming[i]);
            const Timed timed(run.recorder, Activity::start);
            apps::check_gaspi(tagaspi_notify_iwait(arriving, id(i), GASPI_NOTIFICATION_IGNORE));
        });
    }

    void send(thence::flow &flow, const std::vector<thence::access> &accesses, int stage, std::size_t i) {
        const auto until_unpacked = [this, stage, i] {
            if (stage > epoch.first) {
                const Timed timed(run.recorder, Activity::start);
                apps::check_gaspi(tagaspi_notify_iwait(leaving, id(i), GASPI_NOTIFICATION_IGNORE));
            }
        };
        flow.submit(accesses, {.label = "send"}, thence::onready(until_unpacked), [this, stage, i] {
            const Parcel &parcel = plan.outgoing[i];
            const Agreed &there = theirs.at(parcel.peer);
            if (stage > epoch.first) {
                link.complete(sent[i]);
            }
            run.domain.pack(parcel);
            sent[i].message = link.message(true, stage, parcel);
            const Timed timed(run.recorder, Activity::start);
            apps::check_gaspi(tagaspi_write_notify(
                leaving, apps::offset_of(parcel.offset), rank(parcel), arriving,
                apps::offset_of(there.offset + parcel.offset - first_of.at(parcel.peer)), parcel.count * sizeof(double),
                id(there.first_arriving + static_cast<std::size_t>(parcel.number)), 1, apps::queue_of(i)));
        });
    }

    void arrived(int, std::size_t i) { link.complete(received[i]); }
    void unpacked(int stage, std::size_t i) {
        if (stage + 1 < epoch.end) {
            const Parcel &parcel = plan.incoming[i];
            const Timed timed(run.recorder, Activity::start);
            apps::check_gaspi(
                tagaspi_notify(leaving, rank(parcel),
                               id(theirs.at(parcel.peer).first_leaving + static_cast<std::size_t>(parcel.number)), 1,
                               apps::queue_of(i)));
        }
    }

    // After the last task of the epoch.
    void end() {
        for (const Flight &f : sent) {
            link.complete(f);
        }
    }

private:
    static gaspi_notification_id_t id(std::size_t i) { return static_cast<gaspi_notification_id_t>(i); }
    static gaspi_rank_t rank(const Parcel &parcel) { return static_cast<gaspi_rank_t>(parcel.peer); }

    Run &run;
    Link link;
    const Plan &plan;
    const Epoch epoch;
    const std::map<int, Agreed> theirs;
    std::map<int, std::size_t> first_of; // where the parcels for a peer begin in the send buffer
    std::vector<Flight> received, sent;
};

} // namespace

void solve_tagaspi(Run &run) {
    thence::flow flow({.workers = run.threads});
    Segments segments(run.domain);
    try {
        run.epochs([&](Epoch epoch) {
            segments.fit();
            TagaspiMessages messages(run, epoch);
            run_tasks(run, flow, messages, epoch);
            messages.end();
        });
    } catch (const apps::InputError &) { // of a mesh, on all ranks
        release_tagaspi(run);
        throw;
    }
}

// Before the timed run, and after the comparison.
void prepare_tagaspi(Run &) {
    apps::check_gaspi(tagaspi_proc_init(GASPI_BLOCK));
}
void release_tagaspi(Run &) {
    apps::check_gaspi(tagaspi_proc_term(GASPI_BLOCK));
}

} // namespace amr
