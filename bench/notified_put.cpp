// SPDX-License-Identifier: BSD-3-Clause
// Notified puts between two ranks of one node, until the receiver has seen the notification, beside MPI_Isend,
// MPI_Irecv and MPI_Wait. The limit is what two processes that share memory need for the same copy and a word that
// tells.
#include "measure/benchmark.hpp"
#include "measure/limit.hpp"
#include "onesided/exchange.hpp"
#include "onesided/put_to_itself.hpp"

#include <sched.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <iterator>

namespace {

struct put_size {
    std::size_t bytes;
    const char *name;
    int round_trips;
    double bar;
};
constexpr put_size sizes[] = {
    {8, "8 B", 2000, 0.6}, {4096, "4 KiB", 1000, 0.6}, {65536, "64 KiB", 200, 0}, {1 << 20, "1 MiB", 20, 0.8}};
constexpr std::size_t most = 1 << 20;

// Memory of both ranks, with a word each: a window of MPI.
class shared_memory {
public:
    explicit shared_memory(int rank) : first_(rank == 0), out_(most, 1) {
        MPI_Comm node = MPI_COMM_NULL;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        void *mine = nullptr;
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(most + 64), 1, MPI_INFO_NULL, node, &mine, &window_);
        void *other = nullptr;
        MPI_Aint bytes = 0;
        int unit = 0;
        MPI_Win_shared_query(window_, 1 - rank, &bytes, &unit, &other);
        mine_ = static_cast<char *>(mine);
        other_ = static_cast<char *>(other);
        std::memset(mine_, 0, most + 64);
        MPI_Comm_free(&node);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    shared_memory(const shared_memory &) = delete;
    shared_memory &operator=(const shared_memory &) = delete;
    ~shared_memory() { MPI_Win_free(&window_); }

    double exchange(std::size_t bytes, int round_trips) {
        std::atomic<int> &told = *reinterpret_cast<std::atomic<int> *>(other_ + most);
        std::atomic<int> &tells = *reinterpret_cast<std::atomic<int> *>(mine_ + most);
        return measure::half_round_trip(
            first_, round_trips,
            [&] {
                std::memcpy(other_, out_.data(), bytes);
                told.store(1, std::memory_order_release);
            },
            [&] {
                for (unsigned turns = 1; tells.load(std::memory_order_acquire) == 0; ++turns) {
                    if (turns % 4096 == 0) {
                        sched_yield();
                    }
                }
                tells.store(0, std::memory_order_relaxed);
            });
    }

private:
    bool first_;
    std::vector<char> out_;
    char *mine_ = nullptr;
    char *other_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

void on_one_node(measure::work &work) {
    onesided::player mine(work.rank(), most);
    shared_memory shared(work.rank());
    const int rounds = work.quick() ? 5 : 31;
    for (const put_size &size : sizes) {
        onesided::alternating times;
        onesided::alternating limit;
        for (int round = -1; round < rounds; ++round) {
            const double ours = mine.by_puts(size.bytes, size.round_trips);
            const double theirs = mine.by_messages(size.bytes, size.round_trips);
            const double least = shared.exchange(size.bytes, size.round_trips);
            if (round >= 0) {
                times.ours.push_back(ours);
                times.theirs.push_back(theirs);
                limit.ours.push_back(least);
                limit.theirs.push_back(theirs);
            }
        }
        times.report(work, std::to_string(size.bytes));
        limit.report(work, std::to_string(size.bytes) + "_limit");
    }
}

void to_itself(measure::work &work) {
    onesided::count_puts_to_itself(work, 1L,
                                   [](thence_segment segment) { thence_notification_wait(segment, 0, 1, nullptr); });
}

void judge(measure::session &session) {
    const measure::numbers found = session.together(2, {.work = "on_one_node"});
    for (const put_size &size : sizes) {
        const std::string prefix = std::to_string(size.bytes);
        measure::figure each =
            onesided::figure_of(found, prefix, size.name, "MPI_Isend, MPI_Irecv and MPI_Wait", size.bar);
        measure::add_limit(each, {.what = "a copy and a word in memory that both ranks share, without Thence",
                                  .value = found.at(prefix + "_limit_ratio")});
        session.add(each);
    }
    const measure::sample instructions = session.instructions({.work = "to_itself", .main_thread_only = true});
    session.add(
        {.name = "8 B, a process to itself: put, wait and reset", .found = instructions, .unit = "instructions"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "notified_put",
         .about = "notified puts of 8 B to 1 MiB between two ranks of one node, compared with messages",
         .bars = "at most 0.6 times the time of MPI_Isend, MPI_Irecv and MPI_Wait for 8 B and 4 KiB, "
                 "0.8 times for 1 MiB",
         .pieces = {{"on_one_node", on_one_node}, {"to_itself", to_itself}},
         .judge = judge});
}
