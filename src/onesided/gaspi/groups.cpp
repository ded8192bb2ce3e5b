// SPDX-License-Identifier: BSD-3-Clause
// Groups and their collective calls, by packets along a binomial tree: to the first rank, and back. A call that has
// timed out goes on where it was when it is called again.
//
// A process where a call fails says so in what it sends on, so that the call fails in all of them, and none waits for
// one that has given up. A rank that is gone counts as one that has failed.
//
// Packets name the group by a key that all members compute from its ranks, and by how many groups of these ranks each
// has committed before: numbers of groups may differ between processes. What comes before it is asked for waits in a
// table.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

namespace thence::gaspi {

namespace {

using bytes = std::vector<unsigned char>;
enum class direction : std::uint64_t { up, down };
enum class call : unsigned char { none, commit, barrier, allreduce, allreduce_user };

struct group {
    bool exists = false;
    bool is_committed = false;
    std::vector<gaspi_rank_t> ranks; // ascending
    std::uint64_t key = 0;
    std::uint64_t number = 0; // of the collective call
    int own = -1;             // the index of this process

    // Of a call that is not complete.
    call active = call::none;
    direction way = direction::up;
    int mask = 1;
    bool has_failed = false;
    bytes value;
};

// What a member has sent; it may come in several packets.
struct contribution {
    bytes value;
    std::uint64_t whole = 0; // its length
    bool has_failed = false;
};

std::array<group, 256> groups;
std::mutex table_mutex;                                                        // guards these
std::map<std::tuple<std::uint64_t, std::uint64_t, int>, contribution> arrived; // key; number and direction; rank
std::map<std::uint64_t, std::uint64_t> committed;                              // how many groups of these ranks
std::atomic<bool> lost_some{false}; // there was no memory for one: calls fail

// Combines two values into the first. False: the operation of the program has failed.
using combine = std::function<bool(bytes &, const bytes &)>;

std::uint64_t hash_of(const std::vector<gaspi_rank_t> &ranks) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const gaspi_rank_t each : ranks) {
        hash = (hash ^ (each + 1U)) * 0x100000001b3U;
    }
    return hash;
}

void find_key(process &self, group &g) {
    std::ranges::sort(g.ranks);
    const std::uint64_t hash = hash_of(g.ranks);
    const std::scoped_lock guard(table_mutex);
    g.key = (hash ^ committed[hash]++) * 0x100000001b3U;
    g.number = 0;
    const auto at = std::ranges::find(g.ranks, self.rank);
    g.own = at != g.ranks.end() ? static_cast<int>(at - g.ranks.begin()) : -1;
}

// False: it cannot be sent.
bool send_to(process &self, const group &g, int index, direction way) noexcept {
    return send(self, g.ranks[static_cast<std::size_t>(index)],
                {subject::collective, g.key, 2 * g.number + static_cast<std::uint64_t>(way), g.value.data(),
                 g.has_failed ? 0 : g.value.size(), g.has_failed}) == GASPI_SUCCESS;
}

// False: it has not come.
bool take_from(process &self, const group &g, int index, direction way, contribution &taken) {
    const gaspi_rank_t rank = g.ranks[static_cast<std::size_t>(index)];
    const std::scoped_lock guard(table_mutex);
    const auto at = arrived.find({g.key, 2 * g.number + static_cast<std::uint64_t>(way), rank});
    if (at != arrived.end() && (at->second.has_failed || at->second.value.size() == at->second.whole)) {
        taken = std::move(at->second);
        arrived.erase(at);
        return true;
    }
    taken = {};
    taken.has_failed = self.world->is_gone(rank) || lost_some.load(std::memory_order_relaxed);
    return taken.has_failed;
}

// True: the call is complete. Up: what the members behind this one give is combined. Down: the result is passed on to
// them.
bool advance(process &self, group &g, const combine &with) {
    const int size = static_cast<int>(g.ranks.size());
    contribution other;
    bool has_parent = g.own != 0;
    for (; g.way == direction::up; g.mask *= 2) {
        if (g.mask >= size) {
            g.way = direction::down;
            break;
        }
        if ((g.own & g.mask) != 0) {
            if (!send_to(self, g, g.own - g.mask, direction::up)) {
                g.has_failed = true;
                has_parent = false; // nothing will come from there
            }
            g.way = direction::down;
            break;
        }
        if (g.own + g.mask < size) {
            if (!take_from(self, g, g.own + g.mask, direction::up, other)) {
                return false;
            }
            g.has_failed = g.has_failed || other.has_failed || !with(g.value, other.value);
        }
    }
    if (has_parent) {
        if (!take_from(self, g, g.own - g.mask, direction::down, other)) {
            return false;
        }
        g.has_failed = g.has_failed || other.has_failed;
        g.value = std::move(other.value);
    }
    for (int mask = g.mask / 2; mask != 0; mask /= 2) {
        if (g.own + mask < size && !send_to(self, g, g.own + mask, direction::down)) {
            g.has_failed = true; // the others learn of it all the same
        }
    }
    return true;
}

