// SPDX-License-Identifier: BSD-3-Clause
// Messages per second and bandwidth, 8 B to 4 MiB (Zhou et al., figure 7): between two threads of a process on a thread
// communicator, and between two processes by plain messages of MPI. One side sends a window of messages by MPI_Isend,
// and gets an answer to each window.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "threadcomm/team.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace {

using namespace threadcomms;

constexpr std::array sizes{8, 64, 512, 4096, 32768, 262144, 1048576, 4194304};
constexpr int tag = 3;

constexpr int window_of(int bytes) {
    return bytes <= 32768 ? 64 : bytes <= 262144 ? 16 : 4;
}
// Windows in a block: about as many bytes for all large sizes.
long windows_of(int bytes) {
    return std::clamp(64'000'000L / (static_cast<long>(bytes) * window_of(bytes)), 2L, 100L);
}

class side {
public:
    // `plain`: MPI's own calls, without interposition.
    side(bool sends, int peer, MPI_Comm comm, bool plain)
        : sends_(sends), plain_(plain), peer_(peer), comm_(comm), memory_(static_cast<std::size_t>(sizes.back()) * 4) {}

    // Messages per second. A window before is not timed.
    double rate(int bytes) {
        const long windows = windows_of(bytes);
        measure::nanoseconds start = 0;
        for (long i = -1; i < windows; ++i) {
            if (i == 0) {
                start = measure::now();
            }
            exchange(bytes);
        }
        return 1e9 * static_cast<double>(windows * window_of(bytes)) / static_cast<double>(measure::now() - start);
    }

private:
    void exchange(int bytes) {
        std::array<MPI_Request, 64> requests{};
        const int window = window_of(bytes);
        for (int k = 0; k < window; ++k) {
            char *const at = memory_.data() + static_cast<std::size_t>(bytes) * static_cast<std::size_t>(k);
            MPI_Request &request = requests[static_cast<std::size_t>(k)];
            if (sends_) {
                plain_ ? PMPI_Isend(at, bytes, MPI_BYTE, peer_, tag, comm_, &request)
                       : MPI_Isend(at, bytes, MPI_BYTE, peer_, tag, comm_, &request);
            } else {
                plain_ ? PMPI_Irecv(at, bytes, MPI_BYTE, peer_, tag, comm_, &request)
                       : MPI_Irecv(at, bytes, MPI_BYTE, peer_, tag, comm_, &request);
            }
        }
        char answer = 0;
        if (plain_) {
            PMPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
            sends_ ? PMPI_Recv(&answer, 1, MPI_BYTE, peer_, tag, comm_, MPI_STATUS_IGNORE)
                   : PMPI_Send(&answer, 1, MPI_BYTE, peer_, tag, comm_);
        } else {
            MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
            sends_ ? MPI_Recv(&answer, 1, MPI_BYTE, peer_, tag, comm_, MPI_STATUS_IGNORE)
                   : MPI_Send(&answer, 1, MPI_BYTE, peer_, tag, comm_);
        }
    }

    bool sends_;
    bool plain_;
    int peer_;
    MPI_Comm comm_;
    std::vector<char> memory_; // a window of the largest, or of 64 of 32 KiB, whichever is larger
};
static_assert(64 * 32768 <= sizes.back() * 4 && 16 * 262144 <= sizes.back() * 4);

// The rates of all sizes, in rounds, so that other load on the machine meets all sizes.
void measure_all(const measure::work &work, side &mine, bool reports) {
    std::array<series, sizes.size()> found;
    for (int round = -1; round < (work.quick() ? 5 : 21); ++round) { // memory is touched in a round before the first
        for (std::size_t s = 0; s < sizes.size(); ++s) {
            const double rate = mine.rate(sizes[s]);
            if (round >= 0) {
                found[s].add(rate);
            }
        }
    }
    for (std::size_t s = 0; reports && s < sizes.size(); ++s) {
        found[s].report(work, std::to_string(sizes[s]));
    }
}

void threads(measure::work &work) {
    const team both(2);
    both.run([&](int number) {
        side mine(number == 0, 1 - number, both.ours, false);
        measure_all(work, mine, number == 0);
    });
}

void processes(measure::work &work) {
    side mine(work.rank() == 0, 1 - work.rank(), MPI_COMM_WORLD, true);
    measure_all(work, mine, true);
}

void judge(measure::session &session) {
    const measure::numbers by_threads = session.alone({.work = "threads", .threads_per_rank = 2});
    const measure::numbers by_processes = session.together(2, {.work = "processes"});
    for (const int bytes : sizes) {
        const std::string size = std::to_string(bytes);
        const measure::sample ours = sample_of(by_threads, size);
        const measure::sample theirs = sample_of(by_processes, size);
        const bool small = bytes <= 4096; // else bytes per second say more
        const double scale = small ? 1 : bytes / 1e6;
        session.add({.name = size + " B, " + (small ? "message rate" : "bandwidth"),
                     .found = measure::ratio(ours, theirs),
                     .unit = small ? "times the messages per second" : "times the bandwidth",
                     .against = "MPI_Isend and MPI_Irecv between two processes",
                     .side_unit = small ? "messages per second" : "MB/s",
                     .ours = ours.value * scale,
                     .baseline = theirs.value * scale});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "threads_vs_processes",
         .about =
             "message rate and bandwidth, 8 B to 4 MiB, between two threads on a thread communicator, compared with "
             "two processes",
         .bars = "none",
         .pieces = {{"threads", threads}, {"processes", processes}},
         .judge = judge});
}
