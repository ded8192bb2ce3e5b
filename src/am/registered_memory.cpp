// SPDX-License-Identifier: BSD-3-Clause
#include "am/registered_memory.hpp"

#include <exception>
#include <mutex>

namespace thence::am {

registered_memory::entry *registered_memory::entry_of(std::uint64_t key) noexcept {
    const auto index = static_cast<std::uint32_t>(key);
    if (index >= all_.size()) {
        return nullptr;
    }
    entry &e = all_[index];
    return e.is_live && e.uses == key >> 32 ? &e : nullptr;
}

bool registered_memory::add(void *address, std::size_t bytes, std::uint64_t &key) noexcept {
    const std::scoped_lock guard(lock_);
    try {
        if (unused_.empty()) {
            unused_.reserve(all_.size() + 1); // remove() needs no memory
            all_.emplace_back();
            unused_.push_back(static_cast<std::uint32_t>(all_.size() - 1));
        }
    } catch (const std::exception &) {
        return false;
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    entry &e = all_[index];
    e = {address, bytes, e.uses, true};
    key = (std::uint64_t{e.uses} << 32) | index;
    return true;
}

bool registered_memory::remove(std::uint64_t key) noexcept {
    const std::scoped_lock guard(lock_);
    entry *const e = entry_of(key);
    if (e == nullptr) {
        return false;
    }
    e->is_live = false;
    ++e->uses;
    unused_.push_back(static_cast<std::uint32_t>(key));
    return true;
}

void *registered_memory::find(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, bool &found) noexcept {
    const std::scoped_lock guard(lock_);
    const entry *const e = entry_of(key);
    found = e != nullptr && offset <= e->bytes && bytes <= e->bytes - offset;
    return found && e->address != nullptr ? static_cast<unsigned char *>(e->address) + offset : nullptr;
}

} // namespace thence::am
