// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The completion signatures of senders over MPI, computed from those of the predecessor. It uses only what every
// implementation of senders has.

#include <tuple>
#include <type_traits>

#include <thence/execution.hpp>

namespace thence::detail {

template <class... Sigs> struct signatures {};

template <class List, class Sig> struct add_signature;
template <class... Sigs, class Sig> struct add_signature<signatures<Sigs...>, Sig> {
    using type = std::conditional_t<(std::is_same_v<Sigs, Sig> || ...), signatures<Sigs...>, signatures<Sigs..., Sig>>;
};
template <class List, class... More> struct add_signatures { using type = List; };
template <class List, class First, class... More> struct add_signatures<List, First, More...> {
    using type = typename add_signatures<typename add_signature<List, First>::type, More...>::type;
};
template <class List> struct as_completions;
template <class... Sigs> struct as_completions<signatures<Sigs...>> {
    using type = ex::completion_signatures<Sigs...>;
};

/** Whether a signature is `set_value_t(Values...)`, and its values as a tuple. */
template <class Sig> struct sent_values { static constexpr bool is_value = false; };
template <class... Vs> struct sent_values<ex::set_value_t(Vs...)> {
    static constexpr bool is_value = true;
    using tuple = std::tuple<std::decay_t<Vs>...>;
};

template <class... Sigs> struct first_values { using type = void; };
template <class Sig, class... Sigs> struct first_values<Sig, Sigs...> {
    using type = typename first_values<Sigs...>::type;
};
template <class Sig, class... Sigs>
requires sent_values<Sig>::is_value struct first_values<Sig, Sigs...> {
    using type = typename sent_values<Sig>::tuple;
};

/** The number of set_value_t signatures. first_values_of: the values of the first, as a tuple, or void. */
template <class Completions> inline constexpr int value_completions = 0;
template <class... Sigs>
inline constexpr int value_completions<ex::completion_signatures<Sigs...>> = (0 + ... +
                                                                              (sent_values<Sigs>::is_value ? 1 : 0));
template <class Completions> struct first_values_in;
template <class... Sigs> struct first_values_in<ex::completion_signatures<Sigs...>> : first_values<Sigs...> {};
template <class Completions> using first_values_of = typename first_values_in<Completions>::type;

/** The values that a predecessor sends, as a tuple. It must have one set_value_t signature. */
template <class Completions> struct values_before;
template <class... Sigs> struct values_before<ex::completion_signatures<Sigs...>> {
    static_assert(value_completions<ex::completion_signatures<Sigs...>> == 1,
                  "transform_mpi: the sender before it must have exactly one way to complete with values; handle or "
                  "turn the others into it with then(), upon_error(), or pipe it into into_variant()");
    using type = typename first_values<Sigs...>::type;
};

template <class Values, class... Added> struct value_signature;
template <class... Vs, class... Added> struct value_signature<std::tuple<Vs...>, Added...> {
    using type = ex::set_value_t(Vs..., Added...);
};

/** The signatures of the predecessor with `Value` in place of its own, and those of an MPI operation. */
template <class Value, bool Stopped, class Completions> struct mpi_completions;
template <class Value, bool Stopped, class... Sigs>
struct mpi_completions<Value, Stopped, ex::completion_signatures<Sigs...>> {
    template <class Sig>
    using other = std::conditional_t<sent_values<Sig>::is_value, ex::set_error_t(std::exception_ptr), Sig>;
    using always =
        typename add_signatures<signatures<Value, ex::set_error_t(std::exception_ptr)>, other<Sigs>...>::type;
    using type =
        typename as_completions<typename std::conditional_t<Stopped, add_signatures<always, ex::set_stopped_t()>,
                                                            add_signatures<always>>::type>::type;
};

/** Whether stop may be requested of an operation whose receiver has this environment. */
template <class... Env> inline constexpr bool may_stop = true;
template <class Env> inline constexpr bool may_stop<Env> = !ex::unstoppable_token<ex::stop_token_of_t<Env>>;

/** The completion signatures of schedule(): set_value_t() when the task runs, set_stopped_t() if stop was requested
 *  before. */
template <class... Env>
using schedule_completions =
    std::conditional_t<may_stop<Env...>, ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>,
                       ex::completion_signatures<ex::set_value_t()>>;
/** Completes the receiver of schedule(), when its task runs. */
template <class R> void complete_scheduled(R &receiver) noexcept {
    if constexpr (may_stop<ex::env_of_t<R>>) {
        if (ex::get_stop_token(ex::get_env(receiver)).stop_requested()) {
            ex::set_stopped(static_cast<R &&>(receiver));
            return;
        }
    }
    ex::set_value(static_cast<R &&>(receiver));
}

/** The base of a scheduler, which is made of one value. `Derived` has a template `operation` of the receiver, made of
 *  that value and the receiver. */
template <class Derived, class Where> class scheduler_base {
    struct environment {
        Where where;
        template <class Tag> Derived query(ex::get_completion_scheduler_t<Tag>) const noexcept {
            return Derived(where);
        }
    };
    struct sender {
        using sender_concept = ex::sender_t;
        Where where;

        template <class, class... Env> static consteval auto get_completion_signatures() {
            return schedule_completions<Env...>();
        }
        template <ex::receiver R> auto connect(R r) const {
            return typename Derived::template operation<R>(where, static_cast<R &&>(r));
        }
        environment get_env() const noexcept { return {where}; }
    };

public:
    using scheduler_concept = ex::scheduler_t;

    explicit scheduler_base(Where where) noexcept : where_(where) {}
    sender schedule() const noexcept { return {where_}; }
    template <class Tag> Derived query(ex::get_completion_scheduler_t<Tag>) const noexcept { return Derived(where_); }
    friend bool operator==(const scheduler_base &, const scheduler_base &) noexcept = default;

private:
    Where where_;
};

} // namespace thence::detail
