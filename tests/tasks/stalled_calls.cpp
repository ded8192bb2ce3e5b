// SPDX-License-Identifier: BSD-3-Clause
// Tasks in MPI calls that never return, because nobody sends: the stall report (THENCE_STALL, which ctest sets) names
// the function and the line of each, and so does MPI_Finalize, after which none of them calls MPI. The argument names
// the runtime.
#include "standard_error.hpp"

#include <thence/task_runtime.h>
#include <thence/thence.h>

#if defined(HAS_FLOW)
#include <thence/dataflow.h>
#endif
#if defined(HAS_FIBER)
#include <thence/fiber.hpp>
#endif

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace {

// The runtime's own table, but blocked tasks are counted.
thence_task_runtime table{};
int (*own_block)(void *) = nullptr;
std::atomic<int> blocked{0};
std::atomic<int> ended{0};

void use(const thence_task_runtime &own) {
    table = own;
    own_block = own.block;
    table.block = [](void *task) {
        ++blocked;
        return own_block(task);
    };
}

using body = void (*)();

void in_probe() {
    MPI_Probe(0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    ++ended;
}
void in_matched_probe() {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    ++ended;
}
void in_persistent_wait() {
    static int received = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv_init(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++ended;
}
void in_wait_for_any() {
    static int received[2];
    int index = 0;
    MPI_Request requests[2];
    MPI_Irecv(&received[0], 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&received[1], 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    ++ended;
}
void in_receive() {
    static int received = 0;
    MPI_Recv(&received, 1, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    ++ended;
}
void in_other_probe() {
    int received = 0;
    MPI_Probe(0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Recv(&received, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    ++ended;
}
constexpr body all[] = {in_probe, in_matched_probe, in_persistent_wait, in_wait_for_any, in_receive, in_other_probe};

void start_threads() {
    use(*thence_task_runtime_threads());
    thence_task_runtime_add(&table);
    for (const body each : all) {
        std::thread(each).detach();
    }
}

#if defined(HAS_FLOW)
void start_flow() {
    use(*thence_flow_task_runtime());
    thence_task_runtime_add(&table);
    for (const body &each : all) {
        table.spawn([](void *argument) { (*static_cast<const body *>(argument))(); }, const_cast<body *>(&each),
                    nullptr, nullptr, nullptr);
    }
}
#endif

#if defined(HAS_FIBER)
void start_fibers() {
    use(thence::fibers::task_runtime());
    thence_task_runtime_add(&table);
    std::thread([] {
        std::vector<boost::fibers::fiber> fibers;
        for (const body each : all) {
            fibers.emplace_back(each);
        }
        for (boost::fibers::fiber &each : fibers) {
            each.join();
        }
    }).detach();
}
#endif

constexpr std::pair<const char *, void (*)()> runtimes[] = {
    {"threads", start_threads},
#if defined(HAS_FLOW)
    {"flow", start_flow},
#endif
#if defined(HAS_FIBER)
    {"fiber", start_fibers},
#endif
};

int faults = 0;
void expect(const std::string &text, const std::string &words) {
    if (text.find(words) == std::string::npos) {
        std::printf("not found: %s\n", words.c_str());
        ++faults;
    }
}

void wait_until(const std::function<bool()> &holds) {
    while (!holds()) {
        std::this_thread::yield();
    }
}

// The lines of the calls that never return.
void check_lines(const std::string &text) {
    const std::string who = std::string("1 task of ") + table.name + " in ";
    expect(text, who + "MPI_Probe for ");
    expect(text, who + "MPI_Mprobe for ");
    expect(text, who + "a call that waits for a request for ");
    expect(text, who + "MPI_Waitany for ");
    for (const char *caller : {"in_probe", "in_matched_probe", "in_persistent_wait", "in_wait_for_any"}) {
        expect(text, caller);
    }
    expect(text, "in_receive");
    expect(text, std::string("    blocks 1 task of ") + table.name);
}

} // namespace

int main(int argc, char **argv) {
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    thence_task_blocking_calls(cr);
    std::string stalled;
    std::string finalized;
    {
        standard_error printed;
        for (const auto &[name, start] : runtimes) {
            if (argc > 1 && std::strcmp(argv[1], name) == 0) {
                start();
            }
        }
        // The first report may come before all of them wait. It is repeated.
        stalled = printed.read_until("1 outstanding, 5 tasks poll");
        stalled = printed.read_until("MPI_Probe for ");
        thence_task_thread_aware(0, nullptr); // this thread may be a task, too
        const int sent = 0;
        MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
        stalled = printed.read_until("stall over: operations complete again");
        wait_until([] { return ended == 1; });
    }
    check_lines(stalled);
    if (stalled.find("all tasks wait") != std::string::npos) {
        std::printf("a receive is outstanding, but: all tasks wait\n");
        ++faults;
    }
    const int before = blocked;
    {
        standard_error printed;
        MPI_Finalize();
        finalized = printed.read_until("blocks 1 task");
    }
    expect(finalized, "MPI_Finalize: 4 tasks are in MPI calls that will not return");
    expect(finalized, "MPI_Finalize: 1 continuation is outstanding and will not run");
    check_lines(finalized);
    wait_until([&] { return blocked == before + 4; }); // so none of them polls any more
    std::printf("%s%s%d faults\n", stalled.c_str(), finalized.c_str(), faults);
    std::fflush(nullptr);
    std::_Exit(faults); // the tasks never end
}
