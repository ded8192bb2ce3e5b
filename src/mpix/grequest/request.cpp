// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/request.hpp"

#include "core/base/pool.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/is_complete.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"
#include "mpix/grequest/handle_table.hpp"
#include "mpix/grequest/source.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace thence::grequest {

using continuation::busy_scope;
using mpi::table;

std::atomic<long> alive{0};
std::atomic<long> failed{0};

namespace {

constexpr double wait_seconds = 1e-3; // MPI makes progress between two calls of a wait function

// Guarded by room_lock.
base::pool<generalized> objects;
base::thread_cache<generalized> free_objects{}; // of all threads
std::size_t used = 0;                           // objects, and how many the tables have room for
std::size_t room = 0;
handle_table<generalized> &by_handle = *new handle_table<generalized>; // never destroyed: the helper outlives main()
long with_poll_function = 0;                                           // not complete, or failed, as the next
long with_wait_function = 0;

const MPI_Status *empty = nullptr; // set before the first start

// The request whose poll function this thread runs.
thread_local constinit generalized *polling = nullptr;
// The request that this thread asks MPI about: MPI then calls the query function, which must not reach the user's.
thread_local constinit const generalized *asking = nullptr;

polled_list &list_of(const generalized &g) noexcept {
    return g.calls_no_mpi ? never_call_mpi : may_call_mpi;
}

// Interposed calls need not look for the request any more. With the lock.
inline void uncount_functions(const generalized &g) noexcept {
    if (g.of_user.poll != nullptr && --with_poll_function == 0) {
        progress::slow_path_reasons.fetch_and(~progress::polled_grequests, std::memory_order_relaxed);
    }
    if (g.of_user.wait != nullptr && --with_wait_function == 0) {
        progress::slow_path_reasons.fetch_and(~progress::waited_grequests, std::memory_order_relaxed);
    }
}

// With the lock.
inline void give(generalized &g) noexcept {
    objects.give(free_objects, &g);
    --used;
}

// MPI is told of the completion, or knows it: the request is polled no more. With the lock.
inline void mark_done(generalized &g) noexcept {
    g.done = true;
    list_of(g).remove(g);
    if (g.error == MPI_SUCCESS) {
        uncount_functions(g);
    } else {
        failed.fetch_add(1, std::memory_order_relaxed);
    }
}

// What MPI calls.

int query(void *object, MPI_Status *status) {
    generalized &g = *static_cast<generalized *>(object);
    if (asking == &g) {
        return MPI_SUCCESS;
    }
    if (status == MPI_STATUS_IGNORE) {
        MPI_Status unwanted = g.status;
        const int code = g.of_user.query(g.state, &unwanted);
        return g.error != MPI_SUCCESS ? g.error : code;
    }
    const int kept = status->MPI_ERROR;
    *status = g.status;
    status->MPI_ERROR = kept;
    const int code = g.of_user.query(g.state, status);
    if (g.error != MPI_SUCCESS) {
        status->MPI_ERROR = g.error; // Open MPI does not look at what this function returns
        return g.error;
    }
    return code;
}

int cancel(void *object, int complete) {
    const generalized &g = *static_cast<generalized *>(object);
    return g.of_user.cancel(g.state, complete);
}

// MPI calls it once, after completion, when the user has no handle of the request any more.
int release(void *object) {
    generalized &g = *static_cast<generalized *>(object);
    auto *const of_user = g.of_user.free;
    void *const state = g.state;
    {
        const std::scoped_lock guard(room_lock);
        by_handle.erase(g);
        if (!g.done) {
            mark_done(g);
        } else if (g.error != MPI_SUCCESS) {
            uncount_functions(g);
            failed.fetch_sub(1, std::memory_order_relaxed);
        }
        alive.fetch_sub(1, std::memory_order_relaxed);
        if (g.claimed) {
            g.released = true;
        } else {
            give(g);
        }
    }
    return of_user(state);
}

// True if a completion of which we were not told has made the request complete: a call that is not interposed.
[[gnu::noinline]] bool asks_complete(generalized &g) noexcept {
    const generalized *const outer = std::exchange(asking, &g);
    const bool complete = engine::is_complete_now(g.request);
    asking = outer;
    return complete;
}
[[gnu::always_inline]] inline bool is_complete_unseen(generalized &g) noexcept {
    if (engine::can_read_requests) [[likely]] {
        return engine::read_complete(g.request);
    }
    return !progress::interposed.calls && asks_complete(g);
}

// MPI_Finalize has emptied the lists while the request was claimed. With the lock.
inline bool is_forgotten(const generalized &g) noexcept {
    return g.of_user.poll != nullptr && g.at == polled::not_listed;
}
// A wait for a request that nobody polls any more would never end, so MPI is told that it has failed with the error
// that this returns. Its user may complete it later. With the lock.
int nobody_polls(generalized &g) noexcept {
    g.completion_wanted.store(true, std::memory_order_relaxed);
    return MPI_ERR_OTHER;
}

// A function of the user has returned `code`. Ends the claim. Returns true if the request has ended; it may not exist
// any more then.
[[gnu::always_inline]] inline bool end_claim(generalized &g, int code) noexcept {
    const bool unseen = !g.completion_wanted.load(std::memory_order_relaxed) && is_complete_unseen(g);
    MPI_Request request = MPI_REQUEST_NULL;
    {
        const std::scoped_lock guard(room_lock);
        g.claimed = false;
        if (g.released) {
            g.released = false;
            give(g);
            return true;
        }
        if (g.done || unseen) {
            if (!g.done) {
                mark_done(g);
            }
            return true;
        }
        if (code == MPI_SUCCESS && !g.completion_wanted.load(std::memory_order_relaxed)) {
            if (!is_forgotten(g)) {
                return false;
            }
            code = nobody_polls(g);
        }
        g.error = code;
        mark_done(g);
        request = g.request;
    }
    table.Grequest_complete(request);
    return true;
}

[[gnu::noinline]] bool make_room() noexcept {
    empty = &mpi::empty_status();
    const std::size_t more = std::max<std::size_t>(64, 2 * room);
    const bool made = room_for_requests(more) && by_handle.make_room(more);
    room = made ? more : room;
    return made;
}

inline generalized *take() noexcept {
    const std::scoped_lock guard(room_lock);
    if (used == room && !make_room()) [[unlikely]] {
        return nullptr;
    }
    generalized *const taken = objects.take(free_objects);
    used += taken != nullptr ? 1 : 0;
    return taken;
}

} // namespace

