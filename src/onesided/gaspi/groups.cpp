// SPDX-License-Identifier: BSD-3-Clause
// Groups: which ranks they have.
#include "onesided/gaspi/groups.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <exception>
#include <list>
#include <map>
#include <utility>

namespace thence::gaspi {

namespace {

// Never destroyed, as the next: threads may be in calls while the process exits.
std::array<group, 256> &groups = *new std::array<group, 256>;
std::mutex committed_mutex;                                    // guards the next two
auto &committed = *new std::map<std::uint64_t, std::uint64_t>; // how many groups of these ranks
// Groups that were deleted before their commit was complete. Others may have taken part in it already, so it goes on
// when this process commits a group of the same ranks. One that has failed is complete, as in all other processes.
auto &deleted_before_end = *new std::list<group>;

std::uint64_t hash_of(const std::vector<gaspi_rank_t> &ranks) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const gaspi_rank_t each : ranks) {
        hash = (hash ^ (each + 1U)) * 0x100000001b3U;
    }
    return hash;
}

// False: memory is exhausted.
bool find_key(process &self, group &g) noexcept {
    std::ranges::sort(g.ranks);
    const std::uint64_t hash = hash_of(g.ranks);
    const std::scoped_lock guard(committed_mutex);
    if (const auto same = std::ranges::find(deleted_before_end, g.ranks, &group::ranks);
        same != deleted_before_end.end()) {
        g = std::move(*same);
        deleted_before_end.erase(same);
        return true;
    }
    try {
        g.key = (hash ^ committed[hash]++) * 0x100000001b3U;
    } catch (const std::exception &) {
        return false;
    }
    g.number = 0;
    const auto at = std::ranges::find(g.ranks, self.rank);
    g.own = at != g.ranks.end() ? static_cast<int>(at - g.ranks.begin()) : -1;
    return true;
}

// Whether its commit has begun and is not complete: it has timed out, or there was no memory for it.
bool has_incomplete_commit(const group &g) noexcept {
    return g.key != 0 && !g.is_committed && (g.active == call::commit || g.number == 0);
}

// False: memory is exhausted.
bool keep_commit(group &deleted) noexcept {
    const std::scoped_lock guard(committed_mutex);
    try {
        deleted_before_end.emplace_back();
    } catch (const std::exception &) {
        return false;
    }
    deleted_before_end.back() = std::move(deleted);
    return true;
}

} // namespace

group *find_group(gaspi_group_t number) noexcept {
    return number < groups.size() && groups[number].exists ? &groups[number] : nullptr;
}

gaspi_return_t begin_groups(process &self) {
    group &all = groups[GASPI_GROUP_ALL];
    all = {};
    all.exists = true;
    all.is_committed = true;
    for (int i = 0; i < self.size; ++i) {
        all.ranks.push_back(static_cast<gaspi_rank_t>(i));
    }
    return find_key(self, all) ? GASPI_SUCCESS : GASPI_ERR_MEMALLOC;
}

void forget_groups() noexcept {
    for (group &each : groups) {
        each = {};
    }
    forget_contributions();
    const std::scoped_lock guard(committed_mutex);
    committed.clear();
    deleted_before_end.clear();
}

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_group_create(gaspi_group_t *number) {
    THENCE_GASPI_NOT_NULL(number);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    for (std::size_t i = 0; i < configuration.group_max; ++i) {
        if (!groups[i].exists) {
            groups[i] = {};
            groups[i].exists = true;
            *number = static_cast<gaspi_group_t>(i);
            return GASPI_SUCCESS;
        }
    }
    return GASPI_ERR_MANY_GRP;
}

gaspi_return_t pgaspi_group_delete(gaspi_group_t number) {
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    group *const g = find_group(number);
    if (g == nullptr || number == GASPI_GROUP_ALL) {
        return GASPI_ERR_INV_GROUP;
    }
    if (has_incomplete_commit(*g) && !keep_commit(*g)) {
        return GASPI_ERR_MEMALLOC;
    }
    *g = {};
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_add(gaspi_group_t number, gaspi_rank_t rank) {
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    group *const g = find_group(number);
    if (g == nullptr || g->is_committed || g->key != 0) {
        return GASPI_ERR_INV_GROUP;
    }
    if (rank >= self.size || std::ranges::find(g->ranks, rank) != g->ranks.end()) {
        return GASPI_ERR_INV_RANK;
    }
    try {
        g->ranks.push_back(rank);
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
    std::ranges::sort(g->ranks);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_commit(gaspi_group_t number, gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    group *const g = find_group(number);
    if (g == nullptr || (g->is_committed && number != GASPI_GROUP_ALL) || g->ranks.empty()) {
        return GASPI_ERR_INV_GROUP;
    }
    if (number == GASPI_GROUP_ALL) {
        return GASPI_SUCCESS;
    }
    if (std::ranges::find(g->ranks, self.rank) == g->ranks.end()) {
        return GASPI_ERR_INV_GROUP;
    }
    if (g->key == 0 && !find_key(self, *g)) {
        return GASPI_ERR_MEMALLOC;
    }
    const gaspi_return_t code = run(self, *g, call::commit, nullptr, 0, nothing(), timeout_ms);
    g->is_committed = code == GASPI_SUCCESS;
    return code;
}

gaspi_return_t pgaspi_group_num(gaspi_number_t *group_num) {
    THENCE_GASPI_NOT_NULL(group_num);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    *group_num = static_cast<gaspi_number_t>(std::ranges::count(groups, true, &group::exists));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_size(gaspi_group_t number, gaspi_number_t *group_size) {
    THENCE_GASPI_NOT_NULL(group_size);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    const group *const g = find_group(number);
    if (g == nullptr) {
        return GASPI_ERR_INV_GROUP;
    }
    *group_size = static_cast<gaspi_number_t>(g->ranks.size());
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_ranks(gaspi_group_t number, gaspi_rank_t *group_ranks) {
    THENCE_GASPI_NOT_NULL(group_ranks);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    const group *const g = find_group(number);
    if (g == nullptr) {
        return GASPI_ERR_INV_GROUP;
    }
    std::ranges::copy(g->ranks, group_ranks);
    return GASPI_SUCCESS;
}

THENCE_GASPI_ALIAS(group_create);
THENCE_GASPI_ALIAS(group_delete);
THENCE_GASPI_ALIAS(group_add);
THENCE_GASPI_ALIAS(group_commit);
THENCE_GASPI_ALIAS(group_num);
THENCE_GASPI_ALIAS(group_size);
THENCE_GASPI_ALIAS(group_ranks);

} // extern "C"
