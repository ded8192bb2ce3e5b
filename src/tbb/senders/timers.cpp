// SPDX-License-Identifier: BSD-3-Clause
// The timers of the process, one heap for all shared objects.
#include "tbb/senders/timer_heap.hpp"

namespace thence::libthence_senders {

namespace {

constinit detail::timer_heap timers; // has no destructor, so it can be used until the process ends

} // namespace

void set_timer(detail::timer &added, detail::timer_time when) noexcept {
    timers.set(added, when);
}
void cancel_timer(detail::timer &cancelled) noexcept {
    timers.cancel(cancelled);
}
bool run_timers() noexcept {
    return timers.run();
}

} // namespace thence::libthence_senders
