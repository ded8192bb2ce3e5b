// SPDX-License-Identifier: BSD-3-Clause
// Threads that the library starts block the signals of the program: one that waits for a signal in one of its threads
// gets every signal. A program of its own, since MPI's own threads must not take the signal either: they start while it
// is blocked.
#include <thence/thence.h>

#ifdef WITH_TBB
#include <thence/dataflow.hpp>
#include <thence/host_queue.hpp>
#include <thence/pools.hpp>
#endif

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int faults = 0;
void check(bool holds, const std::string &what) {
    if (!holds) {
        ++faults;
        std::fprintf(stderr, "fault: %s\n", what.c_str());
    }
}

struct thread_status {
    std::string name;
    unsigned long long blocked; // bit n - 1 is signal n
};

std::map<long, thread_status> all_threads() {
    std::map<long, thread_status> found;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(entry.path() / "status");
        thread_status one{};
        for (std::string line; std::getline(status, line);) {
            if (line.rfind("Name:\t", 0) == 0) {
                one.name = line.substr(6);
            } else if (line.rfind("SigBlk:\t", 0) == 0) {
                one.blocked = std::stoull(line.substr(8), nullptr, 16);
            }
        }
        found[std::stol(entry.path().filename())] = one;
    }
    return found;
}

bool blocks(const thread_status &thread, int signal) {
    return (thread.blocked >> (signal - 1) & 1U) != 0;
}

int nothing(int, MPI_Status *, void *) {
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    alarm(50);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
    int level = 0;
    setenv("THENCE_STALL", "20s", 1); // its thread starts with the library
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    const auto before = all_threads();

    MPI_Request cr = MPI_REQUEST_NULL;
    MPI_Request receive = MPI_REQUEST_NULL;
    int received = 0;
    check(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE | THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr) == MPI_SUCCESS,
          "CR");
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    thence_attach(1, &receive, nothing, nullptr, 0, MPI_STATUSES_IGNORE, cr, nullptr);
    std::size_t expected = 2; // stall detector, helper
#ifdef WITH_TBB
    namespace ex = thence::ex;
    thence::flow graph({.workers = 1});
    for (int i = 0; i < 4; ++i) {
        graph.submit({}, [] { thence::wait_for(1'000'000); });
    }
    graph.taskwait();
    thence::pools pools({.workers = 1});
    thence::sync_wait(ex::schedule(pools.workers()) | ex::then([] {}));
    thence::sync_wait(ex::schedule(pools.mpi()) | ex::then([] {}));
    thence::host_queue queue;
    thence::sync_wait(ex::schedule(queue.get_scheduler()) | ex::then([] {}));
    expected += 2; // timer of the data-flow layer, thread of the MPI pool; oneTBB has as many workers as it likes
#endif

    std::size_t ours = 0;
    bool helper = false;
    std::vector<std::string> wrong;
    // A thread that has just been started by oneTBB blocks all signals for a moment, so the threads are looked at
    // again.
    for (int tries = 0; tries < 100 && (tries == 0 || !wrong.empty()); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ours = 0;
        helper = false;
        wrong.clear();
        for (const auto &[number, thread] : all_threads()) {
            if (before.count(number) != 0 && thread.name.rfind("thence", 0) != 0) {
                continue; // the program's or MPI's
            }
            ++ours;
            helper = helper || thread.name == "thence-helper";
            for (int signal = 1; signal <= SIGRTMAX; ++signal) {
                const bool own_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
                                       signal == SIGTRAP || signal == SIGSYS || signal == SIGABRT;
                const bool unblockable = signal == SIGKILL || signal == SIGSTOP ||
                                         (signal > SIGSYS && signal < SIGRTMIN); // of the C library
                if (!unblockable && blocks(thread, signal) == own_fault) {
                    wrong.push_back("thread " + thread.name + (own_fault ? " blocks" : " takes") + " signal " +
                                    std::to_string(signal));
                }
            }
        }
    }
    for (const std::string &each : wrong) {
        check(false, each);
    }
    check(helper, "no thread is named thence-helper");
    check(ours >= expected, std::to_string(ours) + " threads of the library, expected " + std::to_string(expected));

    pthread_sigmask(SIG_BLOCK, &one, nullptr);
    std::signal(SIGUSR1, [](int) {});
    int got = 0;
    for (int i = 0; i < 200; ++i) {
        kill(getpid(), SIGUSR1);
        const timespec patience{1, 0};
        got += got == i && sigtimedwait(&one, nullptr, &patience) == SIGUSR1 ? 1 : 0;
    }
    check(got == 200, "the thread that waits for signals got " + std::to_string(got) + " of 200");

    const int sent = 1;
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    thence_wait(&cr, MPI_STATUS_IGNORE);
    thence_free(&cr);
    std::printf("%zu threads of the library, %d of 200 signals\n", ours, got);
    MPI_Finalize();
    return faults == 0 ? 0 : 1;
}
