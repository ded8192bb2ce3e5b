// SPDX-License-Identifier: BSD-3-Clause
// Active messages on simulated ranks: random graphs of messages, puts and gets, of which nobody knows the end.
// Quiescence is found when all are handled, and not before, in each of several phases. Rank 0 prints the simulated
// time. scripts/simulate.py runs it, too: a handler then computes for --cell-cost, and rank 0 writes the time of all
// phases to the file of --json.
#include <thence/am.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr int phases = 3;
constexpr int depth = 4;

struct rank_state {
    int size = 1;
    double cost = 0; // simulated seconds of a handler
    thence_am am = nullptr;
    std::mt19937 random;
    long begun = 0;
    long handled = 0;
    long data = 1;
    std::vector<thence_am_memory> memory; // of all ranks

    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    void begin(int left) {
        const int to = below(size);
        ++begun;
        switch (below(6)) {
        case 0:
            thence_am_put(am, &data, sizeof data, &memory[static_cast<std::size_t>(to)], 0, below(2), &left,
                          sizeof left, nullptr, nullptr);
            break;
        case 1:
            thence_am_get(
                am, &data, sizeof data, &memory[static_cast<std::size_t>(to)], 0,
                [](int error, void *self) { static_cast<rank_state *>(self)->handled += error == MPI_SUCCESS ? 1 : 0; },
                this);
            break;
        default:
            thence_am_send(am, to, below(2), &left, sizeof left);
        }
    }
    static int handle(const thence_am_message *m, void *data) {
        rank_state &self = *static_cast<rank_state *>(data);
        ++self.handled;
        if (self.cost > 0) {
            smpi_execute(self.cost);
        }
        int left = 0;
        std::memcpy(&left, m->payload, sizeof left);
        for (int i = left > 0 ? self.below(4) : 0; i > 0; --i) {
            self.begin(left - 1);
        }
        return MPI_SUCCESS;
    }
};

} // namespace

int main(int argc, char **argv) {
    int rank = 0;
    rank_state self;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.size);
    const char *file = nullptr;
    for (int i = 1; i + 1 < argc; i += 2) { // the other options of scripts/simulate.py change nothing
        if (std::strcmp(argv[i], "--cell-cost") == 0) {
            self.cost = std::atof(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--json") == 0) {
            file = argv[i + 1];
        }
    }
    self.random.seed(static_cast<unsigned>(rank) + 1);
    thence_am_options options{};
    options.window = 4;   // messages wait for credits
    options.receives = 1; // each test of a receive is an event of the simulator
    int wrong = thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &self.am) != MPI_SUCCESS ? 1 : 0;
    thence_am_register(self.am, 0, &rank_state::handle, &self, 0);
    thence_am_register(self.am, 1, &rank_state::handle, &self, THENCE_AM_SHORT);
    thence_am_memory mine{};
    thence_am_memory_register(self.am, &self.data, sizeof self.data, &mine);
    self.memory.resize(static_cast<std::size_t>(self.size));
    // Not MPI_Allgather: between 128 ranks SMPI's algorithm takes minutes of the machine.
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, self.memory.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(self.memory.data(), static_cast<int>(self.memory.size() * sizeof mine), MPI_BYTE, 0, MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int phase = 0; phase < phases; ++phase) {
        if (rank % (phase + 1) == 0) { // not all begin something
            self.begin(depth);
            self.begin(depth);
        }
        wrong += thence_am_quiesce(self.am) != MPI_SUCCESS ? 1 : 0;
        const long counts[2] = {self.begun, self.handled};
        long all[2] = {};
        MPI_Allreduce(counts, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        wrong += all[0] != all[1] ? 1 : 0;
        if (rank == 0) {
            std::printf("phase %d: %ld begun, %ld handled, simulated time %.9f s\n", phase, all[0], all[1],
                        MPI_Wtime());
        }
    }
    const double seconds = MPI_Wtime() - start;
    thence_am_memory_forget(self.am, &mine);
    wrong += thence_am_free(&self.am) != MPI_SUCCESS ? 1 : 0;
    MPI_Finalize();
    std::FILE *const out = rank == 0 && file != nullptr && wrong == 0 ? std::fopen(file, "w") : nullptr;
    if (out != nullptr) {
        std::fprintf(out, "{\"time_s\": %.12g}\n", seconds);
        std::fclose(out);
    }
    return wrong != 0 ? 1 : 0;
}
