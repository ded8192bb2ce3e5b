// SPDX-License-Identifier: BSD-3-Clause
// Memory of this process that other processes put to and get from. They name it by a key.
#pragma once

#include "core/base/spin_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thence::am {

class registered_memory {
public:
    bool add(void *address, std::size_t bytes, std::uint64_t &key) noexcept; // false: memory is exhausted
    bool remove(std::uint64_t key) noexcept;                                 // false: there is none
    // Null: this is no part of memory that is registered. (The address may be null for 0 bytes: `found` says it.)
    void *find(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, bool &found) noexcept;

private:
    // A key is an index and, above it, how often that was used before.
    struct entry {
        void *address = nullptr;
        std::uint64_t bytes = 0;
        std::uint32_t uses = 0;
        bool is_live = false;
    };
    entry *entry_of(std::uint64_t key) noexcept;

    base::spin_lock lock_; // guards these
    std::vector<entry> all_;
    std::vector<std::uint32_t> unused_;
};

} // namespace thence::am
