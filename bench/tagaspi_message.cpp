// SPDX-License-Identifier: BSD-3-Clause
// The cost of a notified write in shared memory whose two ends are bound to tasks: one task asks for the notification,
// another one writes. The cost of the same tasks without communication is subtracted. The limit is the same put and
// reset without tasks.
#include "measure/benchmark.hpp"
#include "measure/limit.hpp"
#include "onesided/put_to_itself.hpp"
#include "tasks/waves.hpp"

#include <TAGASPI.h>

namespace {

using measure::wave_data;

void flow(measure::work &work) {
    wave_data data;
    const measure::flow_runtime runtime;
    tagaspi_proc_init(GASPI_BLOCK);
    gaspi_segment_create(0, 2 * sizeof data.in, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);
    {
        measure::flow_team team;
        const auto receive = [](int k) {
            tagaspi_notify_iwait(0, static_cast<gaspi_notification_id_t>(k), GASPI_NOTIFICATION_IGNORE);
        };
        const auto send = [](int k) {
            const auto offset = static_cast<gaspi_offset_t>(k) * sizeof(int);
            tagaspi_write_notify(0, offset, 0, 0, sizeof data.in + offset, sizeof(int),
                                 static_cast<gaspi_notification_id_t>(k), 1, 0);
        };
        work.count([&](long waves) {
            for (long i = 0; i < waves; ++i) {
                team.wave_with_progress(data, receive, send);
            }
        });
    }
    tagaspi_proc_term(GASPI_BLOCK);
}

void flow_alone(measure::work &work) {
    wave_data data;
    measure::flow_team team;
    const auto nothing = [](int) {};
    work.count([&](long waves) {
        for (long i = 0; i < waves; ++i) {
            team.wave(data, nothing, nothing);
        }
    });
}

void to_itself(measure::work &work) {
    onesided::count_puts_to_itself(work, 1, [](thence_segment) {});
}

void judge(measure::session &session) {
    const measure::sample with =
        session.instructions({.work = "flow", .few = 50, .many = 250, .main_thread_only = true});
    const measure::sample without =
        session.instructions({.work = "flow_alone", .few = 50, .many = 250, .main_thread_only = true});
    const measure::sample least = session.instructions({.work = "to_itself", .main_thread_only = true});
    measure::figure message{.name = "data-flow tasks, shared memory",
                            .found = measure::difference(with, without, measure::in_flight),
                            .unit = "instructions per message",
                            .kind = measure::bar_kind::at_most,
                            .bar = 1200,
                            .against = "the same tasks without communication",
                            .side_unit = "instructions per message",
                            .ours = with.value / measure::in_flight,
                            .baseline = without.value / measure::in_flight};
    measure::add_limit(message, {.what = "a put of 4 B to itself and a reset of its notification, without tasks",
                                 .value = least.value});
    session.add(message);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "tagaspi_message",
                          .about = "cost of tagaspi_write_notify and tagaspi_notify_iwait in two tasks, shared memory",
                          .bars = "at most 1,200 instructions per message beyond the tasks",
                          .pieces = {{"flow", flow}, {"flow_alone", flow_alone}, {"to_itself", to_itself}},
                          .judge = judge});
}
