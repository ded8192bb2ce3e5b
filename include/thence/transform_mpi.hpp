// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_TRANSFORM_MPI_HPP
#define THENCE_TRANSFORM_MPI_HPP
#if __cplusplus < 202002L
#error "thence/transform_mpi.hpp needs C++20: compile with -std=c++20"
#else

/** @file transform_mpi.hpp
 *  @brief Every nonblocking MPI operation as a sender: `just(buf, n, MPI_DOUBLE, to, tag, comm) |
 *         transform_mpi(MPI_Isend)`.
 *
 *  `transform_mpi(f, options...)` is an adaptor. When the sender before it sends its values, it keeps them, calls
 *  `f(values..., MPI_Request *)` with them as lvalues, and completes when MPI has completed the request. `f` may be a
 *  function of MPI, or anything callable that starts an operation of any kind: point-to-point, collective, RMA, I/O.
 *  With `thence::requests<N>` in place of `MPI_Request *` it starts N of them, and the sender completes once, after
 *  all.
 *
 *  Completion signatures:
 *  - set_value_t(Values...): the predecessor's values, which live until then, so buffers moved in are safe;
 *    with the option thence::with_status also `MPI_Status`, or `std::array<MPI_Status, N>` for a group;
 *  - set_error_t(std::exception_ptr): a thence::mpi_error, from the call or from the completion; what `f` throws; for a
 *    group a thence::partly_stopped;
 *  - set_stopped_t() if the receiver's stop token can be asked to stop;
 *  - errors and stopped of the predecessor as they are.
 *
 *  Errors: an operation that is started before MPI_Init or after MPI_Finalize completes with a thence::mpi_inactive.
 *  MPI must return its own errors: set `MPI_ERRORS_RETURN` on the communicator. When `f` fails, the operation completes
 *  with that error, once; of a group, after what it has started is cancelled or complete, which the statuses of the
 *  error tell.
 *
 *  Stopping: before the call, nothing is started. Later, MPI is asked to cancel the operation. It is stopped only if
 *  MPI was asked and then says that it was cancelled (receives can be): nothing has happened. Else it completes as if
 *  nobody had asked; whether somebody did, the stop token says (`ex::read_env(ex::get_stop_token)`), or
 *  thence::timeout(). A group is stopped if all that it has started was cancelled. If a part of it was, it fails with a
 *  thence::partly_stopped, whose statuses tell which, so that a message that came is not lost. The option
 *  thence::uncancellable leaves the operation alone, which is right for sends, whose cancelling MPI has deprecated, and
 *  for files: of these Open MPI does not tell, so that one that was complete when it was asked may count as stopped.
 *  Only a receiver whose stop token can be asked to stop pays for this. Before you stop operations in a program with
 *  several threads, see thence_cancel().
 *
 *  Threads: the completion runs where the continuation does: on a thread that makes progress, inside MPI or
 *  thence_progress(), or in start() if the operation is complete at once. To go on elsewhere, add
 *  `continues_on(scheduler)`. There no other continuation runs until it returns, so it must not wait for one;
 *  thence::sync_wait() refuses to.
 *
 *  Memory: nothing is allocated, except for errors, and for the first operations that can be stopped.
 *
 *  Source: Biddiscombe et al. 2025, sections 2.1 and 2.3. */

#include <thence/senders/detail/awaiter.hpp>
#include <thence/senders/detail/completions.hpp>
#include <thence/senders/detail/delivery.hpp>
#include <thence/senders/detail/operation.hpp>
#include <thence/senders/sync_wait.hpp>

