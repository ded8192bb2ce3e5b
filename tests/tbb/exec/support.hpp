// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_TESTS_EXEC_SUPPORT_HPP
#define THENCE_TESTS_EXEC_SUPPORT_HPP

// Shared by the tests of senders: receivers that record their completion, a scheduler that runs work when the test says
// so, a thread that runs a loop, types that count, and a comparison of completion signatures as sets. It uses only
// names of thence::ex, so that the tests run with every implementation.

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <thence/execution.hpp>

namespace ex = thence::ex;

namespace testing_senders {

// --- completion signatures as sets; set_value_t(T) and set_value_t(T &&) mean the same

template <class T> using plain = std::conditional_t<std::is_rvalue_reference_v<T>, std::remove_reference_t<T>, T>;

template <class Sig> struct normal;
template <class Tag, class... As> struct normal<Tag(As...)> { using type = Tag(plain<As>...); };

template <class Sig, class... Sigs> inline constexpr bool among = (std::is_same_v<Sig, Sigs> || ...);

template <class A, class B> inline constexpr bool same_set = false;
template <class... As, class... Bs>
inline constexpr bool same_set<ex::completion_signatures<As...>, ex::completion_signatures<Bs...>> =
    (among<typename normal<As>::type, typename normal<Bs>::type...> && ...) &&
    (among<typename normal<Bs>::type, typename normal<As>::type...> && ...);

/** True if S completes with exactly these signatures in the empty environment. */
template <class S, class... Sigs>
inline constexpr bool completes_with =
    same_set<ex::completion_signatures_of_t<S, ex::env<>>, ex::completion_signatures<Sigs...>>;

using throws = ex::set_error_t(std::exception_ptr);

// --- receivers

/** The completions that a receiver got. */
struct record {
    int values = 0, errors = 0, stopped = 0;
    std::thread::id thread;
    int completions() const { return values + errors + stopped; }
};

/** Accepts any completion. Stores values and errors of the given types. */
template <class Env = ex::env<>> struct recording {
    using receiver_concept = ex::receiver_t;
    record *got;
    Env environment = {};

    void set_value(auto &&...) &&noexcept {
        ++got->values;
        got->thread = std::this_thread::get_id();
    }
    void set_error(auto &&) &&noexcept {
        ++got->errors;
        got->thread = std::this_thread::get_id();
    }
    void set_stopped() &&noexcept {
        ++got->stopped;
        got->thread = std::this_thread::get_id();
    }
    Env get_env() const noexcept { return environment; }
};
template <class Env> recording(record *, Env) -> recording<Env>;
recording(record *)->recording<>;

// --- senders and schedulers that complete when the test says so

/** Operations that were started and have not completed. complete() completes the oldest one. */
class pending_list {
public:
    struct item {
        void (*complete)(item *) noexcept = nullptr;
        void (*stop)(item *) noexcept = nullptr;
    };
    bool empty() const { return items_.empty(); }
    std::size_t size() const { return items_.size(); }
    void add(item *i) { items_.push_back(i); }
    void complete() {
        item *first = items_.front();
        items_.erase(items_.begin());
        first->complete(first);
    }
    void stop() {
        item *first = items_.front();
        items_.erase(items_.begin());
        first->stop(first);
    }

private:
    std::vector<item *> items_;
};

/** A sender that completes with set_value() or set_stopped() when the test calls complete(). */
struct pending_sender {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>;
    pending_list *list;

    template <class, class...> static consteval auto get_completion_signatures() { return completion_signatures(); }

    template <class R> struct operation : pending_list::item {
        using operation_state_concept = ex::operation_state_t;
        pending_list *list;
        R receiver;
        operation(pending_list *l, R r)
            : item{[](item *self) noexcept { ex::set_value(std::move(static_cast<operation *>(self)->receiver)); },
                   [](item *self) noexcept { ex::set_stopped(std::move(static_cast<operation *>(self)->receiver)); }},
              list(l), receiver(std::move(r)) {}
        operation(operation &&) = delete;
        void start() &noexcept { list->add(this); }
    };
    template <class R> auto connect(R receiver) const { return operation<R>(list, std::move(receiver)); }
};

/** A scheduler whose work runs when the test calls complete(). */
struct manual_scheduler {
    using scheduler_concept = ex::scheduler_t;
    pending_list *list;

    struct environment {
        pending_list *list;
        template <class Tag> manual_scheduler query(ex::get_completion_scheduler_t<Tag>, auto &&...) const noexcept {
            return {list};
        }
    };
    struct sender : pending_sender {
        environment get_env() const noexcept { return {this->list}; }
    };
    sender schedule() const noexcept { return {{list}}; }
    template <class Tag> manual_scheduler query(ex::get_completion_scheduler_t<Tag>, auto &&...) const noexcept {
        return *this;
    }
    friend bool operator==(const manual_scheduler &, const manual_scheduler &) = default;
};

/** An environment with only a scheduler. stdexec also needs the scheduler on which the operation was started. */
template <class Scheduler> auto on_scheduler(Scheduler scheduler) {
#if THENCE_EXECUTION_IS_STDEXEC
    return ex::env{ex::prop{ex::get_scheduler, scheduler}, ex::prop{ex::get_start_scheduler, scheduler}};
#else
    return ex::prop{ex::get_scheduler, scheduler};
#endif
}

/** A thread that runs a loop. */
class loop_thread {
public:
    loop_thread() : thread_([this] { loop_.run(); }) {}
    ~loop_thread() {
        loop_.finish();
        thread_.join();
    }
    auto scheduler() { return loop_.get_scheduler(); }
    std::thread::id id() const { return thread_.get_id(); }

private:
    ex::run_loop loop_;
    std::thread thread_;
};

/** The id of the calling thread. Not inlined: a coroutine may move to another thread between two calls, but compilers
 *  assume that the id does not change. */
[[gnu::noinline]] inline std::thread::id this_thread() {
    __asm__ __volatile__("" ::: "memory");
    return std::this_thread::get_id();
}

// --- values

/** Counts its instances. */
struct counted {
    inline static int alive = 0, copies = 0;
    counted() noexcept { ++alive; }
    counted(const counted &) noexcept {
        ++alive;
        ++copies;
    }
    counted(counted &&) noexcept { ++alive; }
    counted &operator=(const counted &) = default;
    ~counted() { --alive; }
};

struct move_only {
    int value = 0;
    explicit move_only(int v) noexcept : value(v) {}
    move_only(move_only &&) noexcept = default;
    move_only &operator=(move_only &&) noexcept = default;
};

/** Throws when it is copied. */
struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied &) { throw std::runtime_error("copied"); }
    throws_when_copied(throws_when_copied &&) noexcept = default;
    throws_when_copied &operator=(const throws_when_copied &) = default;
};

/** Throws, without a compiler warning about a missing return. */
[[noreturn]] inline void raise(const char *text) {
    throw std::runtime_error(text);
}

} // namespace testing_senders

using namespace testing_senders; // NOLINT(google-build-using-namespace)

#endif
