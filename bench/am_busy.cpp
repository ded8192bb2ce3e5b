// SPDX-License-Identifier: BSD-3-Clause
// How long until an active message is handled on a rank that computes in tasks of 4 ms and makes progress only between
// them: with the helper thread, and without. Without it that is half a task, which the bar excludes.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <thence/am.h>

#include <atomic>
#include <cstring>

namespace {

constexpr measure::nanoseconds task = 4'000'000;

struct target {
    std::atomic<long> handled{0};
    std::vector<double> waited; // microseconds; written by one handler at a time, since one message is under way
    std::atomic<bool> ended{false};

    static int note(const thence_am_message *m, void *data) {
        target &self = *static_cast<target *>(data);
        measure::nanoseconds sent = 0;
        std::memcpy(&sent, m->payload, sizeof sent);
        self.waited.push_back(static_cast<double>(measure::now() - sent) * 1e-3); // one clock for both ranks of a node
        self.handled.fetch_add(1);
        return thence_am_send(m->am, m->source, 1, nullptr, 0);
    }
    static int count(const thence_am_message *, void *data) {
        static_cast<target *>(data)->handled.fetch_add(1);
        return MPI_SUCCESS;
    }
    static int end(const thence_am_message *, void *data) {
        static_cast<target *>(data)->ended.store(true);
        return MPI_SUCCESS;
    }
};

void busy(measure::work &work) {
    thence_am_options options{};
    options.flags = work.parameter("helper") != 0 ? THENCE_AM_HELPER : 0U;
    target mine;
    thence_am am = nullptr;
    thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am);
    thence_am_register(am, 0, &target::note, &mine, THENCE_AM_SHORT);
    thence_am_register(am, 1, &target::count, &mine, THENCE_AM_SHORT);
    thence_am_register(am, 2, &target::end, &mine, THENCE_AM_SHORT);
    const long rounds = work.quick() ? 100 : 1000;
    if (work.rank() == 0) {
        for (long i = 0; i < rounds; ++i) {
            const measure::nanoseconds sent = measure::now();
            thence_am_send(am, 1, 0, &sent, sizeof sent);
            while (mine.handled.load() <= i) {
                thence_am_progress(am, nullptr);
            }
            const measure::nanoseconds pause = measure::now() + 300'000 + i % 10 * 400'000; // at another point of a task
            while (measure::now() < pause) {
            }
        }
        thence_am_send(am, 1, 2, nullptr, 0);
    } else {
        while (!mine.ended.load()) {
            const measure::nanoseconds end = measure::now() + task;
            while (measure::now() < end) {
            }
            thence_am_progress(am, nullptr);
        }
    }
    thence_am_free(&am);
    // Rank 0 reports.
    if (work.rank() == 1) {
        const measure::sample found = measure::median_of(mine.waited);
        const double values[3] = {found.value, found.low, found.high};
        MPI_Send(values, 3, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    } else {
        double values[3];
        MPI_Recv(values, 3, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work.result("waited", values[0]);
        work.result("low", values[1]);
        work.result("high", values[2]);
    }
}

void judge(measure::session &session) {
    const measure::numbers without = session.together(2, {.work = "busy", .parameters = {{"helper", 0}}});
    const measure::numbers with = session.together(2, {.work = "busy", .parameters = {{"helper", 1}}});
    session.add({.name = "with the helper thread",
                 .found = {with.at("waited") / 1000, with.at("low") / 1000, with.at("high") / 1000},
                 .unit = "ms until it is handled",
                 .kind = measure::bar_kind::at_most,
                 .bar = 1,
                 .against = "without it, between tasks of 4 ms",
                 .side_unit = "ms",
                 .ours = with.at("waited") / 1000,
                 .baseline = without.at("waited") / 1000});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "am_busy",
                          .about = "an active message to a rank that computes in tasks of 4 ms, until it is handled",
                          .bars = "median at most 1 ms with the helper thread",
                          .pieces = {{"busy", busy}},
                          .judge = judge});
}