namespace thence {

/** @brief Option of transform_mpi(): send the status of the operation after the values. */
struct with_status_t {
    using sent = MPI_Status;
};
inline constexpr with_status_t with_status{};
/** @brief Option of transform_mpi(): a stop request does not cancel the operation. */
struct uncancellable_t {};
inline constexpr uncancellable_t uncancellable{};
/** @brief Option of transform_mpi(): the requests are persistent ones of the caller and stay usable. */
struct persistent_t {};
inline constexpr persistent_t persistent{};
/** @brief Option of transform_mpi(): what follows may run inside MPI's own completion, and promises to bear it: of MPI
 *         it only starts nonblocking point-to-point operations; see THENCE_CR_IN_COMPLETION. Where large messages go on
 *         from rank to rank that is faster. Not for operations of pools, nor for those that can be asked to stop, which
 *         complete as without it. */
struct in_completion_t {};
inline constexpr in_completion_t in_completion{};

namespace detail {

template <class T, class... Ts> inline constexpr bool any_of_type = (std::is_same_v<T, Ts> || ...);

/** As with_status_t; sends a T, which is constructed from the status. */
template <class T> struct status_as { using sent = T; };

template <class... Given> struct sent_of { using type = void; };
template <class First, class... More> struct sent_of<First, More...> : sent_of<More...> {};
template <class First, class... More>
requires requires {
    typename First::sent;
}
struct sent_of<First, More...> {
    using type = typename First::sent;
};

template <class... Given>
using options_from = mpi_options<any_of_type<persistent_t, Given...> ? THENCE_PERSISTENT : 0U,
                                 typename sent_of<Given...>::type, !any_of_type<uncancellable_t, Given...>>;
template <class T>
concept mpi_option = any_of_type<T, uncancellable_t, persistent_t, in_completion_t> || requires {
    typename T::sent;
};
template <class... Given> using delivery_from = inline_delivery<any_of_type<in_completion_t, Given...>>;

/** Whether it completes with stopped by itself. */
template <class Options, class... Env> inline constexpr bool may_be_stopped = Options::cancellable &&may_stop<Env...>;

template <class Options, std::size_t N>
using status_value = std::conditional_t<N == 1, typename Options::sent, std::array<MPI_Status, N>>;

template <class Values, class F> struct for_values;
template <class... Vs, class F> struct for_values<std::tuple<Vs...>, F> : callable_for<F, Vs...> {};

/** Room for values that need no destructor: no flag says whether they are there. */
template <class T> union values_room {
    values_room() noexcept {} // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
    template <class... As> void emplace(As &&...as) noexcept(std::is_nothrow_constructible_v<T, As...>) {
        ::new (static_cast<void *>(&value)) T(static_cast<As &&>(as)...);
    }
    T &operator*() noexcept { return value; }
    T value;
};
/** The values between their arrival and the end of the operation. */
template <class T>
using kept_values = std::conditional_t<std::is_trivially_destructible_v<T>, values_room<T>, std::optional<T>>;

/** Whether the values are in the sender itself: then it need not be started to get them. */
template <class S> inline constexpr bool has_values = false;
#if defined(THENCE_EXECUTION_IS_THENCE)
template <class... Vs> inline constexpr bool has_values<exec::detail::just_sender<exec::set_value_t, Vs...>> = true;
#endif

template <class S, class F, class R, class Options, class Delivery> class transform_operation;

/** The base of the operation, its parameters found from its own. */
template <class S, class F, class R, class Options, class Delivery> struct transform_base {
    using environment = ex::env_of_t<R>;
    using values = typename values_before<ex::completion_signatures_of_t<S, environment>>::type;
    static constexpr std::size_t count = for_values<values, F>::count;
    using token = ex::stop_token_of_t<environment>;
    using type = mpi_operation<transform_operation<S, F, R, Options, Delivery>, count, Options, token,
                               Options::cancellable && may_stop<environment>>;
};

template <class Operation, class R> struct before_receiver {
    using receiver_concept = ex::receiver_t;
    Operation *operation;

    template <class... Vs> void set_value(Vs &&...values) &&noexcept {
        operation->go_on(static_cast<Vs &&>(values)...);
    }
    template <class E> void set_error(E &&error) &&noexcept {
        ex::set_error(static_cast<R &&>(operation->receiver_), static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { ex::set_stopped(static_cast<R &&>(operation->receiver_)); }
    ex::env_of_t<R> get_env() const noexcept { return ex::get_env(operation->receiver_); }
};

template <class S, class F, class R, class Options, class Delivery>
class transform_operation : transform_base<S, F, R, Options, Delivery>::type {
    using found = transform_base<S, F, R, Options, Delivery>;
    using base = typename found::type;
    using values_type = typename found::values;
    using before = before_receiver<transform_operation, R>;
    using delivery_part = typename Delivery::template operation_part<transform_operation>;
    friend base;
    friend before;
    friend delivery_part;

public:
    using operation_state_concept = ex::operation_state_t;

    template <class Fn>
    transform_operation(S &&s, Fn &&fn, const Delivery &delivery, R r)
        : receiver_(static_cast<R &&>(r)), delivery_(delivery), fn_(static_cast<Fn &&>(fn)),
          before_(static_cast<S &&>(s), *this) {}
    void start() &noexcept { before_.start(*this); }

private:
    struct connected {
        connected(S &&s, transform_operation &self) : operation(ex::connect(static_cast<S &&>(s), before{&self})) {}
        void start(transform_operation &) noexcept { ex::start(operation); }
        ex::connect_result_t<S, before> operation;
    };
    struct taken {
        taken(S &&s, transform_operation &self) { self.values_.emplace(static_cast<S &&>(s).values); }
        static void start(transform_operation &self) noexcept { self.go_on_with_values(); }
    };
    friend connected;
    friend taken;

    void go_on_with_values() noexcept { delivery_.begin(*this); }
    template <class... Vs> void go_on(Vs &&...values) noexcept {
        if constexpr (std::is_nothrow_constructible_v<values_type, Vs...>) {
            values_.emplace(static_cast<Vs &&>(values)...);
        } else {
            try {
                values_.emplace(static_cast<Vs &&>(values)...);
            } catch (...) {
                ex::set_error(static_cast<R &&>(receiver_), std::current_exception());
                return;
            }
        }
        go_on_with_values();
    }
    int call(MPI_Request *requests) {
        return std::apply([&](auto &...values) { return call_for_requests<found::count>(fn_, requests, values...); },
                          *values_);
    }
    int prepare() noexcept { return delivery_.prepare(); }
    MPI_Request continuation_request() noexcept { return delivery_.continuation_request(); }
    void attaching() noexcept { delivery_.attaching(); }
    template <completion_site> void succeeded() noexcept { delivery_.succeeded(*this); }
    template <completion_site> void failed(std::exception_ptr error) noexcept {
        delivery_.failed(*this, static_cast<std::exception_ptr &&>(error));
    }
    template <completion_site> void stopped() noexcept { delivery_.stopped(*this); }

    // For the delivery.
    using requests_type = std::array<MPI_Request, found::count>;
    bool can_be_stopped() const noexcept {
        if constexpr (Options::cancellable && may_stop<typename found::environment>)
            return ex::get_stop_token(ex::get_env(receiver_)).stop_possible();
        else
            return false;
    }
    void begin_here() noexcept { (void)base::begin(ex::get_stop_token(ex::get_env(receiver_))); }
    void send_values() noexcept {
        std::apply(
            [this]<class... Vs>(Vs &...values) {
                if constexpr (!Options::status)
                    ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)...);
                else if constexpr (found::count == 1)
                    ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)...,
                                  typename Options::sent(base::statuses()[0]));
                else
                    ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)..., base::statuses());
            },
            *values_);
    }
    void send_error(std::exception_ptr error) noexcept {
        ex::set_error(static_cast<R &&>(receiver_), static_cast<std::exception_ptr &&>(error));
    }
    void send_stopped() noexcept {
        if constexpr (may_be_stopped<Options, typename found::environment>)
            ex::set_stopped(static_cast<R &&>(receiver_));
    }

    // First what the end of the operation needs, together.
    [[no_unique_address]] R receiver_;
    [[no_unique_address]] delivery_part delivery_;
    [[no_unique_address]] F fn_;
    kept_values<values_type> values_;
    [[no_unique_address]] std::conditional_t<has_values<std::remove_cvref_t<S>>, taken, connected> before_;
};

