// SPDX-License-Identifier: BSD-3-Clause
// The cost of a message to self whose receive and send are bound to tasks with TAMPI_Iwait. The cost of the same tasks
// without MPI is subtracted. What remains is compared with plain MPI calls: as many receives and sends, and
// MPI_Waitall.
#include "measure/benchmark.hpp"

#ifndef THENCE_BENCH_WITHOUT // compiled a second time, without Thence, as task_message_plain
#include "tasks/waves.hpp"

#include <TAMPI.h>
#include <thence/omp.h>
#endif

#include <array>
#include <atomic>
#include <mpi.h>

namespace {

#ifdef THENCE_BENCH_WITHOUT

void raw(measure::work &work) {
    constexpr int in_flight = 64;
    std::array<int, in_flight> in{};
    std::array<int, in_flight> out{};
    std::array<MPI_Request, std::size_t{2} * in_flight> requests{};
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            for (int k = 0; k < in_flight; ++k) {
                MPI_Irecv(&in[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &requests[k]);
            }
            for (int k = 0; k < in_flight; ++k) {
                MPI_Isend(&out[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &requests[in_flight + k]);
            }
            MPI_Waitall(2 * in_flight, requests.data(), MPI_STATUSES_IGNORE);
        }
    });
}

#else

using measure::wave_data;

void receive(wave_data &data, int k) {
    MPI_Request request;
    MPI_Irecv(&data.in[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &request);
    TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
}

void send(wave_data &data, int k) {
    MPI_Request request;
    MPI_Isend(&data.out[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &request);
    TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
}

template <class Message> auto in_detached_task(wave_data &data, Message message) {
    return [&data, message](int k, omp_event_handle_t event) {
        thence_omp_task_begin(event);
        message(data, k);
        thence_omp_task_end();
    };
}

void openmp(measure::work &work) {
    wave_data data;
    measure::openmp_team::lead([&] {
        work.count([&](long waves) {
            for (long i = 0; i < waves; ++i) {
                measure::openmp_team::wave(data, in_detached_task(data, receive), in_detached_task(data, send));
            }
        });
    });
}

void openmp_without_mpi(measure::work &work) {
    wave_data data;
    const auto complete = [](int, omp_event_handle_t event) { omp_fulfill_event(event); };
    measure::openmp_team::lead([&] {
        work.count([&](long waves) {
            for (long i = 0; i < waves; ++i) {
                measure::openmp_team::wave(data, complete, complete);
            }
        });
    });
}

void flow(measure::work &work) {
    wave_data data;
    const measure::flow_runtime runtime;
    measure::flow_team team;
    work.count([&](long waves) {
        for (long i = 0; i < waves; ++i) {
            team.wave_with_progress(
                data, [&](int k) { receive(data, k); }, [&](int k) { send(data, k); });
        }
    });
}

// How often workers poll between two tasks on the processor, which is not counted.
void flow_polls(measure::work &work) {
    static std::atomic<long> polls{0};
    const long waves = work.quick() ? 2'000 : 20'000;
    wave_data data;
    const measure::flow_runtime runtime([] {
        ++polls;
        thence_progress();
        return 1;
    });
    measure::flow_team team;
    for (long i = 0; i < waves; ++i) {
        team.wave(
            data, [&](int k) { receive(data, k); }, [&](int k) { send(data, k); });
    }
    work.result("polls", static_cast<double>(polls.load()) / static_cast<double>(waves * measure::in_flight));
}

void flow_without_mpi(measure::work &work) {
    wave_data data;
    measure::flow_team team;
    const auto nothing = [](int) {};
    work.count([&](long waves) {
        for (long i = 0; i < waves; ++i) {
            team.wave(data, nothing, nothing);
        }
    });
}

#endif

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const measure::sample raw = session.instructions(measure::without_interposition(
        {.work = "raw", .few = 50, .many = 250, .main_thread_only = true}, "task_message"));
    const double polls = session.alone({.work = "flow_polls"}).at("polls");
    const std::string not_counted = "not counted: polls between two tasks, " + measure::text_of(1000 * polls) +
                                    " per 1,000 messages on this processor";
    for (const bool with_flow : {true, false}) {
        const std::string work = with_flow ? "flow" : "openmp";
        const measure::sample with =
            session.instructions({.work = work, .few = 50, .many = 250, .main_thread_only = true});
        const measure::sample without =
            session.instructions({.work = work + "_without_mpi", .few = 50, .many = 250, .main_thread_only = true});
        const measure::sample ours = measure::difference(with, without, 64);
        session.add({.name = (with_flow ? "data-flow tasks, engine " : "detached tasks of OpenMP, engine ") + engine,
                     .found = measure::difference(ours, measure::difference(raw, {}, 64)),
                     .unit = "instructions per message",
                     .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 380,
                     .against = "MPI_Irecv, MPI_Isend and MPI_Waitall, 64 messages in flight",
                     .side_unit = "instructions per message, beyond the same tasks without MPI",
                     .ours = ours.value,
                     .baseline = raw.value / 64,
                     .to_beat = "TAMPI 3.0.1: 1,896 in all; TAMPI 4.1: 2,023 to 3,227",
                     .note = with_flow ? not_counted : ""});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "task_message",
                          .about = "cost of a message bound to tasks with TAMPI_Iwait, compared with MPI_Waitall",
                          .bars = "at most +380 instructions per message on Open MPI, data-flow and OpenMP tasks",
#ifdef THENCE_BENCH_WITHOUT
                          .pieces = {{"raw", raw}},
#else
                          .pieces = {{"flow", flow},
                                     {"flow_polls", flow_polls},
                                     {"flow_without_mpi", flow_without_mpi},
                                     {"openmp", openmp},
                                     {"openmp_without_mpi", openmp_without_mpi}},
#endif
                          .judge = judge});
}
