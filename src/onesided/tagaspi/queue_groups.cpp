// SPDX-License-Identifier: BSD-3-Clause
// Queue groups: which queue a call takes, so that many threads do not meet on one.
#include "onesided/tagaspi/tagaspi.hpp"

#include <TAGASPI.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <dirent.h>
#include <exception>
#include <mutex>
#include <sched.h>
#include <vector>

namespace thence::tagaspi {

namespace {

constexpr gaspi_number_t most_groups = 16;

struct queue_group {
    gaspi_queue_id_t begin = 0;
    gaspi_number_t count = 0; // 0: there is none
    gaspi_queue_group_policy_t policy = GASPI_QUEUE_GROUP_POLICY_DEFAULT;
    std::atomic<unsigned> calls{0};
};

std::mutex changing;
std::array<queue_group, most_groups> groups;
// The position of each processor among those that this process may use, those of one NUMA node beside each other.
std::vector<unsigned> positions;
unsigned processors = 0;

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

void find_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (!positions.empty() || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    struct where {
        int node;
        std::size_t processor;
    };
    std::vector<where> all;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &allowed)) {
            all.push_back({node_of(i), i});
        }
    }
    std::ranges::stable_sort(all, {}, &where::node);
    positions.resize(CPU_SETSIZE, 0);
    for (unsigned i = 0; i < all.size(); ++i) {
        positions[all[i].processor] = i;
    }
    processors = static_cast<unsigned>(all.size());
}

unsigned position_here() noexcept {
    const int processor = sched_getcpu();
    return processor >= 0 && static_cast<std::size_t>(processor) < positions.size()
               ? positions[static_cast<std::size_t>(processor)]
               : 0;
}

} // namespace

void forget_queue_groups() noexcept {
    const std::scoped_lock guard(changing);
    for (queue_group &each : groups) {
        each.count = 0;
    }
}

} // namespace thence::tagaspi

using namespace thence::gaspi;
using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_queue_group_create(const gaspi_queue_group_id_t queue_group, const gaspi_queue_id_t queue_begin,
                                          const gaspi_number_t queue_num, const gaspi_queue_group_policy_t policy) {
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
    if (made.count != 0) {
        return GASPI_ERR_INITED;
    }
    try {
        find_processors();
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
    made.begin = queue_begin;
    made.policy = policy;
    made.calls.store(0, std::memory_order_relaxed);
    made.count = queue_num;
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_delete(const gaspi_queue_group_id_t queue_group) {
    const std::scoped_lock guard(changing);
    if (queue_group >= most_groups || groups[queue_group].count == 0) {
        return GASPI_ERR_INV_NUM;
    }
    groups[queue_group].count = 0;
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_get_queue(const gaspi_queue_group_id_t queue_group, gaspi_queue_id_t *const queue) {
    THENCE_GASPI_NOT_NULL(queue);
    if (queue_group >= most_groups || groups[queue_group].count == 0) {
        return GASPI_ERR_INV_NUM;
    }
    auto &from = groups[queue_group];
    unsigned which = 0;
    if (from.policy == GASPI_QUEUE_GROUP_POLICY_DEFAULT) {
        which = from.calls.fetch_add(1, std::memory_order_relaxed) % from.count;
    } else if (processors > from.count) { // neighbours share a queue
        which = static_cast<unsigned>(std::uint64_t{position_here()} * from.count / processors);
    } else {
        which = position_here();
    }
    *queue = static_cast<gaspi_queue_id_t>(from.begin + which);
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_queue_group_max(gaspi_number_t *const queue_group_max) {
    THENCE_GASPI_NOT_NULL(queue_group_max);
    *queue_group_max = most_groups;
    return GASPI_SUCCESS;
}

} // extern "C"
