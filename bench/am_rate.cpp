// SPDX-License-Identifier: BSD-3-Clause
// Active messages of 8 bytes per second from one rank to another, with 1 and with up to 1,000 that are not
// acknowledged. Compared with the reference engine (am/reference_engine.hpp), the best of several windows, and with a
// loop of MPI_Isend and persistent receives in MPI_Testsome that does nothing else.
//
// The limit is no engine, which has to send before it knows what follows: a loop that packs as many messages as are
// acknowledged at once into one message of MPI, and calls a function for each that arrives.
#include "judges/am_rate.hpp"
#include "am/reference_engine.hpp"
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <thence/am.h>

#include <algorithm>
#include <array>

namespace {

using namespace measure::am_rate_runs;

// One row of messages. Rank 0 sends, and waits for an acknowledgement when `in_flight` are not acknowledged. Rank 1
// acknowledges half of them at a time, or each if there is one.
struct row {
    long total;
    long in_flight;
    long batch() const { return std::max(1L, in_flight / 2); }
};

struct counters {
    long received = 0;
    long acknowledged = 0;
};

// Seconds. `send(rank)` sends one message, `poll()` handles what has arrived and counts it.
template <class Send, class Poll> double run(const row &r, int rank, counters &seen, Send send, Poll poll) {
    seen = {};
    MPI_Barrier(MPI_COMM_WORLD);
    const measure::nanoseconds start = measure::now();
    if (rank == 0) {
        for (long sent = 0; sent < r.total; ++sent) {
            while (sent - seen.acknowledged * r.batch() >= r.in_flight) {
                poll();
            }
            send(1);
        }
        while (seen.acknowledged * r.batch() < r.total) {
            poll();
        }
    } else {
        for (long answered = 0; answered < r.total / r.batch();) {
            poll();
            for (; answered < seen.received / r.batch(); ++answered) {
                send(0);
            }
        }
    }
    return static_cast<double>(measure::now() - start) * 1e-9;
}

void note(int rank, counters &seen) {
    ++(rank == 0 ? seen.acknowledged : seen.received);
}

class engine {
public:
    explicit engine(int rank) : rank_(rank) {
        thence_am_create(MPI_COMM_WORLD, nullptr, 0, &am_);
        thence_am_register(am_, 0, &handle, this, 0);
    }
    engine(const engine &) = delete;
    engine &operator=(const engine &) = delete;
    ~engine() { thence_am_free(&am_); }
    double run_row(const row &r) {
        const double value = 1;
        return run(
            r, rank_, seen_, [&](int to) { thence_am_send(am_, to, 0, &value, sizeof value); },
            [&] { thence_am_progress(am_, nullptr); });
    }

private:
    static int handle(const thence_am_message *, void *data) {
        engine &self = *static_cast<engine *>(data);
        note(self.rank_, self.seen_);
        return MPI_SUCCESS;
    }
    int rank_;
    counters seen_;
    thence_am am_ = nullptr;
};

double reference_row(const row &r, int rank, int receives, int window) {
    struct both {
        int rank;
        counters seen;
    } state{rank, {}};
    double seconds = 0;
    {
        bench_am::reference_engine engine(
            MPI_COMM_WORLD, receives, window,
            [](int, const unsigned char *, int, void *data) {
                both &s = *static_cast<both *>(data);
                note(s.rank, s.seen);
            },
            &state);
        const double value = 1;
        seconds = run(
            r, rank, state.seen, [&](int to) { engine.send(to, &value, sizeof value); }, [&] { engine.poll(); });
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return seconds;
}

void (*volatile handler)(int rank, counters &seen) = &note;

// Each message of MPI has `pack` values of the sender, or one acknowledgement. Sends that MPI has copied leave no
// request.
double by_hand(const row &r, int rank, long pack, bool calls_handlers) {
    constexpr int receives = 64;
    std::array<MPI_Request, receives> requests;
    std::array<std::vector<double>, receives> values{};
    std::array<int, receives> done{};
    std::array<MPI_Status, receives> statuses;
    std::vector<MPI_Request> sends;
    std::vector<std::vector<double>> leaving; // of `sends`
    for (std::size_t i = 0; i < receives; ++i) {
        values[i].resize(static_cast<std::size_t>(pack));
        MPI_Recv_init(values[i].data(), static_cast<int>(pack), MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Startall(receives, requests.data());
    counters seen;
    const std::size_t whole = rank == 0 ? static_cast<std::size_t>(pack) : 1;
    const double value = 1;
    std::vector<double> packed;
    packed.reserve(whole);
    const double seconds = run(
        r, rank, seen,
        [&](int to) {
            const double *from = &value;
            if (whole > 1) {
                packed.push_back(value);
                if (packed.size() < whole) {
                    return;
                }
                from = packed.data();
            }
            MPI_Request request = MPI_REQUEST_NULL;
            int flag = 0;
            MPI_Isend(from, static_cast<int>(whole), MPI_DOUBLE, to, 5, MPI_COMM_WORLD, &request);
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (flag == 0) {
                sends.push_back(request);
            }
            if (flag == 0 && whole > 1) {
                leaving.push_back(std::move(packed));
                packed = {};
                packed.reserve(whole);
            }
            packed.clear();
        },
        [&] {
            int count = 0;
            MPI_Testsome(receives, requests.data(), &count, done.data(),
                         pack > 1 ? statuses.data() : MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; ++i) {
                int found = 1;
                if (pack > 1) {
                    MPI_Get_count(&statuses[static_cast<std::size_t>(i)], MPI_DOUBLE, &found);
                }
                for (; found > 0; --found) {
                    calls_handlers ? handler(rank, seen) : note(rank, seen);
                }
                MPI_Start(&requests[static_cast<std::size_t>(done[static_cast<std::size_t>(i)])]);
            }
        });
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Request &each : requests) {
        MPI_Cancel(&each);
        MPI_Wait(&each, MPI_STATUS_IGNORE);
        MPI_Request_free(&each);
    }
    return seconds;
}

struct choice {
    int receives;
    int window;
};
constexpr choice choices[] = {{4, 16}, {16, 32}, {64, 128}, {256, 320}};

void all(measure::work &work) {
    const row r{work.quick() ? 20000L : 100000L, work.parameter("in_flight")};
    engine mine(work.rank());
    measure::alternate(work, first_reference + std::size(choices), work.quick() ? 5 : 15, 1,
                       [&](std::size_t contender) {
                           if (contender == ours) {
                               return mine.run_row(r);
                           }
                           if (contender < first_reference) {
                               const bool is_limit = contender == limit;
                               return by_hand(r, work.rank(), is_limit ? r.batch() : 1, is_limit);
                           }
                           const choice &c = choices[contender - first_reference];
                           return reference_row(r, work.rank(), c.receives, c.window);
                       });
    work.result("total", static_cast<double>(r.total));
}

void judge(measure::session &session) {
    for (const long in_flight : {1L, 1000L}) {
        std::vector<measure::numbers> launches;
        for (int i = session.quick() ? 1 : 3; i > 0; --i) {
            launches.push_back(session.together(2, {.work = "all", .parameters = {{"in_flight", in_flight}}}));
        }
        for (measure::figure &each : figures_of(launches, std::size(choices), in_flight)) {
            session.add(std::move(each));
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "am_rate",
                          .about =
                              "active messages of 8 B between two ranks, compared with an engine on MPI_Testsome with "
                              "a fixed window and a loop by hand",
                          .bars = "at least 2 times the messages with 1,000 in flight, 0.95 times with 1",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
