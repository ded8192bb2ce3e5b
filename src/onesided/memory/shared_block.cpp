// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/memory/shared_block.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thence::memory {

shared_block shared_block::make(std::size_t bytes) noexcept {
    shared_block made;
    made.bytes_ = bytes;
    int descriptor = memfd_create("thence", MFD_CLOEXEC);
    if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        close(descriptor);
        descriptor = -1;
    }
    const int flags = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (at == MAP_FAILED) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return {};
    }
    made.data_ = static_cast<unsigned char *>(at);
    made.descriptor_ = descriptor;
    return made;
}

shared_block shared_block::open(int process, int descriptor, std::size_t bytes) noexcept {
    if (descriptor < 0) {
        errno = ENOSYS; // it was made without memfd_create
        return {};
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
    const int opened = ::open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0) {
        return {};
    }
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    const int error = errno;
    close(opened);
    errno = error;
    if (at == MAP_FAILED) {
        return {};
    }
    shared_block mapped;
    mapped.data_ = static_cast<unsigned char *>(at);
    mapped.bytes_ = bytes;
    return mapped;
}

shared_block::~shared_block() {
    if (data_ != nullptr) {
        munmap(data_, bytes_);
    }
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

} // namespace thence::memory
