// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes of this node can map: a file that exists in memory alone (memfd_create). Another process
// opens it by the number of its descriptor here, in /proc. So it needs no name, nothing is left behind when a process
// is killed, and the size of /dev/shm does not matter. One process can make it without the others.
//
// A descriptor may be closed, and its number used for another file, before another process opens it. So a block ends
// with a number that is its own, which whoever opens it must know, and is sealed: nobody can make it shorter, after
// which an access would be a fault (SIGBUS).
//
// Invariant: a block has memory, or is empty. Memory whose descriptor is -1 is not shared with anybody.
#pragma once

#include "core/base/visibility.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace thence::memory {

class THENCE_INTERNAL shared_block {
public:
    shared_block() noexcept = default;
    shared_block(shared_block &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_),
          descriptor_(std::exchange(other.descriptor_, -1)) {}
    shared_block &operator=(shared_block &&other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~shared_block();

    // Zeroed memory. If the system has no memfd_create, it is not shared. Empty if memory is exhausted.
    static shared_block make(std::size_t bytes) noexcept;
    // Maps the block of another process, which has told all this about it. Empty if that is not possible; errno says
    // why.
    static shared_block open(int process, int descriptor, std::size_t bytes, std::uint64_t cookie) noexcept;

    explicit operator bool() const noexcept { return data_ != nullptr; }
    unsigned char *data() const noexcept { return data_; }
    // Without its number.
    std::size_t bytes() const noexcept { return bytes_; }
    // A number that no other block of this node has.
    std::uint64_t cookie() const noexcept { return data_ != nullptr ? *cookie_at(data_, bytes_) : 0; }
    // The system gets the pages of a block that was made here, although others may have mapped it: they find zeros, and
    // nobody can open it any more.
    void give_pages_back() const noexcept;
    // Of a block that was made here: what another process opens.
    int descriptor() const noexcept { return descriptor_; }

private:
    static constexpr std::size_t behind(std::size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }
    static constexpr std::size_t whole(std::size_t bytes) noexcept { return behind(bytes) + sizeof(std::uint64_t); }
    static std::uint64_t *cookie_at(unsigned char *data, std::size_t bytes) noexcept {
        return reinterpret_cast<std::uint64_t *>(data + behind(bytes));
    }

    unsigned char *data_ = nullptr;
    std::size_t bytes_ = 0;
    int descriptor_ = -1;
};

} // namespace thence::memory
