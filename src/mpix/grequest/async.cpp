// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/async.hpp"

#include "core/base/pool.hpp"
#include "core/progress/progress.hpp"
#include "mpix/grequest/source.hpp"

#include <algorithm>
#include <mutex>

namespace thence::grequest {

namespace {

// Guarded by room_lock.
base::pool<thence_async> things;
base::thread_cache<thence_async> free_things{}; // of all threads
long running = 0;                               // and for how many there is room
long room = 0;

polled_list &list_of(const polled &thing) noexcept {
    return thing.calls_no_mpi ? never_call_mpi : may_call_mpi;
}

} // namespace

bool start_async(thence_async_poll_function *function, void *state, bool calls_no_mpi) noexcept {
    {
        const std::scoped_lock guard(room_lock);
        if (running == room) {
            const long more = std::max(64L, 2 * room);
            if (!room_for_things(static_cast<std::size_t>(more))) {
                return false;
            }
            room = more;
        }
        thence_async *const thing = things.take(free_things);
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
    const bool forgotten = thing.at == polled::not_listed; // MPI_Finalize has emptied the lists meanwhile
    if (answer != THENCE_ASYNC_DONE && !forgotten) {
        return false;
    }
    list_of(thing).remove(thing);
    things.give(free_things, &thing);
    running -= forgotten ? 0 : 1;
    return true;
}

long running_async() noexcept {
    const std::scoped_lock guard(room_lock);
    return running;
}

void forget_all_async() noexcept {
    running = 0;
}

} // namespace thence::grequest
