// SPDX-License-Identifier: BSD-3-Clause
// How late the helper thread runs a callback, by the time for which nothing has arrived: its pauses grow with that
// time. On an idle machine, and beside one busy process per processor. There is no bar. `--plot` draws both.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "wake/message.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

using wake::exchange;
using wake::method;

// In microseconds. The pauses change after some 10 us, 25 ms and 10 s.
constexpr std::array<long, 10> waits{10, 100, 1000, 5000, 20000, 40000, 100000, 1000000, 5000000, 12000000};
constexpr long longest_if_quick = 100000;

// Takes about two seconds for each method, but at least three messages and at most 200; with --quick a third of that.
int messages(const measure::work &work, long wait) {
    return static_cast<int>(std::max(3L, std::min(200L, 2000000 / wait)) / (work.quick() ? 3 : 1));
}

std::string name_of(const char *how, long wait) {
    return std::string(how) + "_" + std::to_string(wait);
}

void curve(measure::work &work) {
    work.result("free_processor", measure::share_while_spinning());
    exchange pair(work.rank());
    for (const long wait : waits) {
        if (work.quick() && wait > longest_if_quick) {
            break;
        }
        std::vector<double> plain;
        std::vector<double> callback;
        for (int i = 0; i < messages(work, wait); ++i) {
            for (const method how : {method::wait, method::callback}) {
                const measure::nanoseconds late = pair.once(how, wait * 1000).late;
                (how == method::wait ? plain : callback).push_back(static_cast<double>(late) / 1000);
            }
        }
        work.result(name_of("wait", wait), measure::median_of(plain).value);
        work.result(name_of("callback", wait), measure::median_of(callback).value);
    }
}

void judge(measure::session &session) {
    const auto add = [&](const measure::numbers &found, const std::string &where) {
        for (const long wait : waits) {
            if (found.count(name_of("callback", wait)) == 0) {
                continue; // --quick has the short ones only
            }
            const double ours = found.at(name_of("callback", wait));
            session.add({.name = "after " + measure::text_of(static_cast<double>(wait) / 1000) + " ms, " + where,
                         .found = {ours, ours, ours},
                         .unit = "microseconds",
                         .against = "a thread blocked in MPI_Wait, which spins",
                         .side_unit = "microseconds, median",
                         .ours = ours,
                         .baseline = found.at(name_of("wait", wait))});
        }
    };
    add(measure::with_free_processors(session, 2, {.work = "curve"}), "idle machine");
    add(measure::beside_busy_processes(session, 2, {.work = "curve"}), "one busy process per processor");
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "wake_curve",
                          .about = "delay of a callback by the time for which nothing has arrived, all workers asleep, "
                                   "helper thread on, compared with MPI_Wait",
                          .bars = "none",
                          .pieces = {{"curve", curve}},
                          .judge = judge});
}
