// SPDX-License-Identifier: BSD-3-Clause
// Queue groups: which queue a call takes, so that many threads do not meet on one.
#include "onesided/tagaspi/processors.hpp"
#include "onesided/tagaspi/tagaspi.hpp"

#include <TAGASPI.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <mutex>
#include <sched.h>
#include <span>

namespace thence::tagaspi {

namespace {

constexpr gaspi_number_t most_groups = 16;

// What a group has. It is read as a whole, since another thread may delete the group and make it anew.
struct contents {
    std::uint16_t count = 0; // 0: there is none
    gaspi_queue_id_t begin = 0;
    bool is_by_processor = false;
};
struct queue_group {
    std::atomic<contents> has{};
    std::atomic<unsigned> calls{0};
};
static_assert(std::atomic<contents>::is_always_lock_free && gaspi::most_queues <= UINT16_MAX);

std::mutex changing;
std::array<queue_group, most_groups> groups;

// The processors that threads of this process may use, or were found on, have positions. Each thread may be bound to
// some, and be made later, so a processor that has no position gets one when a thread asks on it. Read without the
// mutex.
constexpr int no_position = -1;
std::array<std::atomic<int>, CPU_SETSIZE> positions{};
std::atomic<unsigned> processors{0};
cpu_set_t known; // under the mutex

// The NUMA node of a processor; 0 where the system does not say.
int node_of(std::size_t processor) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu", processor);
    int node = 0;
    if (DIR *const folder = opendir(path)) {
        while (const dirent *const entry = readdir(folder)) {
            if (std::sscanf(entry->d_name, "node%d", &node) == 1) {
                break;
            }
        }
        closedir(folder);
    }
    return node;
}

void add_processors_of_threads() noexcept {
    DIR *const folder = opendir("/proc/self/task");
    if (folder == nullptr) {
        return;
    }
    while (const dirent *const entry = readdir(folder)) {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        if (const int thread = std::atoi(entry->d_name);
            thread > 0 && sched_getaffinity(thread, sizeof allowed, &allowed) == 0) {
            CPU_OR(&known, &known, &allowed);
        }
    }
    closedir(folder);
}

// With the mutex.
void find_processors() noexcept {
    add_processors_of_threads();
    if (const int processor = sched_getcpu(); processor >= 0 && processor < CPU_SETSIZE) {
        CPU_SET(static_cast<std::size_t>(processor), &known);
    }
    std::array<placed_processor, CPU_SETSIZE> all;
    std::size_t found = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        positions[i].store(no_position, std::memory_order_relaxed);
        if (CPU_ISSET(i, &known)) {
            all[found++] = {node_of(i), i};
        }
    }
    sort_by_node(std::span(all).first(found));
    for (std::size_t i = 0; i < found; ++i) {
        positions[all[i].processor].store(static_cast<int>(i), std::memory_order_relaxed);
    }
    processors.store(static_cast<unsigned>(found), std::memory_order_relaxed);
}

unsigned position_here() noexcept {
    const int processor = sched_getcpu();
    if (processor < 0 || processor >= CPU_SETSIZE) {
        return 0;
    }
    const std::atomic<int> &at = positions[static_cast<std::size_t>(processor)];
    if (at.load(std::memory_order_relaxed) == no_position) {
        const std::scoped_lock guard(changing);
        if (at.load(std::memory_order_relaxed) == no_position) {
            find_processors();
        }
    }
    return static_cast<unsigned>(std::max(at.load(std::memory_order_relaxed), 0));
}

} // namespace

void forget_queue_groups() noexcept {
    const std::scoped_lock guard(changing);
    for (queue_group &each : groups) {
        each.has.store({});
    }
}

} // namespace thence::tagaspi

using namespace thence::gaspi;
using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_queue_group_create(gaspi_queue_group_id_t queue_group, gaspi_queue_id_t queue_begin,
                                          gaspi_number_t queue_num, gaspi_queue_group_policy_t policy) {
    THENCE_TAGASPI_SELF();
    if (queue_group >= most_groups || queue_num == 0) {
        return GASPI_ERR_INV_NUM;
    }
    if (policy != GASPI_QUEUE_GROUP_POLICY_DEFAULT && policy != GASPI_QUEUE_GROUP_POLICY_CPU_RR) {
        return GASPI_ERR_CONFIG;
    }
    for (gaspi_number_t i = 0; i < queue_num; ++i) {
        if (queue_begin + i >= most_queues) {
            return GASPI_ERR_INV_QUEUE;
        }
        THENCE_GASPI_CHECK(wrong_queue(self, static_cast<gaspi_queue_id_t>(queue_begin + i)));
    }
    const std::scoped_lock guard(changing);
    auto &made = groups[queue_group];
    if (made.has.load().count != 0) {
        return GASPI_ERR_INITED;
    }
    find_processors();
    made.calls.store(0, std::memory_order_relaxed);
    made.has.store({static_cast<std::uint16_t>(queue_num), queue_begin, policy == GASPI_QUEUE_GROUP_POLICY_CPU_RR},
                   std::memory_order_release);
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_delete(gaspi_queue_group_id_t queue_group) {
    THENCE_TAGASPI_RUNNING()
    const std::scoped_lock guard(changing);
    if (queue_group >= most_groups || groups[queue_group].has.load().count == 0) {
        return GASPI_ERR_INV_NUM;
    }
    groups[queue_group].has.store({});
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_get_queue(gaspi_queue_group_id_t queue_group, gaspi_queue_id_t *queue) {
    THENCE_TAGASPI_RUNNING()
    THENCE_GASPI_NOT_NULL(queue);
    if (queue_group >= most_groups) {
        return GASPI_ERR_INV_NUM;
    }
    auto &from = groups[queue_group];
    const contents has = from.has.load(std::memory_order_acquire);
    const unsigned count = has.count;
    if (count == 0) {
        return GASPI_ERR_INV_NUM;
    }
    unsigned which = 0;
    if (!has.is_by_processor) {
        which = from.calls.fetch_add(1, std::memory_order_relaxed) % count;
    } else {
        const unsigned position = position_here();
        which = queue_of_position(position, processors.load(std::memory_order_relaxed), count);
    }
    *queue = static_cast<gaspi_queue_id_t>(has.begin + which);
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_max(gaspi_number_t *queue_group_max) {
    THENCE_GASPI_NOT_NULL(queue_group_max);
    *queue_group_max = most_groups;
    return GASPI_SUCCESS;
}

} // extern "C"
