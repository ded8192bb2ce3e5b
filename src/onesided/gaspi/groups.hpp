// SPDX-License-Identifier: BSD-3-Clause
// A group, and the collective call that is under way in it.
#pragma once

#include "onesided/gaspi/process.hpp"

#include <cstdint>
#include <vector>

namespace thence::gaspi {

using bytes = std::vector<unsigned char>;
enum class direction : std::uint64_t { up, down };
enum class call : unsigned char { none, commit, barrier, allreduce, allreduce_user };

struct group {
    bool exists = false;
    bool is_committed = false;
    std::vector<gaspi_rank_t> ranks; // ascending
    // Packets name the group by it: all members compute it from the ranks, and from how many groups of these ranks each
    // has committed before. Numbers of groups may differ between processes.
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

// Null: there is none.
group *find_group(gaspi_group_t number) noexcept;

// Combines what two processes give.
class combination {
public:
    // False: it has failed.
    virtual bool combine(bytes &into, const bytes &other) const = 0;

protected:
    ~combination() = default;
};

// Of calls without a value.
class nothing final : public combination {
public:
    bool combine(bytes &, const bytes &) const override { return true; }
};

// A collective call. `value`: of this process. On success the result is in the group.
gaspi_return_t run(process &self, group &g, call what, const void *value, std::size_t length, const combination &with,
                   gaspi_timeout_t timeout_ms) noexcept;
// What packets have brought.
void forget_contributions() noexcept;

} // namespace thence::gaspi
