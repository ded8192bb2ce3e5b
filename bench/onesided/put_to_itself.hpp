// SPDX-License-Identifier: BSD-3-Clause
// The instructions of a notified put: a process puts to itself, so that nobody waits.
#pragma once

#include "measure/work.hpp"

#include <thence/notify.h>

#include <cstdint>

namespace onesided {

// Puts `value` and takes the notification; `between`, called with the segment, is counted too.
template <class T, class Between> void count_puts_to_itself(measure::work &work, T value, Between between) {
    thence_space space = nullptr;
    thence_segment segment = nullptr;
    thence_space_create(MPI_COMM_WORLD, 1, &space);
    thence_segment_create(space, 64, 1, &segment);
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            std::uint32_t notified = 0;
            thence_put_notify(&value, sizeof value, 0, segment, 0, 0, 1, 0, nullptr);
            between(segment);
            thence_notification_reset(segment, 0, &notified);
        }
    });
    thence_segment_free(&segment);
    thence_space_free(&space);
}

} // namespace onesided