int start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
          MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
          thence_grequest_wait_function *wait_fn, void *state, MPI_Request *request, bool calls_no_mpi) noexcept {
    generalized *const taken = take();
    if (taken == nullptr) {
        return out_of_memory;
    }
    generalized &g = *taken;
    g.calls_no_mpi = calls_no_mpi;
    g.done = false; // it is neither listed nor claimed nor released
    g.completion_wanted.store(false, std::memory_order_relaxed);
    g.of_user = {query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    g.state = state;
    g.error = MPI_SUCCESS;
    g.status = *empty;
    const int code = table.Grequest_start(&query, &release, &cancel, &g, &g.request);
    if (code != MPI_SUCCESS) {
        const std::scoped_lock guard(room_lock);
        give(g);
        return code;
    }
    *request = g.request; // before the first call of the poll function
    {
        const std::scoped_lock guard(room_lock);
        alive.fetch_add(1, std::memory_order_relaxed);
        by_handle.insert(g);
        if (poll_fn != nullptr) {
            list_of(g).add(g);
            if (++with_poll_function == 1) {
                progress::slow_path_reasons.fetch_or(progress::polled_grequests, std::memory_order_relaxed);
            }
        }
        if (wait_fn != nullptr && ++with_wait_function == 1) {
            progress::slow_path_reasons.fetch_or(progress::waited_grequests, std::memory_order_relaxed);
        }
    }
    if (poll_fn != nullptr) {
        progress::engage();
    }
    return MPI_SUCCESS;
}

int complete(MPI_Request request) noexcept {
    if (polling != nullptr && polling->request == request) {
        polling->completion_wanted.store(true, std::memory_order_relaxed);
        return MPI_SUCCESS;
    }
    {
        const std::scoped_lock guard(room_lock);
        generalized *const g = by_handle.find(request);
        if (g != nullptr && g->done && g->completion_wanted.load(std::memory_order_relaxed)) {
            return MPI_SUCCESS; // MPI has been told
        }
        if (g != nullptr && !g->done) {
            if (g->claimed) {
                g->completion_wanted.store(true, std::memory_order_relaxed);
                return MPI_SUCCESS;
            }
            mark_done(*g);
        }
    }
    return table.Grequest_complete(request);
}

namespace {

[[gnu::always_inline]] inline bool poll_claimed(generalized &g) noexcept {
    if (is_complete_unseen(g)) {
        return end_claim(g, MPI_SUCCESS);
    }
    generalized *const outer = std::exchange(polling, &g);
    const int code = g.of_user.poll(g.state, &g.status);
    polling = outer;
    return end_claim(g, code);
}

} // namespace

bool poll(generalized &g) noexcept {
    return poll_claimed(g);
}

bool poll_now(MPI_Request request) noexcept {
    if (!may_run_here()) {
        return false;
    }
    generalized *g = nullptr;
    {
        const std::scoped_lock guard(room_lock);
        g = by_handle.find(request);
        if (g == nullptr || g->claimed || g->at == polled::not_listed) {
            return false;
        }
        g->claimed = true;
    }
    const busy_scope polling_it; // no callback runs inside a function of the user
    poll_claimed(*g);
    return true;
}

bool any_with_wait_function(int count, const MPI_Request requests[]) noexcept {
    if ((progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::waited_grequests) == 0) {
        return false;
    }
    const std::scoped_lock guard(room_lock);
    for (int i = 0; i < count; ++i) {
        const generalized *const g = by_handle.find(requests[i]);
        if (g != nullptr && g->of_user.wait != nullptr) {
            return true;
        }
    }
    return false;
}

namespace {

// The requests of one call of a wait function. Those that are claimed are not released before end().
class shared_wait {
public:
    // False if they cannot be waited for together, or if memory is exhausted. Then none is claimed.
    bool claim(int count, const MPI_Request requests[], const bool skip[]) noexcept {
        const std::scoped_lock guard(room_lock);
        if (!collect(count, requests, skip) || all_.empty()) {
            return false;
        }
        for (generalized *each : all_) {
            each->claimed = true;
        }
        return true;
    }
    int call() noexcept {
        return all_.front()->of_user.wait(static_cast<int>(all_.size()), states_.data(), wait_seconds,
                                          statuses_.data());
    }
    void end(int code) noexcept {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            generalized &g = *all_[i];
            g.status = statuses_[i];
            end_claim(g, g.completion_wanted.load(std::memory_order_relaxed) ? int{MPI_SUCCESS} : code);
        }
    }

private:
    bool collect(int count, const MPI_Request requests[], const bool skip[]) noexcept {
        try {
            for (int i = 0; i < count; ++i) {
                if (requests[i] == MPI_REQUEST_NULL || (skip != nullptr && skip[i])) {
                    continue;
                }
                generalized *const g = by_handle.find(requests[i]);
                if (g == nullptr || g->of_user.wait == nullptr || g->claimed || g->done ||
                    (!all_.empty() && g->of_user.wait != all_.front()->of_user.wait)) {
                    return false;
                }
                all_.push_back(g);
                states_.push_back(g->state);
                statuses_.push_back(g->status);
            }
            return true;
        } catch (const std::exception &) {
            return false;
        }
    }

    std::vector<generalized *> all_;
    std::vector<void *> states_;
    std::vector<MPI_Status> statuses_;
};

} // namespace

