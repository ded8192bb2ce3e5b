// SPDX-License-Identifier: BSD-3-Clause
// Three ranks, of which the last one stops and is killed while others send to it and wait for it: their calls return
// errors, the state vector shows it, and the two go on without it. MPI itself cannot end then, so the program leaves by
// _exit.
#include <GASPI_Ext.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace {

int faults = 0;

void expect(const char *what, gaspi_return_t found, gaspi_return_t expected) {
    if (found != expected) {
        std::printf("FAULT: %s: %d instead of %d\n", what, found, expected);
        ++faults;
    }
}

// The last rank tells the others its number in the system, and stops when they know it.
void stop() {
    gaspi_pointer_t memory = nullptr;
    gaspi_segment_ptr(0, &memory);
    *static_cast<pid_t *>(memory) = getpid();
    for (gaspi_rank_t to = 0; to < 2; ++to) {
        expect("tell", gaspi_write_notify(0, 0, to, 0, 99'000, sizeof(pid_t), 20, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    for (gaspi_notification_id_t id = 20; id < 22; ++id) {
        gaspi_notification_id_t found = 0;
        expect("they know", gaspi_notify_waitsome(0, id, 1, &found, GASPI_BLOCK), GASPI_SUCCESS);
    }
    std::raise(SIGSTOP);
}

// Returns its number when it has stopped.
pid_t wait_until_stopped(gaspi_rank_t rank) {
    gaspi_pointer_t memory = nullptr;
    gaspi_segment_ptr(0, &memory);
    gaspi_notification_id_t found = 0;
    expect("told", gaspi_notify_waitsome(0, 20, 1, &found, GASPI_BLOCK), GASPI_SUCCESS);
    const pid_t process = *reinterpret_cast<const pid_t *>(static_cast<const unsigned char *>(memory) + 99'000);
    expect("know", gaspi_notify(0, 2, 20U + rank, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    const std::string file = "/proc/" + std::to_string(process) + "/stat";
    for (char state = ' '; state != 'T';) { // it has its packet before that
        std::ifstream(file).ignore(1000, ')') >> state;
        std::this_thread::yield();
    }
    return process;
}

} // namespace

int main() {
    gaspi_config_t config;
    expect("configuration", gaspi_config_get(&config), GASPI_SUCCESS);
    config.passive_queue_size_max = 2;
    expect("configure", gaspi_config_set(config), GASPI_SUCCESS);
    expect("init", gaspi_proc_init(GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_rank_t rank = 0;
    gaspi_proc_rank(&rank);
    expect("segment", gaspi_segment_create(0, 100'000, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED),
           GASPI_SUCCESS);
    gaspi_group_t pair = 0;
    if (rank != 2) {
        expect("group", gaspi_group_create(&pair), GASPI_SUCCESS);
        gaspi_group_add(pair, 0);
        gaspi_group_add(pair, 1);
        expect("commit", gaspi_group_commit(pair, GASPI_BLOCK), GASPI_SUCCESS);
    }
    constexpr gaspi_size_t passive = 60'000; // more than MPI sends before it is received
    if (rank != 2) {
        expect("passive", gaspi_passive_send(0, 0, 2, passive, GASPI_BLOCK), GASPI_SUCCESS);
        expect("passive", gaspi_passive_send(0, 0, 2, passive, GASPI_BLOCK), GASPI_SUCCESS);
    } else {
        expect("passive", gaspi_passive_send(0, 0, 0, passive, GASPI_BLOCK), GASPI_SUCCESS);
        expect("passive", gaspi_passive_send(0, 0, 1, passive, GASPI_BLOCK), GASPI_SUCCESS);
    }
    expect("barrier of all", gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == 2) {
        stop();
    }
    const pid_t last = wait_until_stopped(rank);
    for (int i = 0; i < 20; ++i) { // more than MPI sends before it is received
        expect("write to one that has stopped", gaspi_write(0, 0, 2, 0, 0, 90'000, 2, GASPI_BLOCK), GASPI_SUCCESS);
    }
    expect("barrier of two", gaspi_barrier(pair, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == 0) {
        kill(last, SIGKILL);
    }
    expect("barrier without one", gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERROR);
    const char *const way = std::getenv("THENCE_ONESIDED");
    const bool by_messages = way != nullptr && std::string_view(way) == "messages";
    expect("wait for these", gaspi_wait(2, GASPI_BLOCK), by_messages ? GASPI_ERROR : GASPI_SUCCESS);
    gaspi_state_t states[3] = {};
    expect("states", gaspi_state_vec_get(states), GASPI_SUCCESS);
    if (states[2] != GASPI_STATE_CORRUPT || std::count(states, states + 3, GASPI_STATE_HEALTHY) != 2) {
        std::printf("FAULT: states %d %d %d\n", states[0], states[1], states[2]);
        ++faults;
    }
    gaspi_rank_t from = 9;
    const gaspi_return_t code = gaspi_passive_receive(0, 40'000, &from, passive, GASPI_BLOCK);
    expect("passive message of one that is gone", code, code == GASPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR);
    gaspi_atomic_value_t old = 0;
    gaspi_rank_t in = 1;
    gaspi_rank_t out = 0;
    expect("ping", gaspi_proc_ping(2, GASPI_BLOCK), GASPI_ERROR);
    expect("write", gaspi_write_notify(0, 0, 2, 0, 0, 8, 1, 1, 0, GASPI_BLOCK), GASPI_ERROR);
    expect("long write", gaspi_write(0, 0, 2, 0, 0, 90'000, 0, GASPI_BLOCK), GASPI_ERROR);
    expect("read", gaspi_read_notify(0, 0, 2, 0, 0, 8, 3, 0, GASPI_BLOCK), GASPI_ERROR);
    expect("atomic", gaspi_atomic_fetch_add(0, 0, 2, 1, &old, GASPI_BLOCK), GASPI_ERROR);
    for (int i = 0; i < 2; ++i) {
        expect("register", gaspi_segment_register(0, 2, GASPI_BLOCK), GASPI_ERROR);
        expect("create with one that is gone",
               gaspi_segment_create(1, 8, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED), GASPI_ERROR);
    }
    expect("create without it", gaspi_segment_create(1, 8, pair, GASPI_BLOCK, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    expect("allreduce", gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK),
           GASPI_ERROR);
    expect("passive", gaspi_passive_send(0, 0, 2, 8, GASPI_BLOCK), GASPI_ERROR);
    expect("the end", gaspi_proc_term(GASPI_BLOCK), GASPI_ERROR);
    // Without it.
    const gaspi_rank_t other = 1 - rank;
    for (int i = 0; i < 3; ++i) { // what it has not received takes no room
        from = 2;
        expect("passive to the other", gaspi_passive_send(0, 0, other, 8, GASPI_BLOCK), GASPI_SUCCESS);
        expect("passive from the other", gaspi_passive_receive(0, 50'000, &from, 8, GASPI_BLOCK), GASPI_SUCCESS);
        expect("its rank", static_cast<gaspi_return_t>(from), static_cast<gaspi_return_t>(other));
    }
    gaspi_notification_id_t id = 0;
    expect("write to the other", gaspi_write_notify(0, 0, other, 0, 50'000, 40'000, 7, 1, 1, GASPI_BLOCK),
           GASPI_SUCCESS);
    expect("notification of the other", gaspi_notify_waitsome(0, 0, 10, &id, GASPI_BLOCK), GASPI_SUCCESS);
    expect("wait", gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
    expect("barrier of two", gaspi_barrier(pair, GASPI_BLOCK), GASPI_SUCCESS);
    if (id != 7) {
        std::printf("FAULT: notification %u\n", id);
        ++faults;
    }
    std::printf("rank %d went on with %d faults\n", rank, faults);
    std::fflush(stdout);
    _exit(0);
}
