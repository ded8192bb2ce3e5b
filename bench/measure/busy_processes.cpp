// SPDX-License-Identifier: BSD-3-Clause
#include "measure/busy_processes.hpp"

#include "measure/clock.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mpi.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace measure {

namespace {

std::string percent(double share) {
    return std::to_string(static_cast<int>(share * 100)) + "%";
}

} // namespace

int processors() {
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

busy_processes::busy_processes(int count) {
    const pid_t parent = getpid();
    for (int i = 0; i < count; ++i) {
        const pid_t made = fork();
        if (made < 0) {
            const int reason = errno;
            end();
            throw std::runtime_error(std::string("fork: ") + std::strerror(reason));
        }
        if (made == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) { // it ended before that call
                _exit(0);
            }
            for (volatile unsigned long turns = 0;;) {
                turns = turns + 1;
            }
        }
        started_.push_back(made);
    }
}

busy_processes::~busy_processes() {
    end();
}

void busy_processes::end() noexcept {
    for (const pid_t one : started_) {
        kill(one, SIGKILL);
        waitpid(one, nullptr, 0);
    }
    started_.clear();
}

double share_while_spinning() {
    constexpr nanoseconds time = 300'000'000;
    MPI_Barrier(MPI_COMM_WORLD);
    const nanoseconds start = now();
    const nanoseconds processor = processor_time();
    while (now() - start < time) {
    }
    return static_cast<double>(processor_time() - processor) / static_cast<double>(now() - start);
}

numbers with_free_processors(session &in, int ranks, const job &what) {
    numbers found = in.together(ranks, what);
    if (found.at("free_processor") < 0.9) {
        throw std::runtime_error("a thread that spins got only " + percent(found.at("free_processor")) +
                                 " of a processor. This benchmark needs a free processor for each rank; run it when "
                                 "the machine is idle");
    }
    return found;
}

numbers beside_busy_processes(session &in, int ranks, const job &what) {
    const busy_processes others(processors());
    numbers found = in.together(ranks, what);
    if (found.at("free_processor") < 0.3) {
        throw std::runtime_error("beside one busy process per processor, a thread that spins got only " +
                                 percent(found.at("free_processor")) +
                                 " of a processor in place of half: other processes run, too. Run it when the machine "
                                 "is idle");
    }
    return found;
}

} // namespace measure
