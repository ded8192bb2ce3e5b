// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process that is not shared: the system copies to it and from it. And which processes are on one
// node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thence::memory {

// Copies, and returns true once all is copied. False: the system refuses, and a part may have been copied; errno says
// why.
bool write_to(int process, std::uintptr_t to, const void *from, std::size_t bytes) noexcept;
bool read_from(int process, std::uintptr_t from, void *to, std::size_t bytes) noexcept;

// The same number in all processes of this node: made of the name of the host and of the number that the system took
// when it was started. So two containers with names of their own count as two nodes, and so do two hosts that
// scripts/two_hosts.py makes on one machine.
std::uint64_t this_node() noexcept;

} // namespace thence::memory
