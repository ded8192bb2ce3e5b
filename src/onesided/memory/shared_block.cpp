// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/memory/shared_block.hpp"

#include "core/base/clock.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thence::memory {

namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::uint64_t make_cookie(const void *object) noexcept {
    static std::atomic<std::uint64_t> made{0};
    const auto now = static_cast<std::uint64_t>(base::read_clock());
    return (now << 32) ^ (now >> 32) ^ (static_cast<std::uint64_t>(getpid()) << 12) ^
           reinterpret_cast<std::uintptr_t>(object) ^ (++made << 44);
}

// A file of the expected length that can no longer be made shorter.
bool is_safe(int descriptor, std::size_t bytes) noexcept {
    struct stat about {};
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < 0 ||
        static_cast<std::size_t>(about.st_size) < bytes) {
        return false;
    }
    const int has = fcntl(descriptor, F_GET_SEALS);
    return has >= 0 && (has & F_SEAL_SHRINK) != 0;
}

} // namespace

shared_block shared_block::make(std::size_t bytes) noexcept {
    const std::size_t all = whole(bytes);
    if (all < bytes) {
        return {}; // more than the address space has
    }
    int descriptor = memfd_create("thence", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor >= 0 &&
        (ftruncate(descriptor, static_cast<off_t>(all)) != 0 || fcntl(descriptor, F_ADD_SEALS, seals) != 0)) {
        close(descriptor);
        descriptor = -1;
    }
    const int flags = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *const at = mmap(nullptr, all, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (at == MAP_FAILED) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return {};
    }
    shared_block made;
    made.bytes_ = bytes;
    made.data_ = static_cast<unsigned char *>(at);
    made.descriptor_ = descriptor;
    *cookie_at(made.data_, bytes) = make_cookie(at);
    return made;
}

shared_block shared_block::open(int process, int descriptor, std::size_t bytes, std::uint64_t cookie) noexcept {
    if (descriptor < 0) {
        errno = ENOSYS; // it was made without memfd_create
        return {};
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
    const int opened = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK); // it may be a pipe by now
    if (opened < 0) {
        return {};
    }
    if (!is_safe(opened, whole(bytes))) {
        close(opened);
        errno = ESTALE;
        return {};
    }
    void *const at = mmap(nullptr, whole(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    const int error = errno;
    close(opened);
    errno = error;
    if (at == MAP_FAILED) {
        return {};
    }
    shared_block mapped;
    mapped.data_ = static_cast<unsigned char *>(at);
    mapped.bytes_ = bytes;
    if (mapped.cookie() != cookie) {
        errno = ESTALE;
        return {};
    }
    return mapped;
}

void shared_block::give_pages_back() const noexcept {
    if (descriptor_ >= 0) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t pages = (whole(bytes_) + page - 1) / page * page; // a part of a page is only zeroed
        fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(pages));
    }
}

shared_block::~shared_block() {
    if (data_ != nullptr) {
        munmap(data_, whole(bytes_));
    }
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

} // namespace thence::memory
