// SPDX-License-Identifier: BSD-3-Clause
// A message arrives while all workers sleep and the helper thread is on. Measured are the time until its callback runs,
// and the share of a processor that waiting takes. Both are compared with a thread that blocks in MPI_Wait.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"
#include "wake/message.hpp"

#include <cstdio>
#include <sys/prctl.h>

namespace {

using measure::nanoseconds;
using measure::processor_time;
using measure::sleep_for;
using wake::exchange;
using wake::method;
using wake::wait_result;

struct findings {
    std::vector<double> late; // microseconds
    std::vector<double> share;
};

void repeat(exchange &pair, int count, nanoseconds shortest, nanoseconds step, findings &wait, findings &callback) {
    for (int i = 0; i < count; ++i) {
        const nanoseconds pause = shortest + step * (i * 7 % 10); // the same on both ranks, and not periodic
        for (const method how : {method::wait, method::callback}) {
            const wait_result found = pair.once(how, pause);
            findings &into = how == method::wait ? wait : callback;
            into.late.push_back(static_cast<double>(found.late) / 1000);
            into.share.push_back(found.processor_share);
        }
    }
}

// The processor time of one sleep of 20 microseconds, in microseconds. The helper thread sleeps about so long when it
// uses half of a processor.
double cost_of_a_sleep() {
    constexpr int sleeps = 2000;
    constexpr nanoseconds pause = 20000;
    prctl(PR_SET_TIMERSLACK, 1UL); // the helper thread sets it, too
    const nanoseconds processor = processor_time();
    for (int i = 0; i < sleeps; ++i) {
        sleep_for(pause);
    }
    return static_cast<double>(processor_time() - processor) / 1000 / sleeps;
}

// The messages after 2 to 20 ms: their medians are the results `wait` and `callback`.
void wait_and_callback(measure::work &work, exchange &pair) {
    findings wait;
    findings callback;
    repeat(pair, work.quick() ? 30 : 200, 2000000, 2000000, wait, callback);
    work.result("wait", measure::median_of(wait.late).value);
    work.result("callback", measure::median_of(callback.late).value);
}

void both(measure::work &work) {
    work.result("free_processor", measure::share_while_spinning());
    exchange pair(work.rank());
    wait_and_callback(work, pair);
    findings long_wait;
    findings long_callback;
    repeat(pair, work.quick() ? 3 : 11, 1000000000, 10000000, long_wait, long_callback);
    work.result("wait_after_1s", measure::median_of(long_wait.late).value);
    work.result("callback_after_1s", measure::median_of(long_callback.late).value);
    work.result("wait_share", measure::median_of(long_wait.share).value);
    work.result("callback_share", measure::median_of(long_callback.share).value);
    work.result("sleep", cost_of_a_sleep());
}

// The same, beside busy processes that the judge has started.
void beside_others(measure::work &work) {
    work.result("free_processor", measure::share_while_spinning());
    exchange pair(work.rank());
    wait_and_callback(work, pair);
}

// A note about the smallest possible ratio after 1 s. After 25 ms the helper may use half of a processor. The median
// delay of a message is then at least the processor time that one sleep costs; see src/core/progress/helper_pauses.hpp.
std::string smallest_ratio(double sleep, double wait) {
    char text[200];
    std::snprintf(
        text, sizeof text,
        "on this machine the smallest possible ratio is %.3g with half a processor: a sleep costs %.3g microseconds "
        "of processor time",
        (wait + sleep) / wait, sleep);
    return text;
}

void judge(measure::session &session) {
    const measure::numbers found = measure::with_free_processors(session, 2, {.work = "both"});
    const auto latency = [&](const std::string &name, const std::string &suffix, const std::string &note) {
        const double ours = found.at("callback" + suffix);
        const double baseline = found.at("wait" + suffix);
        const double ratio = ours / baseline;
        session.add({.name = name,
                     .found = {ratio, ratio, ratio},
                     .unit = "times the latency",
                     .kind = measure::bar_kind::at_most,
                     .bar = 5,
                     .against = "a thread blocked in MPI_Wait",
                     .side_unit = "microseconds, median",
                     .ours = ours,
                     .baseline = baseline,
                     .to_beat = "TAMPI: 111 to 156 microseconds",
                     .note = note});
    };
    latency("message after 2 to 20 ms of waiting", "", "");
    latency("message after 1 s of waiting", "_after_1s", smallest_ratio(found.at("sleep"), found.at("wait_after_1s")));
    const double share = found.at("callback_share") / found.at("wait_share");
    session.add({.name = "processor time of 1 s of waiting",
                 .found = {share, share, share},
                 .unit = "times the processor time",
                 .kind = measure::bar_kind::at_most,
                 .bar = 0.5,
                 .against = "a thread blocked in MPI_Wait",
                 .side_unit = "% of one processor",
                 .ours = found.at("callback_share") * 100,
                 .baseline = found.at("wait_share") * 100});

    const measure::numbers beside = measure::beside_busy_processes(session, 2, {.work = "beside_others"});
    session.add({.name = "message after 2 to 20 ms of waiting, beside one busy process per processor",
                 .found = {beside.at("callback"), beside.at("callback"), beside.at("callback")},
                 .unit = "microseconds, median",
                 .kind = measure::bar_kind::at_most,
                 .bar = 100,
                 .against = "a thread blocked in MPI_Wait, which spins",
                 .side_unit = "microseconds, median",
                 .ours = beside.at("callback"),
                 .baseline = beside.at("wait")});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "wake_latency",
         .about = "latency of a message while all workers sleep, helper thread on, compared with MPI_Wait",
         .bars = "median at most 5 times that of MPI_Wait after 2 to 20 ms and after 1 s, with at most half of its "
                 "processor time; median at most 100 microseconds beside one busy process per processor",
         .pieces = {{"both", both}, {"beside_others", beside_others}},
         .judge = judge});
}
