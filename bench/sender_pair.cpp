// SPDX-License-Identifier: BSD-3-Clause
// The cost of transform_mpi: 32 receives and 32 sends of 64 bytes, each a sender that is connected, started and
// completed, compared with the same operations through plain MPI calls and MPI_Waitall; and the number of its heap
// allocations.
#include "measure/benchmark.hpp"
#include "measure/count_allocations.hpp"
#include "measure/message_pairs.hpp"

#include <thence/transform_mpi.hpp>

#include <array>
#include <cstdlib>

namespace ex = thence::ex;

namespace {

using measure::batch;
using measure::bytes;
using measure::messages;
using measure::operation_storage;

struct count_down {
    using receiver_concept = ex::receiver_t;
    int *left;

    void set_value(auto &&...) &&noexcept { --*left; }
    void set_error(const std::exception_ptr &) &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
};

auto receive(messages &m, int k) {
    return ex::just(m.in[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF) | thence::transform_mpi(MPI_Irecv);
}
auto send(messages &m, int k) {
    return ex::just(m.out[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF) | thence::transform_mpi(MPI_Isend);
}

void senders(measure::work &work) {
    using receive_operation = ex::connect_result_t<decltype(receive(std::declval<messages &>(), 0)), count_down>;
    using send_operation = ex::connect_result_t<decltype(send(std::declval<messages &>(), 0)), count_down>;
    messages m;
    long allocated = 0;
    work.count([&](long iterations) {
        std::array<operation_storage<receive_operation>, batch> receives;
        std::array<operation_storage<send_operation>, batch> sends;
        for (long i = 0; i < iterations; ++i) {
            const long before = measure::allocations;
            int left = 2 * batch;
            for (int k = 0; k < batch; ++k) {
                receives[k].start([&] { return ex::connect(receive(m, k), count_down{&left}); });
                sends[k].start([&] { return ex::connect(send(m, k), count_down{&left}); });
            }
            while (left != 0) {
                thence_progress();
            }
            allocated = measure::allocations - before; // of the last batch, in steady state
        }
    });
    work.result("allocations", static_cast<double>(allocated) / batch);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const measure::sample ours = session.instructions({.work = "senders", .threads = threads});
        const measure::sample baseline =
            session.instructions(measure::without_interposition({.work = "raw", .threads = threads}, "sender_pair"));
        const bool native = engine == "openmpi"; // the others have no bar, since their cost is that of MPI's polling
        session.add({.name = std::string(measure::name_of(threads)) + ", engine " + engine,
                     .found = measure::difference(ours, baseline, batch),
                     .unit = "instructions per pair",
                     .kind = native ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 250,
                     .against = "Irecv, Isend and MPI_Waitall",
                     .side_unit = "instructions per pair",
                     .ours = ours.value / batch,
                     .baseline = baseline.value / batch,
                     .to_beat = "pika: +3913 at best, +10063 by default"});
    }
    const measure::numbers counted = session.alone({.work = "senders"});
    session.add({.name = "allocations",
                 .found = {.value = counted.at("allocations")},
                 .unit = "heap allocations per pair",
                 .kind = measure::bar_kind::at_most,
                 .bar = 0,
                 .to_beat = "pika: 8 to 10"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "sender_pair",
         .about = "cost of a send and a receive of 64 B with transform_mpi, compared with Irecv+Isend+Waitall",
         .bars = "at most +250 instructions per pair on Open MPI, at both thread levels; no allocation",
         .pieces = {{"raw", measure::raw_pairs}, {"senders", senders}},
         .judge = judge});
}
