// SPDX-License-Identifier: BSD-3-Clause
// As sender_pair, in the default mode of the pools: the receiver of each operation runs in a task of the workers. The
// pool has one thread, the waiting one, so that the count has everything.
#include "measure/benchmark.hpp"
#include "measure/count_allocations.hpp"
#include "measure/message_pairs.hpp"

#include <thence/pools.hpp>

#include <type_traits>

namespace ex = thence::ex;

namespace {

using measure::batch;
using measure::bytes;

struct count_down {
    using receiver_concept = ex::receiver_t;
    int *left;

    void set_value(auto &&...) &&noexcept { --*left; }
    void set_error(const std::exception_ptr &) &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
};

auto receive(measure::messages &m, thence::pools &pools, int k) {
    return ex::just(m.in[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF) | pools.transform_mpi(MPI_Irecv);
}
auto send(measure::messages &m, thence::pools &pools, int k) {
    return ex::just(m.out[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF) | pools.transform_mpi(MPI_Isend);
}

void senders(measure::work &work) {
    thence::pools pools({.workers = 0, .mode = {}});
    measure::messages m;
    using receive_operation = ex::connect_result_t<decltype(receive(m, pools, 0)), count_down>;
    using send_operation = ex::connect_result_t<decltype(send(m, pools, 0)), count_down>;
    long allocated = 0;
    work.count([&](long iterations) {
        std::array<measure::operation_storage<receive_operation>, batch> receives;
        std::array<measure::operation_storage<send_operation>, batch> sends;
        for (long i = 0; i < iterations; ++i) {
            const long before = measure::allocations;
            int left = 2 * batch;
            for (int k = 0; k < batch; ++k) {
                receives[k].start([&] { return ex::connect(receive(m, pools, k), count_down{&left}); });
                sends[k].start([&] { return ex::connect(send(m, pools, k), count_down{&left}); });
            }
            pools.work_until([&] { return left == 0; });
            allocated = measure::allocations - before; // of the last batch, in steady state
        }
    });
    work.result("allocations", static_cast<double>(allocated) / batch);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const measure::sample ours = session.instructions({.work = "senders"});
    const measure::sample baseline =
        session.instructions(measure::without_interposition({.work = "raw"}, "sender_pair_default"));
    session.add({.name = std::string(measure::name_of(measure::level::multiple)) + ", engine " + engine,
                 .found = measure::difference(ours, baseline, batch),
                 .unit = "instructions per pair",
                 .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                 .bar = 1500,
                 .against = "Irecv, Isend and MPI_Waitall",
                 .side_unit = "instructions per pair",
                 .ours = ours.value / batch,
                 .baseline = baseline.value / batch,
                 .to_beat = "pika: +10063"});
    session.add({.name = "allocations",
                 .found = {.value = session.alone({.work = "senders"}).at("allocations")},
                 .unit = "heap allocations per pair",
                 .to_beat = "pika: 8 to 10"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "sender_pair_default",
         .about = "cost of a send and a receive of 64 B with transform_mpi, continued in a task of a pool, compared "
                  "with Irecv+Isend+Waitall",
         .bars = "at most +1500 instructions per pair on Open MPI",
         .pieces = {{"raw", measure::raw_pairs}, {"senders", senders}},
         .judge = judge});
}
