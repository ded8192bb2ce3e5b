// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/health.hpp"

#include <cerrno>
#include <csignal>
#include <mutex>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thence::onesided {

health::~health() {
    while (wire::packet *const each = lost_.pop()) {
        wire::give_packet(each);
    }
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

void health::watch(int process) noexcept {
#if defined(SYS_pidfd_open)
    descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, process, 0)); // closed by exec; Linux 5.3
#endif
    process_ = process;
}

void health::look() noexcept {
    if (process_ == 0 || gone.load(std::memory_order_relaxed)) {
        return;
    }
    bool ended = false;
    if (descriptor_ >= 0) { // also of a process that nobody has waited for yet
        pollfd asked{descriptor_, POLLIN, 0};
        ended = poll(&asked, 1, 0) == 1;
    } else {
        ended = kill(process_, 0) != 0 && errno == ESRCH;
    }
    if (ended) {
        failed.store(true, std::memory_order_relaxed);
        gone.store(true, std::memory_order_release);
    }
}

void health::keep_lost(wire::packet &names_it) noexcept {
    const std::scoped_lock guard(lock_);
    lost_.add(names_it);
    any_lost_.store(true, std::memory_order_release);
}

bool health::take_lost(std::uint32_t serial) noexcept {
    if (serial == 0) {
        return false;
    }
    const std::scoped_lock guard(lock_);
    base::linked_list<wire::packet> others;
    bool found = false;
    while (wire::packet *const each = lost_.pop()) {
        if (!found && each->head.serial == serial) {
            found = true;
            wire::give_packet(each);
        } else {
            others.add(*each);
        }
    }
    lost_.add_before(others);
    any_lost_.store(!lost_.empty(), std::memory_order_release);
    return found;
}

} // namespace thence::onesided
