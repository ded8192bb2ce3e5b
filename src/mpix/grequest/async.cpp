// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/async.hpp"

#include "core/progress/progress.hpp"
#include "mpix/grequest/free_list.hpp"
#include "mpix/grequest/source.hpp"

#include <mutex>

namespace thence::grequest {

namespace {

// Guarded by room_lock.
free_list<thence_async> things;
long running = 0;

polled_list &list_of(const polled &thing) noexcept {
    return thing.calls_no_mpi ? never_call_mpi : may_call_mpi;
}

} // namespace

bool start_async(thence_async_poll_function *function, void *state, bool calls_no_mpi) noexcept {
    {
        const std::scoped_lock guard(room_lock);
        thence_async *const thing = things.take([](std::size_t count) noexcept { return room_for_things(count); });
        if (thing == nullptr) {
            return false;
        }
        thing->calls_no_mpi = calls_no_mpi;
        thing->function = function;
        thing->state = state;
        ++running;
        list_of(*thing).add(*thing);
    }
    progress::engage();
    return true;
}

bool poll(thence_async &thing) noexcept {
    const int answer = thing.function(&thing);
    const std::scoped_lock guard(room_lock);
    thing.claimed = false;
    if (answer != THENCE_ASYNC_DONE) {
        return false;
    }
    list_of(thing).remove(thing);
    things.give(thing);
    --running;
    return true;
}

long running_async() noexcept {
    const std::scoped_lock guard(room_lock);
    return running;
}

void forget_all_async() noexcept {
    const std::scoped_lock guard(room_lock);
    running = 0;
}

} // namespace thence::grequest
