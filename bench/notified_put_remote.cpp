// SPDX-License-Identifier: BSD-3-Clause
// Notified puts between two hosts over TCP, beside MPI_Isend, MPI_Irecv and MPI_Wait.
#include "measure/benchmark.hpp"
#include "measure/limit.hpp"
#include "onesided/exchange.hpp"

#include <functional>

namespace {

struct put_size {
    std::size_t bytes;
    const char *name;
    int round_trips;
};
constexpr put_size sizes[] = {{8, "8 B", 100}, {4096, "4 KiB", 100}, {65536, "64 KiB", 20}, {1 << 20, "1 MiB", 4}};

void between_hosts(measure::work &work) {
    onesided::player mine(work.rank(), 1 << 20);
    const int rounds = work.quick() ? 5 : 21;
    for (const put_size &size : sizes) {
        onesided::alternating times;
        for (int round = -1; round < rounds; ++round) {
            const double ours = mine.by_puts(size.bytes, size.round_trips);
            const double theirs = mine.by_messages(size.bytes, size.round_trips);
            if (round >= 0) {
                times.ours.push_back(ours);
                times.theirs.push_back(theirs);
            }
        }
        times.report(work, std::to_string(size.bytes));
    }
}

void judge(measure::session &session) {
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts on this machine are not possible: " + why);
        return;
    }
    struct way {
        const char *delay;
        double bar;
    };
    for (const way &each : {way{"0us", 1.15}, way{"50us", 1.0}}) {
        const measure::numbers found = session.on_two_hosts(each.delay, {.work = "between_hosts"});
        for (const put_size &size : sizes) {
            measure::figure figure = onesided::figure_of(found, std::to_string(size.bytes),
                                                         std::string(size.name) + ", delay " + each.delay + " one way",
                                                         "MPI_Isend, MPI_Irecv and MPI_Wait", each.bar);
            measure::add_limit(figure, {.what = "the messages alone", .value = 1});
            session.add(figure);
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "notified_put_remote",
                          .about = "notified puts of 8 B to 1 MiB between two hosts over TCP, compared with messages",
                          .bars = "at most 1.15 times the time of MPI_Isend, MPI_Irecv and MPI_Wait, 1.0 times with a "
                                  "delay of 50 us",
                          .pieces = {{"between_hosts", between_hosts}},
                          .judge = judge});
}
