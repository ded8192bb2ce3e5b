// SPDX-License-Identifier: BSD-3-Clause
// A ping-pong between two ranks: each message is answered from a continuation. It is compared with MPI_Irecv, MPI_Wait
// and MPI_Send. Short blocks of both alternate within one run, so that a disturbance affects both. The bar is for one
// byte; the larger sizes are those of figure 5 of Schuchart et al. 2020.
#include "measure/benchmark.hpp"

#include <thence/thence.h>

namespace {

constexpr long larger_sizes[] = {16, 256, 4096, 65536, 1 << 20, 4 << 20};

// In one block.
int round_trips_of(long bytes) {
    return bytes <= 4096 ? 200 : bytes <= 65536 ? 50 : 8;
}

// One rank of the ping-pong. Rank 0 begins each round trip, rank 1 answers.
class player {
public:
    player(int rank, long bytes)
        : first_(rank == 0), peer_(1 - rank), round_trips_(round_trips_of(bytes)), in_(static_cast<std::size_t>(bytes)),
          out_(in_.size()) {
        thence_cr_create(0, -1, MPI_INFO_NULL, &cr_);
    }
    ~player() { thence_free(&cr_); }
    player(const player &) = delete;
    player &operator=(const player &) = delete;

    // Each returns the seconds that the block took.
    double with_wait() {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int i = 0; i < round_trips_; ++i) {
            MPI_Request receive;
            start_receive(receive);
            if (first_) {
                send();
            }
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            if (!first_) {
                send();
            }
        }
        return MPI_Wtime() - start;
    }
    double with_continuations() {
        left_ = round_trips_;
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        receive_next();
        if (first_) {
            send();
        }
        thence_wait(&cr_, MPI_STATUS_IGNORE);
        return MPI_Wtime() - start;
    }

private:
    void send() { MPI_Send(out_.data(), count(), MPI_CHAR, peer_, 0, MPI_COMM_WORLD); }
    void start_receive(MPI_Request &receive) {
        MPI_Irecv(in_.data(), count(), MPI_CHAR, peer_, 0, MPI_COMM_WORLD, &receive);
    }
    int count() const { return static_cast<int>(in_.size()); }

    void receive_next() {
        MPI_Request receive;
        int complete = 0;
        start_receive(receive);
        thence_attach(1, &receive, on_message, this, 0, MPI_STATUSES_IGNORE, cr_, &complete);
        if (complete != 0) { // happens mostly for the first message of a block
            next();
        }
    }
    // The same order of calls as in with_wait(): rank 0 posts its receive before it sends, rank 1 sends first.
    void next() {
        --left_;
        if (!first_) {
            send();
        }
        if (left_ > 0) {
            receive_next();
            if (first_) {
                send();
            }
        }
    }
    static int on_message(int, MPI_Status *, void *data) {
        static_cast<player *>(data)->next();
        return MPI_SUCCESS;
    }

    bool first_;
    int peer_;
    int round_trips_; // in one block
    MPI_Request cr_ = MPI_REQUEST_NULL;
    int left_ = 0;
    std::vector<char> in_;
    std::vector<char> out_;
};

void both(measure::work &work) {
    const long bytes = work.parameter("bytes");
    player mine(work.rank(), bytes);
    const int round_trips = round_trips_of(bytes);
    const int blocks = (work.quick() ? 200 : 2000) / (bytes == 1 ? 1 : bytes <= 65536 ? 10 : 20);
    std::vector<double> ratios;
    std::vector<double> wait;
    std::vector<double> continuations;
    for (int i = -blocks / 20; i < blocks; ++i) {
        const double base = mine.with_wait();
        const double ours = mine.with_continuations();
        if (i >= 0) { // the first blocks are warm-ups
            ratios.push_back(ours / base);
            wait.push_back(base / round_trips);
            continuations.push_back(ours / round_trips);
        }
    }
    work.result("ratio", measure::median_of(ratios).value);
    work.result("wait", measure::median_of(wait).value * 1e6);
    work.result("continuations", measure::median_of(continuations).value * 1e6);
}

measure::figure compare(measure::session &session, measure::level threads, long bytes) {
    const int runs = session.quick() ? 1 : 3;
    std::vector<double> ratios;
    std::vector<double> wait;
    std::vector<double> continuations;
    for (int i = 0; i < runs; ++i) {
        const measure::numbers found =
            session.together(2, {.work = "both", .threads = threads, .parameters = {{"bytes", bytes}}});
        ratios.push_back(found.at("ratio"));
        wait.push_back(found.at("wait"));
        continuations.push_back(found.at("continuations"));
    }
    return {.name = measure::name_of(threads),
            .found = measure::median_of(ratios),
            .unit = "times the round trip",
            .against = "MPI_Irecv, MPI_Wait, MPI_Send",
            .side_unit = "microseconds per round trip",
            .ours = measure::median_of(continuations).value,
            .baseline = measure::median_of(wait).value};
}

void judge(measure::session &session) {
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        measure::figure found = compare(session, threads, 1);
        found.kind = measure::bar_kind::at_most;
        found.bar = 1.05;
        found.aim = 1.02;
        found.to_beat = threads == measure::level::single ? "prototype in Open MPI: 1.11 to 1.18"
                                                          : "prototype in Open MPI: 1.24 to 1.33";
        session.add(std::move(found));
    }
    for (const long bytes : larger_sizes) {
        measure::figure found = compare(session, measure::level::multiple, bytes);
        found.name = std::to_string(bytes) + " B, " + found.name;
        session.add(std::move(found));
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "pingpong",
         .about = "ping-pong of 1 B to 4 MiB over shared memory, answered from a continuation, compared with MPI_Wait",
         .bars = "1 B at most 1.05 times the round trip, aim 1.02, at both thread levels",
         .pieces = {{"both", both}},
         .judge = judge});
}
