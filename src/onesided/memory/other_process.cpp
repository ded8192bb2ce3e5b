// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/memory/other_process.hpp"

#include <cstdio>
#include <sys/uio.h>
#include <unistd.h>

namespace thence::memory {

namespace {

using copy_call = ssize_t(pid_t, const iovec *, unsigned long, const iovec *, unsigned long, unsigned long);

// One call copies at most about 2 GiB.
bool copy_all(copy_call *copy, int process, unsigned char *own, std::uintptr_t of_process, std::size_t bytes) noexcept {
    while (bytes != 0) {
        const iovec local{own, bytes};
        const iovec remote{reinterpret_cast<void *>(of_process), bytes};
        const ssize_t copied = copy(process, &local, 1, &remote, 1, 0);
        if (copied <= 0) {
            return false;
        }
        own += copied;
        of_process += static_cast<std::uintptr_t>(copied);
        bytes -= static_cast<std::size_t>(copied);
    }
    return true;
}

std::uint64_t hash_of(std::uint64_t hash, const char *text) noexcept { // FNV-1a
    for (; *text != '\0'; ++text) {
        hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
    }
    return hash;
}

} // namespace

bool write_to(int process, std::uintptr_t to, const void *from, std::size_t bytes) noexcept {
    auto *const own = static_cast<unsigned char *>(const_cast<void *>(from)); // the call only reads it
    return copy_all(&process_vm_writev, process, own, to, bytes);
}

bool read_from(int process, std::uintptr_t from, void *to, std::size_t bytes) noexcept {
    return copy_all(&process_vm_readv, process, static_cast<unsigned char *>(to), from, bytes);
}

std::uint64_t this_node() noexcept {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    char started[64] = {};
    if (std::FILE *const file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
        if (std::fgets(started, sizeof started, file) == nullptr) {
            started[0] = '\0';
        }
        std::fclose(file);
    }
    return hash_of(hash_of(0xcbf29ce484222325U, name), started);
}

} // namespace thence::memory