template <class S, class F, class Options, class Delivery> struct transform_sender {
    using sender_concept = ex::sender_t;
    [[no_unique_address]] F fn;
    [[no_unique_address]] Delivery delivery;
    [[no_unique_address]] S predecessor;

    template <class Self, class... Env> static consteval auto get_completion_signatures() {
        using part = std::conditional_t<std::is_rvalue_reference_v<Self &&>, S, const S &>;
        using before = ex::completion_signatures_of_t<part, Env...>;
        using values = typename values_before<before>::type;
        using status = status_value<Options, for_values<values, F>::count>;
        using sent = typename std::conditional_t<Options::status, value_signature<values, status>,
                                                 value_signature<values>>::type;
        return typename mpi_completions<sent, may_be_stopped<Options, Env...>, before>::type();
    }
    template <ex::receiver R> auto connect(R r) && {
        return transform_operation<S, F, R, Options, Delivery>(static_cast<S &&>(predecessor), static_cast<F &&>(fn),
                                                               delivery, static_cast<R &&>(r));
    }
    template <ex::receiver R>
    requires std::copy_constructible<F> && std::copy_constructible<S>
    auto connect(R r) const & {
        return transform_operation<const S &, F, R, Options, Delivery>(predecessor, fn, delivery, static_cast<R &&>(r));
    }
#if defined(THENCE_EXECUTION_IS_THENCE)
    /** See exec/task.hpp: the operand of a task's co_await stays where it is. */
    template <class Promise>
    requires(has_values<S> &&std::is_same_v<Delivery, default_delivery>) auto await_in_place(
        Promise &promise) &&noexcept {
        using values = typename values_before<ex::completion_signatures_of_t<S, ex::env_of_t<Promise>>>::type;
        return sender_awaiter<transform_sender, for_values<values, F>::count, Options, Promise>(*this, promise);
    }
#endif
};

