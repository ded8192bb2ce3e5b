// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/inplace_stop_source.hpp
 *  @brief A stop source that allocates nothing, with its token and callback. They are linked by their addresses.
 *
 *  Source: C++26 [stopsource.inplace], [stoptoken.inplace], [stopcallback.inplace]. */

// Invariants.
//  - A callback runs at most once: before it runs, it is removed from the list while the lock is held.
//  - ~inplace_stop_callback returns when the callback will not run any more and does not run on another thread. On the
//    thread that runs it, the destructor returns at once: a callback may destroy itself.
//  - A callback may also destroy the source, since an operation that completes when stop is requested usually ends
//    there. The destructor of the source notes that in the `notification`, which is on the stack of request_stop(). So
//    request_stop() checks it after each callback, before it accesses the source.
//  - Only the thread that holds the lock bit writes state_. stop_requested() reads it without the lock.

#include <pthread.h>

#include <thence/exec/detail/atomic.hpp>
#include <thence/exec/stop_token.hpp>

namespace thence::exec {

class inplace_stop_source;
class inplace_stop_token;
template <class F> class inplace_stop_callback;

namespace detail {

/** pthread_self() is declared such that the compiler may reuse its result. In a coroutine that moves between threads
 *  that would be wrong. This function calls it each time. */
[[gnu::noinline]] inline pthread_t this_thread() noexcept {
    __asm__ __volatile__("" ::: "memory");
    return ::pthread_self();
}

/** A callback. It is in the list of its source, or was removed from it by request_stop(), or was never in it. */
class stop_callback_base : immovable {
protected:
    using function = void (*)(stop_callback_base *) noexcept;

    stop_callback_base(const inplace_stop_source *source, function run) noexcept : source_(source), run_(run) {}
    inline void add() noexcept;
    inline void remove() noexcept;

private:
    friend exec::inplace_stop_source;

    const inplace_stop_source *source_;
    function run_;
    stop_callback_base *next_ = nullptr;
    stop_callback_base **link_ = nullptr; // the pointer that points here; null if it is not in the list
    atomic<bool> ran_{false};
};

} // namespace detail

/** @brief Requests stop of operations that have its token.
 *  @note Threads: any number may call any member at once. The destructor must be the last call. A callback may destroy
 *        the source, on the thread that is in request_stop(). */
class inplace_stop_source {
public:
    inplace_stop_source() noexcept = default;
    inplace_stop_source(inplace_stop_source &&) = delete;
    ~inplace_stop_source() {
        if (notifier_ != nullptr) {
            notifier_->source_destroyed = true;
        }
    }

    inline inplace_stop_token get_token() const noexcept;
    static constexpr bool stop_possible() noexcept { return true; }
    bool stop_requested() const noexcept { return (state_.load() & requested) != 0; }
    /** @brief Runs the callbacks on this thread, unless stop was requested before.
     *  @return whether this was the first request. */
    inline bool request_stop() noexcept;

private:
    friend detail::stop_callback_base;

    /** The state of request_stop(), on the stack of its thread. */
    struct notification {
        pthread_t thread;
        detail::stop_callback_base *running;
        bool callback_destroyed;
        bool source_destroyed;
    };
    static constexpr unsigned char requested = 1;
    static constexpr unsigned char held = 2;

    /** Takes the lock unless a bit of `refuse` is set in the state. @return the state without `held`. */
    unsigned char lock_unless(unsigned char refuse) const noexcept {
        detail::spin_wait pause;
        unsigned char found = state_.load();
        while ((found & refuse) == 0) {
            if ((found & held) != 0) {
                pause();
                found = state_.load();
            } else if (state_.compare_exchange(found, found | held)) {
                return found;
            }
        }
        return found & requested;
    }
    void unlock(unsigned char state) const noexcept { state_.store(state); }

