// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/counted.hpp"

#include "core/base/per_thread.hpp"
#include "core/continuation/handle.hpp"
#include "core/engine/is_complete.hpp"
#include "interpose/requests/only_counted.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace thence::interpose {

namespace {

bool is_own(MPI_Request request) noexcept {
    return request != MPI_REQUEST_NULL && !continuation::is_cr_handle(request);
}

// Of a persistent request, after a call that may have left it pending. Others are not asked.
bool may_have_ended(MPI_Request request) noexcept {
    return !persistent_states::is_active(request) || engine::is_complete_now(request);
}

// Calls `end_one` with the number of each of `count` requests that a call has completed.
template <class Call> void for_each_completed(int count, const completed_requests &completed, Call end_one) {
    const auto end_one_of_them = [&](int i) {
        if (i >= 0 && i < count) {
            end_one(i);
        }
    };
    if (completed.indices != nullptr) {
        std::for_each_n(completed.indices, completed.found != nullptr ? std::clamp(*completed.found, 0, count) : 1,
                        end_one_of_them);
    } else if (completed.flag == nullptr || *completed.flag != 0) {
        for (int i = 0; i < count; ++i) {
            end_one(i);
        }
    }
}

} // namespace

// What a call has asked of its requests before it calls MPI. The thread that ends the call keeps it for its next one:
// calls allocate nothing in the steady state. A call may be made inside another one, and may end on another thread.
struct counted_completion::asked_requests {
    measured_call measured; // inside of a timed call
    std::vector<asked_request> each;

    // Null: no memory.
    static asked_requests *take(int count, const MPI_Request requests[]) noexcept {
        spare *const own = own_spare::get();
        asked_requests *taken = own != nullptr ? std::exchange(own->kept, nullptr) : nullptr;
        taken = taken != nullptr ? taken : new (std::nothrow) asked_requests;
        try {
            if (taken != nullptr) {
                taken->ask(count, requests);
            }
        } catch (const std::bad_alloc &) {
            delete std::exchange(taken, nullptr);
        }
        return taken;
    }
    static void keep(asked_requests *taken) noexcept {
        constexpr std::size_t most = 4096;
        spare *const own = own_spare::get();
        if (own == nullptr || own->kept != nullptr || taken->each.capacity() > most) {
            delete taken;
        } else {
            own->kept = taken;
        }
    }

private:
    struct spare {
        asked_requests *kept = nullptr;
        ~spare() { delete kept; }
    };
    using own_spare = base::rare_per_thread<spare>;

    void ask(int count, const MPI_Request requests[]) {
        measured = measured_call();
        each.assign(static_cast<std::size_t>(count), {});
        for (int i = 0; i < count; ++i) {
            each[static_cast<std::size_t>(i)].request = requests[i];
        }
        find_known(count, each.data());
        for (asked_request &one : each) {
            one.was_complete = one.known.start.thread != 0 && measured_call::is_complete(one.request);
        }
    }
};

int wake_helper_and_return(int code) noexcept {
    progress::wake_helper_for_operations();
    return code;
}

void count_measured(MPI_Request started, std::int64_t bytes, bool on_file) noexcept {
    if (const measured_start start = measure_start(started, bytes, on_file); start.thread != 0) {
        know_start(started, start, false);
    }
}

void count_created(MPI_Request request, std::int64_t bytes) noexcept {
    if (measures_calls()) {
        know_persistent(request, bytes);
    } else if (is_own(request)) {
        if (persistent_states::state *const entered = persistent_states::find_or_enter(request)) {
            entered->store(persistent_state::inactive, std::memory_order_relaxed);
        }
    }
}

long end_persistent(int count, const MPI_Request requests[], const completed_requests &completed,
                    bool succeeded) noexcept {
    long ended = 0;
    for_each_completed(count, completed, [&](int i) {
        if (requests[i] != MPI_REQUEST_NULL && (succeeded || may_have_ended(requests[i])) &&
            persistent_states::end(requests[i])) {
            ++ended;
        }
    });
    return ended;
}

void count_start(MPI_Request before, MPI_Request after) noexcept {
    if (after == MPI_REQUEST_NULL) {
        return;
    }
    if (!measures_calls()) {
        return count_persistent_start(after);
    }
    const known_request known = know_started(before, after);
    if (known.persistent && known.active) {
        return;
    }
    progress::operation_started();
    if (const measured_start start = measure_start(after, known.bytes, false); start.thread != 0) {
        know_start(after, start, true);
    }
}

void counted_completion::begin() noexcept {
    note_call(); // also of one that finds nothing
    // Without memory all count as requests that are not persistent.
    asked_ = measures_calls() && any_known_request() ? asked_requests::take(size_, requests_) : nullptr;
    before_ = asked_ == nullptr ? std::count_if(requests_, requests_ + size_, is_own) : 0;
}

// Of persistent requests the outputs of the call say which have ended, while others become null. A call that fails may
// name some that are pending, so each is asked.
void counted_completion::say_which_ended() noexcept {
    std::vector<asked_request> &each = asked_->each;
    for (int i = 0; i < size_; ++i) {
        asked_request &one = each[static_cast<std::size_t>(i)];
        one.ended = is_own(one.request) && !one.known.persistent && requests_[i] == MPI_REQUEST_NULL;
    }
    for_each_completed(size_, completed_, [&](int i) {
        asked_request &one = each[static_cast<std::size_t>(i)];
        one.ended = one.ended || (one.known.persistent && one.known.active &&
                                  (requests_[i] == MPI_REQUEST_NULL || engine::is_complete_now(one.request)));
    });
}

long counted_completion::end_asked() noexcept {
    say_which_ended();
    end_known(size_, asked_->each.data());
    long ended = 0;
    for (const asked_request &one : asked_->each) {
        ended += one.ended ? 1 : 0;
        if (one.ended && one.known.start.thread != 0) {
            asked_->measured.ended(one.known.start, one.was_complete);
        }
    }
    asked_->measured.finish();
    asked_requests::keep(asked_);
    return ended;
}

void counted_completion::end() noexcept {
    progress::operations_ended(asked_ != nullptr ? end_asked()
                                                 : before_ - std::count_if(requests_, requests_ + size_, is_own) +
                                                       end_persistent(size_, requests_, completed_, false));
}

void counted_free::begin(const MPI_Request *request) noexcept {
    if (!is_own(*request)) {
        return;
    }
    request_ = request;
    before_ = *request;
    if (measures_calls()) {
        known_ = any_known_request() ? take_known(before_) : known_request();
        is_active_ = known_.active;
    } else if (persistent_ = persistent_states::find(before_); persistent_ != nullptr) {
        state_ = persistent_->exchange(persistent_state::none, std::memory_order_relaxed);
        is_active_ = state_ != persistent_state::inactive;
    }
}

void counted_free::end() noexcept {
    if (*request_ == MPI_REQUEST_NULL) {
        note_call();
        progress::operations_ended(is_active_ ? 1 : 0);
    } else if (persistent_ != nullptr) {
        persistent_->store(state_, std::memory_order_relaxed);
    } else {
        put_back_known(before_, known_);
    }
}

} // namespace thence::interpose
