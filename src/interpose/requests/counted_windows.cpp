// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/counted_windows.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"

#include "interpose/requests/handle_table.hpp"
#include "interpose/requests/target_set.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace thence::interpose {

// Any thread may change it. It is deleted after the window was freed: no thread may use that any more.
struct counted_window {
    bool any_rank_may_lock = false;
    std::atomic<bool> fenced{false}; // in an epoch between two fences, if no rank may lock
    std::atomic<bool> exposed{false};
    // Targets of operations that are outstanding.
    target_set written;
    target_set read;

    target_set &targets_of(access kind) noexcept { return kind == access::reads ? read : written; }
};

namespace {

// Null while a handle names no window that is known.
constinit handle_table<std::atomic<counted_window *>> windows;

bool forbids_locks(MPI_Info info) noexcept {
    std::array<char, 16> value{};
    int found = 0;
    return info != MPI_INFO_NULL &&
           mpi::table.Info_get(info, "no_locks", static_cast<int>(value.size()) - 1, value.data(), &found) ==
               MPI_SUCCESS &&
           found != 0 && std::string_view(value.data()) == "true";
}

counted_window *find(MPI_Win handle) noexcept {
    const std::atomic<counted_window *> *const found = windows.find(mpi::bits(handle));
    return found != nullptr ? found->load(std::memory_order_acquire) : nullptr;
}

// The window is known, or becomes known. Null without memory.
counted_window *find_or_add(MPI_Win handle) noexcept {
    std::atomic<counted_window *> *const entry = windows.find_or_enter(mpi::bits(handle));
    if (entry == nullptr) {
        return nullptr;
    }
    counted_window *found = entry->load(std::memory_order_acquire);
    if (found == nullptr) {
        std::unique_ptr<counted_window> made(new (std::nothrow) counted_window);
        if (made != nullptr && entry->compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
            found = made.release();
        }
    }
    return found;
}

// What was outstanding of a window that is not in the table any more.
void end_all(std::unique_ptr<counted_window> was) noexcept {
    if (was == nullptr) {
        return;
    }
    if (const long ended = was->written.take_all() + was->read.take_all() + (was->exposed.load() ? 1 : 0); ended != 0) {
        progress::operations_ended(ended);
    }
    if (was->any_rank_may_lock || was->fenced.load()) {
        progress::window_freed();
    }
}

// Sets whether it is in an epoch between two fences.
void set_fenced(MPI_Win handle, bool fenced) noexcept {
    counted_window *const found = find_or_add(handle);
    if (found != nullptr && !found->any_rank_may_lock && found->fenced.exchange(fenced) != fenced) {
        fenced ? progress::window_created() : progress::window_freed();
    }
}

} // namespace

void count_window(MPI_Win created, MPI_Info info) noexcept {
    std::atomic<counted_window *> *const entry = windows.find_or_enter(mpi::bits(created));
    if (entry == nullptr) {
        return;
    }
    const bool any_rank_may_lock = !forbids_locks(info);
    auto *const made = new (std::nothrow) counted_window;
    if (made != nullptr) {
        made->any_rank_may_lock = any_rank_may_lock;
    }
    // One with the same handle was freed by a call that is not interposed.
    end_all(std::unique_ptr<counted_window>(entry->exchange(made, std::memory_order_acq_rel)));
    if (made != nullptr && any_rank_may_lock) {
        progress::window_created();
    }
}

void counted_window_free::begin(const MPI_Win *window) noexcept {
    window_ = window;
    before_ = *window;
    std::atomic<counted_window *> *const entry = windows.find(mpi::bits(before_));
    taken_ = entry != nullptr ? entry->exchange(nullptr, std::memory_order_acq_rel) : nullptr;
}

void counted_window_free::end() noexcept {
    std::unique_ptr<counted_window> taken(taken_);
    if (taken != nullptr && *window_ != MPI_WIN_NULL) {
        counted_window *none = nullptr;
        if (windows.find(mpi::bits(before_))->compare_exchange_strong(none, taken.get(), std::memory_order_acq_rel)) {
            static_cast<void>(taken.release());
        }
    }
    end_all(std::move(taken));
}

// An operation is counted before another thread can end it. A target below 0 is MPI_PROC_NULL, or one that MPI has
// refused: MPICH 5 returns MPI_SUCCESS after an error handler of the user.
void count_access(MPI_Win handle, int target, access kind) noexcept {
    if (target < 0) {
        return;
    }
    counted_window *const found = find_or_add(handle);
    if (found == nullptr || found->targets_of(kind).has(target)) {
        progress::note_call();
        return;
    }
    progress::operation_started();
    if (!found->targets_of(kind).add(target)) {
        progress::operations_ended(1);
    }
}

void end_reads(MPI_Win handle, int target) noexcept {
    if (counted_window *const found = find(handle); found != nullptr && found->read.take(target)) {
        progress::operations_ended(1);
    }
}

void end_reads(MPI_Win handle) noexcept {
    if (counted_window *const found = find(handle); found != nullptr) {
        if (const long ended = found->read.take_all(); ended != 0) {
            progress::operations_ended(ended);
        }
    }
}

void end_accesses(MPI_Win handle, int target) noexcept {
    end_reads(handle, target);
    if (counted_window *const found = find(handle); found != nullptr && found->written.take(target)) {
        progress::operations_ended(1);
    }
}

void end_accesses(MPI_Win handle) noexcept {
    end_reads(handle);
    if (counted_window *const found = find(handle); found != nullptr) {
        if (const long ended = found->written.take_all(); ended != 0) {
            progress::operations_ended(ended);
        }
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
    if (counted_window *const found = find_or_add(handle); found != nullptr && !found->exposed.exchange(true)) {
        progress::operation_started();
    }
}

void end_exposure(MPI_Win handle) noexcept {
    if (counted_window *const found = find(handle); found != nullptr && found->exposed.exchange(false)) {
        progress::operations_ended(1);
    }
}

} // namespace thence::interpose