    mutable detail::atomic<unsigned char> state_{0};
    mutable detail::stop_callback_base *callbacks_ = nullptr;
    notification *notifier_ = nullptr;
};

/** @brief The token of a source. A default-constructed token has no source: stop is never requested. */
class inplace_stop_token {
public:
    template <class F> using callback_type = inplace_stop_callback<F>;

    inplace_stop_token() noexcept = default;
    bool stop_requested() const noexcept { return source_ != nullptr && source_->stop_requested(); }
    bool stop_possible() const noexcept { return source_ != nullptr; }
    friend bool operator==(const inplace_stop_token &, const inplace_stop_token &) noexcept = default;

private:
    friend inplace_stop_source;
    template <class> friend class inplace_stop_callback;
    explicit inplace_stop_token(const inplace_stop_source *source) noexcept : source_(source) {}

    const inplace_stop_source *source_ = nullptr;
};

/** @brief Calls an F once when stop is requested of the source of a token, on the thread that requests it. If that was
 *         before, the constructor calls F. The destructor waits while F runs on another thread. */
template <class F> class inplace_stop_callback : detail::stop_callback_base {
public:
    using callback_type = F;

    template <class Init>
    requires std::constructible_from<F, Init>
    explicit inplace_stop_callback(inplace_stop_token token,
                                   Init &&init) noexcept(std::is_nothrow_constructible_v<F, Init>)
        : stop_callback_base(token.source_, &run), fn_(static_cast<Init &&>(init)) {
        add();
    }
    ~inplace_stop_callback() { remove(); }

private:
    static void run(stop_callback_base *self) noexcept {
        static_cast<F &&>(static_cast<inplace_stop_callback *>(self)->fn_)();
    }
    [[no_unique_address]] F fn_;
};
template <class F> inplace_stop_callback(inplace_stop_token, F) -> inplace_stop_callback<F>;

inline inplace_stop_token inplace_stop_source::get_token() const noexcept {
    return inplace_stop_token(this);
}

inline bool inplace_stop_source::request_stop() noexcept {
    if ((lock_unless(requested) & requested) != 0) {
        return false;
    }
    notification mine{detail::this_thread(), nullptr, false, false};
    notifier_ = &mine;
    while (detail::stop_callback_base *callback = callbacks_) {
        callbacks_ = callback->next_;
        if (callbacks_ != nullptr) {
            callbacks_->link_ = &callbacks_;
        }
        callback->link_ = nullptr;
        mine.running = callback;
        mine.callback_destroyed = false;
        unlock(requested);
        callback->run_(callback);
        if (mine.source_destroyed) {
            return true;
        }
        if (!mine.callback_destroyed) {
            callback->ran_.store(true); // from here on another thread may destroy it
        }
        lock_unless(0);
    }
    notifier_ = nullptr;
    unlock(requested);
    return true;
}

inline void detail::stop_callback_base::add() noexcept {
    if (source_ == nullptr) {
        return;
    }
    if ((source_->lock_unless(inplace_stop_source::requested) & inplace_stop_source::requested) != 0) {
        source_ = nullptr;
        run_(this); // may destroy this
        return;
    }
    next_ = source_->callbacks_;
    if (next_ != nullptr) {
        next_->link_ = &next_;
    }
    link_ = &source_->callbacks_;
    source_->callbacks_ = this;
    source_->unlock(0);
}

inline void detail::stop_callback_base::remove() noexcept {
    if (source_ == nullptr) {
        return;
    }
    const unsigned char state = source_->lock_unless(0);
    if (link_ != nullptr) {
        *link_ = next_;
        if (next_ != nullptr) {
            next_->link_ = link_;
        }
        source_->unlock(state);
        return;
    }
    inplace_stop_source::notification *notifier = source_->notifier_;
    const bool running_here =
        notifier != nullptr && notifier->running == this && ::pthread_equal(notifier->thread, this_thread()) != 0;
    if (running_here) {
        notifier->callback_destroyed = true;
    }
    source_->unlock(state);
    if (running_here) {
        return;
    }
    for (spin_wait pause; !ran_.load();) {
        pause();
    }
}

} // namespace thence::exec
