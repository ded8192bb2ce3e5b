// SPDX-License-Identifier: BSD-3-Clause
// What is known about whether another process works: whether an operation on it has failed, and whether it is gone. The
// system tells of processes of this node that they have ended; of those of other nodes nobody does.
#pragma once

#include "core/base/visibility.hpp"

#include <atomic>

namespace thence::onesided {

class THENCE_INTERNAL health {
public:
    health() noexcept = default;
    health &operator=(health &&) = delete;
    ~health();

    std::atomic<bool> failed{false};
    // Set once. An operation on this process is an error from then on.
    std::atomic<bool> gone{false};

    // The process has this number in the system, and runs now.
    void watch(int process) noexcept;
    // Asks the system whether it is gone.
    void look() noexcept;

private:
    int process_ = 0;     // 0: it is not watched
    int descriptor_ = -1; // that tells of its end; without it only its number is asked for
};

} // namespace thence::onesided