template <class F, class Options, class Delivery = default_delivery>
struct transform_closure : ex::sender_adaptor_closure<transform_closure<F, Options, Delivery>> {
    [[no_unique_address]] F fn;
    [[no_unique_address]] Delivery delivery;

    explicit transform_closure(F f, const Delivery &p = {}) : fn(static_cast<F &&>(f)), delivery(p) {}
    template <ex::sender S> auto operator()(S &&s) && {
        return transform_sender<std::decay_t<S>, F, Options, Delivery>{static_cast<F &&>(fn), delivery,
                                                                       static_cast<S &&>(s)};
    }
    template <ex::sender S> auto operator()(S &&s) const & {
        return transform_sender<std::decay_t<S>, F, Options, Delivery>{fn, delivery, static_cast<S &&>(s)};
    }
};

} // namespace detail

/** @brief See the top of this file. `transform_mpi(f, options...)` and `transform_mpi(sender, f, options...)`. */
struct transform_mpi_t {
    template <class F, detail::mpi_option... Given>
    requires(!ex::sender<std::decay_t<F>>) auto operator()(F &&fn, Given...) const {
        return detail::transform_closure<std::decay_t<F>, detail::options_from<Given...>,
                                         detail::delivery_from<Given...>>(static_cast<F &&>(fn));
    }
    template <ex::sender S, class F, detail::mpi_option... Given>
    requires(!detail::mpi_option<std::decay_t<F>>) auto operator()(S &&s, F &&fn, Given...) const {
        return detail::transform_sender<std::decay_t<S>, std::decay_t<F>, detail::options_from<Given...>,
                                        detail::delivery_from<Given...>>{
            static_cast<F &&>(fn), {}, static_cast<S &&>(s)};
    }
};
inline constexpr transform_mpi_t transform_mpi{};

/** @brief Starts a persistent or partitioned request and completes when it has. The sender can be connected and started
 *         again whenever it is complete; the request stays the caller's, who frees it.
 *  @param request an inactive persistent request; it and its buffers live until the completion.
 *
 *  Completion signatures: set_value_t(), or set_value_t(MPI_Status) with thence::with_status;
 *  set_error_t(std::exception_ptr); set_stopped_t(), as of transform_mpi(). One that its owner cancels with MPI_Cancel
 *  completes with values, and its status tells.
 *
 *  The partitions of a send are set ready (`MPI_Pready`) after the start, by whoever has filled them. */
template <detail::mpi_option... Given> auto start_mpi(MPI_Request &request, Given... options) {
    return transform_mpi(
        ex::just(),
        [persistent_request = &request](MPI_Request *started) {
            const int code = MPI_Start(persistent_request);
            *started = *persistent_request; // a handle is a name: the library keeps this one, the caller the other
            return code;
        },
        persistent, options...);
}

} // namespace thence

#endif // C++20
#endif
