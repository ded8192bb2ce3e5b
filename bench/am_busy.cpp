// SPDX-License-Identifier: BSD-3-Clause
// How long until an active message is handled on a rank that computes in tasks of 1 ms, all of its workers busy: as
// many as the machine has processors. They make progress only between tasks. With the helper thread, and without: then
// the message waits for the next worker that ends a task.
//
// The limit is the same while all workers sleep: how long the helper thread takes to notice the message and to handle
// it.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"
#include "measure/limit.hpp"

#include <thence/am.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace {

constexpr measure::nanoseconds task = 1'000'000;

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
        target &self = *static_cast<target *>(data);
        self.ended.store(true);
        self.ended.notify_all();
        return MPI_SUCCESS;
    }
};

// Rank 0 sleeps while it waits, so that all processors are for the workers of rank 1.
void send_all(thence_am am, const target &mine, long rounds) {
    for (long i = 0; i < rounds; ++i) {
        const measure::nanoseconds sent = measure::now();
        thence_am_send(am, 1, 0, &sent, sizeof sent);
        while (mine.handled.load() <= i) {
            measure::sleep_for(50'000);
            thence_am_progress(am, nullptr);
        }
        measure::sleep_for(300'000 + i % 10 * 170'000); // at another point of a task
    }
    thence_am_send(am, 1, 2, nullptr, 0);
}

void compute(thence_am am, const target &mine) {
    while (!mine.ended.load()) {
        const measure::nanoseconds end = measure::now() + task;
        while (measure::now() < end) {
        }
        thence_am_progress(am, nullptr);
    }
}

void busy(measure::work &work) {
    const long rounds = work.quick() ? 200 : 1000;
    thence_am_options options{};
    options.flags = work.rank() == 1 && work.parameter("helper") != 0 ? THENCE_AM_HELPER : 0U;
    target mine;
    mine.waited.reserve(static_cast<std::size_t>(rounds));
    thence_am am = nullptr;
    thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am);
    thence_am_register(am, 0, &target::note, &mine, THENCE_AM_SHORT);
    thence_am_register(am, 1, &target::count, &mine, THENCE_AM_SHORT);
    thence_am_register(am, 2, &target::end, &mine, THENCE_AM_SHORT);
    if (work.rank() == 0) {
        send_all(am, mine, rounds);
    } else if (const long workers = work.parameter("workers"); workers == 0) {
        mine.ended.wait(false);
    } else {
        std::vector<std::thread> others;
        for (long i = 1; i < workers; ++i) {
            others.emplace_back([&] { compute(am, mine); });
        }
        compute(am, mine);
        for (std::thread &each : others) {
            each.join();
        }
    }
    thence_am_free(&am);
    // Rank 0 reports.
    if (work.rank() == 1) {
        std::sort(mine.waited.begin(), mine.waited.end());
        const double values[2] = {mine.waited[mine.waited.size() / 2], mine.waited[mine.waited.size() * 95 / 100]};
        MPI_Send(values, 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    } else {
        double values[2];
        MPI_Recv(values, 2, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work.result("median", values[0] / 1000);
        work.result("most", values[1] / 1000);
    }
}

struct waits {
    std::vector<double> median, most; // of each launch, in ms
};

void judge(measure::session &session) {
    const int workers = measure::processors();
    const auto run = [&](bool helper, int busy_workers, waits &into) {
        const measure::numbers found =
            session.together(2, {.work = "busy",
                                 .parameters = {{"helper", helper ? 1 : 0}, {"workers", busy_workers}},
                                 .threads_per_rank = workers});
        into.median.push_back(found.at("median"));
        into.most.push_back(found.at("most"));
    };
    waits with, without, asleep;
    for (int i = session.quick() ? 1 : 3; i > 0; --i) {
        run(true, workers, with);
        run(false, workers, without);
        run(true, 0, asleep);
    }
    measure::figure figure{.name = "with the helper thread, " + std::to_string(workers) + " workers",
                           .found = measure::median_of(with.median),
                           .unit = "ms until it is handled",
                           .kind = measure::bar_kind::at_most,
                           .bar = 1,
                           .against = "without it, when a worker ends a task of 1 ms",
                           .side_unit = "ms",
                           .ours = measure::median_of(with.median).value,
                           .baseline = measure::median_of(without.median).value};
    measure::add_note(figure, "19 of 20 messages within " + measure::text_of(measure::median_of(with.most).value) +
                                  " ms, without it " + measure::text_of(measure::median_of(without.most).value) +
                                  " ms");
    measure::add_limit(figure, {.what = "the same while all workers sleep, so that the helper thread has a processor",
                                .value = measure::median_of(asleep.median).value});
    session.add(figure);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "am_busy",
         .about = "an active message to a rank all of whose workers compute in tasks of 1 ms, until it is handled",
         .bars = "median at most 1 ms with the helper thread",
         .pieces = {{"busy", busy}},
         .judge = judge});
}
