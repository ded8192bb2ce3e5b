// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI: the task that sends a parcel packs it and writes it into the receive buffer of its peer, with a
// notification. The tasks that receive wait for it. All stages use the same buffers, so a parcel is acknowledged at the
// end of the task that unpacks it, and the task that writes the one of the next stage waits for that in its onready
// function.
// After each refinement neighbours agree on where parcels go (agreement.hpp).
#include "agreement.hpp"
#include "tasks.hpp"

#include "common/gaspi.hpp"

namespace amr {
namespace {

// A notification of `arriving` for each incoming parcel: it is there; of `leaving` for each outgoing one: it was
// unpacked.
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

class TagaspiMessages {
public:
    TagaspiMessages(Run &r, Epoch e)
        : run(r), link(r), plan(r.domain.plan()), epoch(e), agreement(r.domain), received(plan.incoming.size()),
          sent(plan.outgoing.size()) {}

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
            if (stage > epoch.first) {
                link.complete(sent[i]);
            }
            run.domain.pack(parcel);
            sent[i].message = link.message(true, stage, parcel);
            const Timed timed(run.recorder, Activity::start);
            apps::check_gaspi(tagaspi_write_notify(leaving, apps::offset_of(parcel.offset), rank(parcel), arriving,
                                                   apps::offset_of(agreement.offset_there(parcel)),
                                                   parcel.count * sizeof(double), id(agreement.arrives_as(parcel)), 1,
                                                   apps::queue_of(i)));
        });
    }

    void arrived(int, std::size_t i) { link.complete(received[i]); }
    void unpacked(int stage, std::size_t i) {
        if (stage + 1 < epoch.end) {
            const Parcel &parcel = plan.incoming[i];
            const Timed timed(run.recorder, Activity::start);
            apps::check_gaspi(
                tagaspi_notify(leaving, rank(parcel), id(agreement.left_as(parcel)), 1, apps::queue_of(i)));
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
    const Agreement agreement;
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
