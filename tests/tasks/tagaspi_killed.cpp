// SPDX-License-Identifier: BSD-3-Clause
// Three ranks, of which the last one is killed while operations of tasks on it are under way: the tasks are told, the
// end does not wait for it, and the two go on without it. MPI itself cannot end then, so the program leaves by _exit.
#include "counted_task.hpp"

#include <GASPI_Ext.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace {

int faults = 0;

void check(bool is_right, const char *what) {
    if (!is_right) {
        std::printf("FAULT: %s\n", what);
        ++faults;
    }
}

// On this thread the next allocation that throws if it fails does so.
thread_local bool is_scarce = false;
std::atomic<bool> was_scarce{false};

void *allocate(std::size_t size) noexcept {
    return std::malloc(size != 0 ? size : 1);
}

bool is_stopped(int process) {
    std::ifstream about("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(about, text);
    const std::size_t behind_name = text.rfind(')');
    return behind_name != std::string::npos && text.compare(behind_name, 3, ") T") == 0;
}

} // namespace

void *operator new(std::size_t size) {
    void *const memory = std::exchange(is_scarce, false) ? nullptr : allocate(size);
    if (memory == nullptr) {
        was_scarce = true;
        throw std::bad_alloc();
    }
    return memory;
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size);
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

int main() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int processes[3] = {};
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
    constexpr gaspi_size_t large = 4'000'000; // of 900'000 Intel MPI has a copy before the receiver takes it
    thence_task_runtime_add(&counting);
    check(tagaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS, "init");
    check(gaspi_segment_create(0, 2 * large, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED) == GASPI_SUCCESS,
          "segment");
    check(gaspi_segment_alloc(1, large, GASPI_MEM_INITIALIZED) == GASPI_SUCCESS, "own segment");
    gaspi_group_t pair = 0;
    if (rank != 2) {
        check(gaspi_group_create(&pair) == GASPI_SUCCESS, "group");
        gaspi_group_add(pair, 0);
        gaspi_group_add(pair, 1);
        check(gaspi_group_commit(pair, GASPI_BLOCK) == GASPI_SUCCESS, "commit");
    }
    check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, "barrier of all");
    if (rank == 2) {
        std::raise(SIGSTOP); // it answers nothing
    }
    wait_until([&] { return is_stopped(processes[2]); });
    counted_task writes;
    counted_task reads;
    counted_task waits;
    check(in(writes, [] { return tagaspi_write(0, 0, 2, 0, 0, large, 0); }) == GASPI_SUCCESS, "write");
    check(in(reads, [] { return tagaspi_read_notify(0, large, 2, 0, 0, large, 3, 1); }) == GASPI_SUCCESS, "read");
    check(in(waits, [] { return tagaspi_notify_iwait(0, 5, GASPI_NOTIFICATION_IGNORE); }) == GASPI_SUCCESS, "wait");
    // A write for which there is no memory when MPI has its data, as the call finds out, which waits for their end.
    std::atomic<bool> has_returned{false};
    gaspi_return_t unbound = GASPI_SUCCESS;
    std::thread writer([&] {
        is_scarce = true;
        unbound = tagaspi_write(1, 0, 2, 0, 0, large, 3);
        is_scarce = false;
        has_returned = true;
    });
    wait_until([&] { return was_scarce || has_returned; });
    check(gaspi_barrier(pair, GASPI_BLOCK) == GASPI_SUCCESS, "barrier of two");
    if (rank == 0) {
        kill(processes[2], SIGKILL);
    }
    wait_until([&] { return writes.lowered == writes.raised && reads.lowered == reads.raised; });
    for (const counted_task *const each : {&writes, &reads}) {
        check(each->raised == 0 || each->error != MPI_SUCCESS, "the runtime is told of the error");
    }
    writer.join();
    check(unbound == (was_scarce ? GASPI_ERR_MEMALLOC : GASPI_SUCCESS), "write without memory");
    check(gaspi_segment_delete(1) == (was_scarce ? GASPI_ERROR : GASPI_SUCCESS), "MPI may still send from the part");
    gaspi_notification_id_t id = 0;
    const gaspi_return_t found = gaspi_notify_waitsome(0, 3, 1, &id, GASPI_TEST);
    check(found == (reads.raised == 0 ? GASPI_SUCCESS : GASPI_TIMEOUT), "the notification of the read");
    check(waits.lowered == 0, "another rank may send the notification");
    const gaspi_return_t end = tagaspi_proc_term(GASPI_BLOCK); // also where nothing was under way
    check(end == GASPI_ERROR, "the end");
    gaspi_state_t states[3] = {};
    check(gaspi_state_vec_get(states) == GASPI_SUCCESS && states[2] == GASPI_STATE_CORRUPT &&
              states[1 - rank] == GASPI_STATE_HEALTHY,
          "states");
    counted_task late;
    check(in(late, [] { return tagaspi_write(0, 0, 2, 0, 0, 8, 0); }) == GASPI_ERROR, "write to one that is gone");
    check(late.raised == late.lowered, "nothing is bound");
    // Without it.
    const auto other = static_cast<gaspi_rank_t>(1 - rank);
    counted_task notifies;
    check(in(notifies, [other] { return tagaspi_write_notify(0, 0, other, 0, large, large, 5, 1, 2); }) ==
              GASPI_SUCCESS,
          "write to the other");
    wait_until([&] { return waits.lowered == 1 && notifies.lowered == notifies.raised; });
    check(notifies.error == MPI_SUCCESS, "the write to the other");
    check(gaspi_barrier(pair, GASPI_BLOCK) == GASPI_SUCCESS, "barrier of two");
    std::printf("rank %d went on with %d faults\n", rank, faults);
    std::fflush(stdout);
    _exit(0);
}
