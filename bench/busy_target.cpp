// SPDX-License-Identifier: BSD-3-Clause
// A put and a fetch-and-add to a rank on another host that computes for 100 ms, and calls nothing meanwhile: how long
// until the data have arrived. Beside it: the same while that rank waits in Thence, and the end of the computation,
// which is when an MPI without progress of its own would answer.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "measure/limit.hpp"

#include <thence/notify.h>

#include <array>
#include <vector>

namespace {

constexpr long milliseconds = 100;

void compute() {
    const measure::nanoseconds end = measure::now() + milliseconds * 1'000'000;
    while (measure::now() < end) {
    }
}

struct pair {
    pair() {
        thence_space_create(MPI_COMM_WORLD, 1, &space);
        thence_segment_create(space, 64, 3, &segment);
    }
    pair(const pair &) = delete;
    pair &operator=(const pair &) = delete;
    ~pair() {
        thence_segment_free(&segment);
        thence_space_free(&space);
    }
    void await(unsigned notification) const {
        std::uint32_t value = 0;
        thence_notification_wait(segment, notification, 1, nullptr);
        thence_notification_reset(segment, notification, &value);
    }

    thence_space space = nullptr;
    thence_segment segment = nullptr;
};

// Milliseconds of a put and of a fetch-and-add. The target answers the put only by the fetch-and-add behind it, on the
// same queue.
std::array<double, 2> ask(const pair &both) {
    const std::uint64_t data = 7;
    std::uint64_t old = 0;
    const measure::nanoseconds start = measure::now();
    thence_fetch_add(1, 1, both.segment, 0, &old, 0, nullptr);
    thence_queue_flush(both.space, 0);
    const measure::nanoseconds added = measure::now();
    thence_put(&data, sizeof data, 1, both.segment, 8, 0, nullptr);
    thence_fetch_add(1, 1, both.segment, 0, &old, 0, nullptr);
    thence_queue_flush(both.space, 0);
    return {static_cast<double>(measure::now() - added) / 1e6, static_cast<double>(added - start) / 1e6};
}

void target(measure::work &work) {
    const pair both;
    const int rounds = work.quick() ? 5 : 21;
    for (const bool busy : {true, false}) {
        std::vector<double> puts;
        std::vector<double> adds;
        for (int round = 0; round < rounds; ++round) {
            if (work.rank() == 0) {
                both.await(0); // it computes from now on
                const measure::nanoseconds pause = measure::now() + 20'000'000;
                while (measure::now() < pause) {
                }
                const auto [put, add] = ask(both);
                puts.push_back(put);
                adds.push_back(add);
                thence_notify(1, both.segment, 1, 1, 0);
            } else {
                thence_notify(0, both.segment, 0, 1, 0);
                if (busy) {
                    compute();
                }
                both.await(1);
            }
        }
        if (work.rank() == 0) {
            const std::string name = busy ? "busy" : "waiting";
            for (const auto &[what, times] : {std::pair{"_put", puts}, {"_add", adds}}) {
                const measure::sample found = measure::median_of(times);
                work.result(name + what, found.value);
                work.result(name + what + "_low", found.low);
                work.result(name + what + "_high", found.high);
            }
        }
    }
}

void judge(measure::session &session) {
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts on this machine are not possible: " + why);
        return;
    }
    const measure::numbers found = session.on_two_hosts("0us", {.work = "target"});
    for (const auto &[what, name] : {std::pair{"put", "put, until it has arrived"}, {"add", "fetch-and-add"}}) {
        const std::string busy = std::string("busy_") + what;
        const double waiting = found.at(std::string("waiting_") + what);
        measure::figure each{.name = std::string(name) + ", target computes for 100 ms",
                             .found = {found.at(busy), found.at(busy + "_low"), found.at(busy + "_high")},
                             .unit = "ms",
                             .kind = measure::bar_kind::at_most,
                             .bar = 2,
                             .against = "the same while the target waits",
                             .side_unit = "ms",
                             .ours = found.at(busy),
                             .baseline = waiting};
        measure::add_limit(each, {.what = "the same while the target waits", .value = waiting});
        session.add(each);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "busy_target",
                          .about = "a put and a fetch-and-add to a rank on another host that computes for 100 ms",
                          .bars = "at most 2 ms",
                          .pieces = {{"target", target}},
                          .judge = judge});
}
