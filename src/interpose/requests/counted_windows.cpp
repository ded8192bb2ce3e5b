// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/counted_windows.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace thence::interpose {

namespace {

struct window {
    bool any_rank_may_lock = false;
    bool fenced = false; // in an epoch between two fences, if no rank may lock
    bool exposed = false;
    std::unordered_set<int> targets; // of operations that are outstanding
};

std::mutex mutex;
using table = std::unordered_map<std::uintptr_t, window>;
table &windows() {
    static auto &all = *new table; // used until the process ends
    return all;
}

bool forbids_locks(MPI_Info info) noexcept {
    std::array<char, 16> value{};
    int found = 0;
    return info != MPI_INFO_NULL &&
           mpi::table.Info_get(info, "no_locks", static_cast<int>(value.size()) - 1, value.data(), &found) ==
               MPI_SUCCESS &&
           found != 0 && std::string_view(value.data()) == "true";
}

// With the mutex: the window is known, or becomes known. Null without memory.
window *find_or_add(MPI_Win handle) noexcept {
    try {
        return &windows()[mpi::bits(handle)];
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

// Without the mutex. What was outstanding of a window that is not in the table any more.
void end_all(const window &was) noexcept {
    if (const long ended = static_cast<long>(was.targets.size()) + (was.exposed ? 1 : 0); ended != 0) {
        progress::operations_ended(ended);
    }
    if (was.any_rank_may_lock || was.fenced) {
        progress::window_freed();
    }
}

// Sets whether it is in an epoch between two fences.
void set_fenced(MPI_Win handle, bool fenced) noexcept {
    {
        const std::scoped_lock guard(mutex);
        window *const found = find_or_add(handle);
        if (found == nullptr || found->any_rank_may_lock || std::exchange(found->fenced, fenced) == fenced) {
            return;
        }
    }
    fenced ? progress::window_created() : progress::window_freed();
}

} // namespace

void count_window(MPI_Win created, MPI_Info info) noexcept {
    const bool any_rank_may_lock = !forbids_locks(info);
    window before;
    {
        const std::scoped_lock guard(mutex);
        window *const found = find_or_add(created);
        if (found == nullptr) {
            return;
        }
        before = std::exchange(*found, {});
        found->any_rank_may_lock = any_rank_may_lock;
    }
    end_all(before); // one with the same handle was freed by a call that is not interposed
    if (any_rank_may_lock) {
        progress::window_created();
    }
}

void counted_window_free::begin(const MPI_Win *window) noexcept {
    window_ = window;
    before_ = *window;
    std::unique_lock guard(mutex);
    table::node_type taken = windows().extract(mpi::bits(before_));
    guard.unlock();
    if (taken.empty()) {
        return;
    }
    taken_ = new (std::nothrow) table::node_type(std::move(taken));
    if (taken_ == nullptr) {
        end_all(taken.mapped());
    }
}

void counted_window_free::end() noexcept {
    auto *const taken = static_cast<table::node_type *>(taken_);
    if (taken == nullptr) {
        return;
    }
    if (*window_ == MPI_WIN_NULL) {
        end_all(taken->mapped());
    } else {
        const std::scoped_lock guard(mutex);
        windows().insert(std::move(*taken));
    }
    delete taken;
}

void count_access(MPI_Win handle, int target) noexcept {
    if (target == MPI_PROC_NULL) {
        return;
    }
    try {
        const std::scoped_lock guard(mutex);
        window *const found = find_or_add(handle);
        if (found == nullptr || !found->targets.insert(target).second) {
            progress::note_call();
            return;
        }
    } catch (const std::bad_alloc &) { // it is not counted
        return;
    }
    progress::operation_started();
}

void end_accesses(MPI_Win handle, int target) noexcept {
    std::unique_lock guard(mutex);
    const auto at = windows().find(mpi::bits(handle));
    const bool ended = at != windows().end() && at->second.targets.erase(target) != 0;
    guard.unlock();
    if (ended) {
        progress::operations_ended(1);
    }
}

void end_accesses(MPI_Win handle) noexcept {
    std::unique_lock guard(mutex);
    const auto at = windows().find(mpi::bits(handle));
    const auto ended = at != windows().end() ? static_cast<long>(at->second.targets.size()) : 0;
    if (ended != 0) {
        at->second.targets.clear();
    }
    guard.unlock();
    if (ended != 0) {
        progress::operations_ended(ended);
    }
}

void count_fence(MPI_Win handle, int assertions) noexcept {
    end_accesses(handle);
    set_fenced(handle, (assertions & MPI_MODE_NOSUCCEED) == 0);
}

void end_fence(MPI_Win handle) noexcept {
    set_fenced(handle, false);
}

void count_exposure(MPI_Win handle) noexcept {
    end_fence(handle);
    {
        const std::scoped_lock guard(mutex);
        window *const found = find_or_add(handle);
        if (found == nullptr || std::exchange(found->exposed, true)) {
            return;
        }
    }
    progress::operation_started();
}

void end_exposure(MPI_Win handle) noexcept {
    std::unique_lock guard(mutex);
    const auto at = windows().find(mpi::bits(handle));
    const bool ended = at != windows().end() && std::exchange(at->second.exposed, false);
    guard.unlock();
    if (ended) {
        progress::operations_ended(1);
    }
}

} // namespace thence::interpose