bool wait_together(int count, const MPI_Request requests[], const bool skip[]) noexcept {
    shared_wait all;
    if (continuation::this_thread.in_completion() || !all.claim(count, requests, skip)) {
        return false;
    }
    const busy_scope waiting; // no callback runs inside a wait function
    all.end(all.call());
    return true;
}

int error_of(MPI_Request request) noexcept {
    if (failed.load(std::memory_order_relaxed) == 0) {
        return MPI_SUCCESS;
    }
    const std::scoped_lock guard(room_lock);
    const generalized *const g = by_handle.find(request);
    return g != nullptr ? g->error : int{MPI_SUCCESS};
}

long incomplete() noexcept {
    const std::scoped_lock guard(room_lock);
    long count = 0;
    by_handle.for_each([&](const generalized &g) { count += g.done ? 0 : 1; });
    return count;
}

// The lists are empty. Who has claimed a request, such as the helper thread, ends it: see end_claim().
void forget_all() noexcept {
    std::vector<MPI_Request> failed_now;
    {
        const std::scoped_lock guard(room_lock);
        by_handle.erase_if([&](generalized &g) {
            if (g.done || g.claimed) {
                return g.done;
            }
            bool fails = false;
            if (g.of_user.poll != nullptr) {
                try {
                    failed_now.push_back(g.request);
                    g.error = nobody_polls(g);
                    fails = true;
                } catch (const std::exception &) { // no memory
                }
            }
            mark_done(g); // MPI may still free it, which then counts nothing twice
            return !fails;
        });
    }
    for (const MPI_Request each : failed_now) {
        table.Grequest_complete(each);
    }
}

} // namespace thence::grequest