// `value`: of this process. On success it is the result, in the group.
gaspi_return_t run(process &self, group &g, call what, const void *value, std::size_t length, const combine &with,
                   gaspi_timeout_t timeout_ms) noexcept {
    try {
        if (g.active != call::none && g.active != what) {
            return GASPI_ERR_ACTIVE_COLL;
        }
        if (g.active == call::none) {
            const auto *const from = static_cast<const unsigned char *>(value);
            g.value.assign(from, from + length);
            g.way = direction::up;
            g.mask = 1;
            g.has_failed = false;
            g.active = what;
        }
        const deadline end(timeout_ms);
        if (!wait_until(self, end, [&] { return advance(self, g, with); })) {
            return GASPI_TIMEOUT;
        }
        g.active = call::none;
        ++g.number;
        return g.has_failed ? GASPI_ERROR : GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

group *find(gaspi_group_t number) noexcept {
    return number < groups.size() && groups[number].exists ? &groups[number] : nullptr;
}

bool nothing(bytes &, const bytes &) {
    return true;
}

template <class T> void reduce(gaspi_operation_t operation, bytes &into, const bytes &other) {
    for (std::size_t at = 0; at + sizeof(T) <= into.size(); at += sizeof(T)) {
        T a;
        T b;
        std::memcpy(&a, into.data() + at, sizeof a);
        std::memcpy(&b, other.data() + at, sizeof b);
        const T result = operation == GASPI_OP_MIN   ? std::min(a, b)
                         : operation == GASPI_OP_MAX ? std::max(a, b)
                                                     : static_cast<T>(a + b);
        std::memcpy(into.data() + at, &result, sizeof result);
    }
}

std::size_t size_of(gaspi_datatype_t type) noexcept {
    switch (type) {
    case GASPI_TYPE_INT:
    case GASPI_TYPE_UINT:
    case GASPI_TYPE_FLOAT:
        return 4;
    case GASPI_TYPE_DOUBLE:
    case GASPI_TYPE_LONG:
    case GASPI_TYPE_ULONG:
        return 8;
    }
    return 0;
}

void reduce(gaspi_datatype_t type, gaspi_operation_t operation, bytes &into, const bytes &other) {
    switch (type) {
    case GASPI_TYPE_INT:
        return reduce<int>(operation, into, other);
    case GASPI_TYPE_UINT:
        return reduce<unsigned>(operation, into, other);
    case GASPI_TYPE_FLOAT:
        return reduce<float>(operation, into, other);
    case GASPI_TYPE_DOUBLE:
        return reduce<double>(operation, into, other);
    case GASPI_TYPE_LONG:
        return reduce<long>(operation, into, other);
    case GASPI_TYPE_ULONG:
        return reduce<unsigned long>(operation, into, other);
    }
}

} // namespace

void take_collective(const wire::packet &p) noexcept {
    try {
        const std::scoped_lock guard(table_mutex);
        contribution &to = arrived[{p.head.operands[0], p.head.operands[1], p.process}];
        to.whole = p.head.offset;
        to.has_failed = p.head.serial != 0;
        to.value.insert(to.value.end(), p.data, p.data + p.head.bytes);
    } catch (const std::exception &) {
        lost_some.store(true);
    }
}

gaspi_return_t begin_groups(process &self) {
    group &all = groups[GASPI_GROUP_ALL];
    all = {};
    all.exists = true;
    all.is_committed = true;
    for (int i = 0; i < self.size; ++i) {
        all.ranks.push_back(static_cast<gaspi_rank_t>(i));
    }
    find_key(self, all);
    return GASPI_SUCCESS;
}

void forget_groups() noexcept {
    groups = {};
    const std::scoped_lock guard(table_mutex);
    arrived.clear();
    committed.clear();
    lost_some.store(false);
}

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_group_create(gaspi_group_t *const number) {
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

gaspi_return_t pgaspi_group_delete(const gaspi_group_t number) {
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    group *const g = find(number);
    if (g == nullptr || number == GASPI_GROUP_ALL) {
        return GASPI_ERR_INV_GROUP;
    }
    *g = {};
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_add(const gaspi_group_t number, const gaspi_rank_t rank) {
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    group *const g = find(number);
    if (g == nullptr || g->is_committed || g->key != 0) {
        return GASPI_ERR_INV_GROUP;
    }
    if (rank >= self.size || std::ranges::find(g->ranks, rank) != g->ranks.end()) {
        return GASPI_ERR_INV_RANK;
    }
    g->ranks.push_back(rank);
    std::ranges::sort(g->ranks);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_commit(const gaspi_group_t number, const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    group *const g = find(number);
    if (g == nullptr || (g->is_committed && number != GASPI_GROUP_ALL) || g->ranks.empty()) {
        return GASPI_ERR_INV_GROUP;
    }
    if (number == GASPI_GROUP_ALL) {
        return GASPI_SUCCESS;
    }
    if (std::ranges::find(g->ranks, self.rank) == g->ranks.end()) {
        return GASPI_ERR_INV_GROUP;
    }
    if (g->key == 0) {
        find_key(self, *g);
    }
    const gaspi_return_t code = run(self, *g, call::commit, nullptr, 0, nothing, timeout_ms);
    g->is_committed = code == GASPI_SUCCESS;
    return code;
}

gaspi_return_t pgaspi_group_num(gaspi_number_t *const group_num) {
    THENCE_GASPI_NOT_NULL(group_num);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    *group_num = static_cast<gaspi_number_t>(std::ranges::count(groups, true, &group::exists));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_size(const gaspi_group_t number, gaspi_number_t *const group_size) {
    THENCE_GASPI_NOT_NULL(group_size);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    const group *const g = find(number);
    if (g == nullptr) {
        return GASPI_ERR_INV_GROUP;
    }
    *group_size = static_cast<gaspi_number_t>(g->ranks.size());
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_group_ranks(const gaspi_group_t number, gaspi_rank_t *const group_ranks) {
    THENCE_GASPI_NOT_NULL(group_ranks);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    const group *const g = find(number);
    if (g == nullptr) {
        return GASPI_ERR_INV_GROUP;
    }
    std::ranges::copy(g->ranks, group_ranks);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_barrier(const gaspi_group_t number, const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    group *const g = find(number);
    if (g == nullptr || !g->is_committed) {
        return GASPI_ERR_INV_GROUP;
    }
    count(counter::barriers);
    return run(self, *g, call::barrier, nullptr, 0, nothing, timeout_ms);
}

gaspi_return_t pgaspi_allreduce(const gaspi_pointer_t buffer_send, gaspi_pointer_t const buffer_receive,
                                const gaspi_number_t num, const gaspi_operation_t operation,
                                const gaspi_datatype_t datatype, const gaspi_group_t number,
                                const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(buffer_send);
    THENCE_GASPI_NOT_NULL(buffer_receive);
    group *const g = find(number);
    if (g == nullptr || !g->is_committed) {
        return GASPI_ERR_INV_GROUP;
    }
    if (num > configuration.allreduce_elem_max) {
        return GASPI_ERR_INV_NUM;
    }
    const std::size_t length = num * size_of(datatype);
    if (operation > GASPI_OP_SUM || (length == 0 && num != 0)) {
        return GASPI_ERROR;
    }
    const gaspi_return_t code = run(
        self, *g, call::allreduce, buffer_send, length,
        [=](bytes &into, const bytes &other) {
            if (other.size() != into.size()) {
                return false; // another process reduces another number of elements
            }
            reduce(datatype, operation, into, other);
            return true;
        },
        timeout_ms);
    if (code == GASPI_SUCCESS && length != 0) {
        std::memcpy(buffer_receive, g->value.data(), std::min(length, g->value.size()));
    }
    return code;
}

gaspi_return_t pgaspi_allreduce_user(const gaspi_pointer_t buffer_send, gaspi_pointer_t const buffer_receive,
                                     const gaspi_number_t num, const gaspi_size_t element_size,
                                     gaspi_reduce_operation_t const reduce_operation,
                                     gaspi_reduce_state_t const reduce_state, const gaspi_group_t number,
                                     const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(buffer_send);
    THENCE_GASPI_NOT_NULL(buffer_receive);
    THENCE_GASPI_NOT_NULL(reduce_operation);
    group *const g = find(number);
    if (g == nullptr || !g->is_committed) {
        return GASPI_ERR_INV_GROUP;
    }
    if (num > configuration.allreduce_elem_max) {
        return GASPI_ERR_INV_NUM;
    }
    const std::size_t length = num * element_size;
    if (element_size > configuration.allreduce_buf_size || length > configuration.allreduce_buf_size) {
        return GASPI_ERR_INV_SIZE;
    }
    const gaspi_return_t code = run(
        self, *g, call::allreduce_user, buffer_send, length,
        [=](bytes &into, const bytes &other) {
            if (other.size() != into.size()) {
                return false;
            }
            bytes second = other;
            bytes result(into.size());
            const gaspi_return_t reduced = reduce_operation(into.data(), second.data(), result.data(), reduce_state,
                                                            num, element_size, timeout_ms);
            into = std::move(result);
            return reduced == GASPI_SUCCESS;
        },
        timeout_ms);
    if (code == GASPI_SUCCESS && length != 0) {
        std::memcpy(buffer_receive, g->value.data(), std::min(length, g->value.size()));
    }
    return code;
}

THENCE_GASPI_ALIAS(group_create);
THENCE_GASPI_ALIAS(group_delete);
THENCE_GASPI_ALIAS(group_add);
THENCE_GASPI_ALIAS(group_commit);
THENCE_GASPI_ALIAS(group_num);
THENCE_GASPI_ALIAS(group_size);
THENCE_GASPI_ALIAS(group_ranks);
THENCE_GASPI_ALIAS(barrier);
THENCE_GASPI_ALIAS(allreduce);
THENCE_GASPI_ALIAS(allreduce_user);

} // extern "C"
