// SPDX-License-Identifier: BSD-3-Clause
// The cost of waiting for a message in a coroutine: a task that awaits one receive, from its creation to its end,
// compared with MPI_Irecv and MPI_Wait. Both sides send the message to themselves after the receive is posted.
#include "measure/benchmark.hpp"
#include "measure/count_allocations.hpp"
#include "measure/self_receive.hpp"

#include <thence/transform_mpi.hpp>

#include <cstdlib>

namespace ex = thence::ex;

namespace {

auto receive_into(int &in) {
    return ex::just(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF) | thence::transform_mpi(MPI_Irecv);
}
ex::task<> receive(int &in) {
    co_await receive_into(in);
}

struct set_flag {
    using receiver_concept = ex::receiver_t;
    bool *done;

    void set_value() &&noexcept { *done = true; }
    void set_error(const std::exception_ptr &) &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
    void set_stopped() &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
};

void await(measure::work &work) {
    int in = 0;
    int out = 0;
    long allocated = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            const long before = measure::allocations;
            bool done = false;
            auto operation = ex::connect(receive(in), set_flag{&done});
            ex::start(operation);
            measure::send_to_self(out);
            while (!done) {
                thence_progress();
            }
            allocated = measure::allocations - before;
        }
    });
    work.result("allocations", static_cast<double>(allocated));
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const measure::sample ours =
            session.instructions({.work = "await", .threads = threads, .few = 2000, .many = 12000});
        const measure::sample baseline = session.instructions(measure::without_interposition(
            {.work = "wait", .threads = threads, .few = 2000, .many = 12000}, "await_recv"));
        const bool native = engine == "openmpi"; // the others have no bar, since their cost is that of MPI's polling
        session.add({.name = std::string(measure::name_of(threads)) + ", engine " + engine,
                     .found = measure::difference(ours, baseline),
                     .unit = "instructions per receive",
                     .kind = native ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 360,
                     .against = "MPI_Wait on the same receive",
                     .side_unit = "instructions per message",
                     .ours = ours.value,
                     .baseline = baseline.value});
    }
    const measure::numbers counted = session.alone({.work = "await"});
    session.add({.name = "allocations",
                 .found = {.value = counted.at("allocations")},
                 .unit = "heap allocations per receive (the coroutine frame)",
                 .kind = measure::bar_kind::at_most,
                 .bar = 1});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "await_recv",
                          .about = "cost of a coroutine that awaits a receive, compared with MPI_Irecv and MPI_Wait",
                          .bars = "at most +360 instructions on Open MPI, at both thread levels; one allocation",
                          .pieces = {{"wait", measure::wait_for_self_receive}, {"await", await}},
                          .judge = judge});
}
