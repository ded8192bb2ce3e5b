// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file transform_mpi.hpp
 *  @brief Every nonblocking MPI operation as a sender: `just(buf, n, MPI_DOUBLE, to, tag, comm) |
 *         transform_mpi(MPI_Isend)`.
 *
 *  `transform_mpi(f, options...)` is a sender adaptor. When its predecessor sends values, it keeps them, calls
 *  `f(values..., MPI_Request *)` with the values as lvalues, and completes when MPI has completed the request. `f` may
 *  be a function of MPI, or any callable that starts an operation of any kind: point-to-point, collective, RMA, I/O. If
 *  it takes `thence::requests<N>` in place of `MPI_Request *`, it starts a group of N operations, and the sender
 *  completes once, after all of them.
 *
 *  Completion signatures:
 *  - set_value_t(Values...): the values of the predecessor. They exist until then, so a buffer may be moved in. With
 *    the option thence::with_status also `MPI_Status`, or `std::array<MPI_Status, N>` for a group. With the option
 *    thence::without_values the values of the predecessor are not sent;
 *  - set_error_t(std::exception_ptr): a thence::mpi_error, from the call or from the completion; what `f` throws; for a
 *    group a thence::partly_stopped;
 *  - set_stopped_t() if stop_possible() may be true for the stop token of the receiver;
 *  - the errors and the stopped signal of the predecessor, unchanged.
 *
 *  Errors: an operation that is started before MPI_Init or after MPI_Finalize completes with a thence::mpi_inactive.
 *  MPI must return its own errors: set `MPI_ERRORS_RETURN` on the communicator. If `f` fails, the operation completes
 *  once, with that error. If `f` has started some operations of a group before it failed, they are cancelled first, and
 *  the group completes when all of them are complete. The statuses of the error say which were cancelled.
 *
 *  Stopping: if stop is requested before the start, `f` is not called. If it is requested later, MPI is asked to cancel
 *  the operation. The sender completes as stopped only if MPI then says that the operation was cancelled (receives can
 *  be): no message was received or sent. Else it completes as without the stop request. The stop token
 *  (`ex::read_env(ex::get_stop_token)`) and thence::timeout() say whether stop was requested. A group is stopped if all
 *  operations that it has started were cancelled. If only some were cancelled, it completes with a
 *  thence::partly_stopped, whose statuses say which, so a message that has arrived is not lost. With the option
 *  thence::uncancellable a stop request has no effect. Use it for sends, since MPI has deprecated cancelling them, and
 *  for files: Open MPI does not set the cancelled flag of their statuses, so a complete operation may count as stopped.
 *  Only receivers whose stop token can request stop pay for this. Before you stop operations in a program with several
 *  threads, see thence_cancel().
 *
 *  Threads: the completion runs on a thread that makes progress, inside MPI or thence_progress(), or in start() if the
 *  operation is complete at once. No other continuation runs on that thread until the completion returns. So it must
 *  not wait for another operation, and thence::sync_wait() throws there. Add `continues_on(scheduler)` to run the work
 *  that follows elsewhere.
 *
 *  Memory: nothing is allocated, except for errors and for the first operations that can be stopped.
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
/** @brief Option of transform_mpi(): the values of the predecessor are kept for the operation, but not sent. With
 *         thence::with_status only the status is sent. */
struct without_values_t {};
inline constexpr without_values_t without_values{};
/** @brief Option of transform_mpi(): a stop request does not cancel the operation. */
struct uncancellable_t {};
inline constexpr uncancellable_t uncancellable{};
/** @brief Option of transform_mpi(): the requests are persistent ones of the caller and stay usable. */
struct persistent_t {};
inline constexpr persistent_t persistent{};
/** @brief Option of transform_mpi(): the work that follows may run in MPI's completion path, see
 *         THENCE_CR_IN_COMPLETION. The program promises that the only functions of MPI which this work calls are those
 *         that start nonblocking point-to-point operations. It is faster if large messages are forwarded from rank to
 *         rank. It has no effect on operations that can be stopped. Operations of pools do not take it. */
struct in_completion_t {};
inline constexpr in_completion_t in_completion{};

namespace detail {

template <class T, class... Ts> inline constexpr bool any_of_type = (std::is_same_v<T, Ts> || ...);

/** As with_status_t, but sends a T that is constructed from the status. */
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
using options_from =
    mpi_options<any_of_type<persistent_t, Given...> ? THENCE_PERSISTENT : 0U, typename sent_of<Given...>::type,
                !any_of_type<uncancellable_t, Given...>, !any_of_type<without_values_t, Given...>>;
template <class T>
concept mpi_option = any_of_type<T, without_values_t, uncancellable_t, persistent_t, in_completion_t> || requires {
    typename T::sent;
};
template <class... Given> using delivery_from = inline_delivery<any_of_type<in_completion_t, Given...>>;

/** Whether the operation itself may complete with set_stopped_t(). */
template <class Options, class... Env> inline constexpr bool may_be_stopped = Options::cancellable &&may_stop<Env...>;

template <class Options, std::size_t N>
using status_value = std::conditional_t<N == 1, typename Options::sent, std::array<MPI_Status, N>>;

template <class Values, class F> struct for_values;
template <class... Vs, class F> struct for_values<std::tuple<Vs...>, F> : callable_for<F, Vs...> {};

/** Storage for values that need no destructor, so no flag says whether they exist. */
template <class T> union value_storage {
    value_storage() noexcept {} // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
    template <class... As> void emplace(As &&...as) noexcept(std::is_nothrow_constructible_v<T, As...>) {
        ::new (static_cast<void *>(&value)) T(static_cast<As &&>(as)...);
    }
    T &operator*() noexcept { return value; }
    T value;
};
/** The values of the predecessor, until the operation completes. */
template <class T>
using kept_values = std::conditional_t<std::is_trivially_destructible_v<T>, value_storage<T>, std::optional<T>>;

/** Whether the predecessor is just(): its values are in the sender, so it need not be connected and started. */
template <class S> inline constexpr bool has_values = false;
#if defined(THENCE_EXECUTION_IS_THENCE)
template <class... Vs> inline constexpr bool has_values<exec::detail::just_sender<exec::set_value_t, Vs...>> = true;
#endif

template <class S, class F, class R, class Options, class Delivery> class transform_operation;

/** Computes the base class of the operation. */
template <class S, class F, class R, class Options, class Delivery> struct transform_base {
    using environment = ex::env_of_t<R>;
    using values = typename values_before<ex::completion_signatures_of_t<S, environment>>::type;
    static constexpr std::size_t count = for_values<values, F>::count;
    using token = ex::stop_token_of_t<environment>;
    using type = mpi_operation<transform_operation<S, F, R, Options, Delivery>, count, Options, token,
                               Options::cancellable && may_stop<environment>>;
};

/** The receiver of the predecessor. */
template <class Operation, class R> struct predecessor_receiver {
    using receiver_concept = ex::receiver_t;
    Operation *operation;

    template <class... Vs> void set_value(Vs &&...values) &&noexcept {
        operation->take_values(static_cast<Vs &&>(values)...);
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
    using before = predecessor_receiver<transform_operation, R>;
    using delivery_state = typename Delivery::template per_operation<transform_operation>;
    friend base;
    friend before;
    friend delivery_state;

public:
    using operation_state_concept = ex::operation_state_t;

    template <class Fn>
    transform_operation(S &&s, Fn &&fn, const Delivery &delivery, R r)
        : receiver_(static_cast<R &&>(r)), delivery_(delivery), fn_(static_cast<Fn &&>(fn)),
          before_(static_cast<S &&>(s), *this) {}
    void start() &noexcept { before_.start(*this); }

private:
    /** The predecessor, connected and started. */
    struct connected {
        connected(S &&s, transform_operation &self) : operation(ex::connect(static_cast<S &&>(s), before{&self})) {}
        void start(transform_operation &) noexcept { ex::start(operation); }
        ex::connect_result_t<S, before> operation;
    };
    /** A predecessor whose values are moved out of the sender. */
    struct taken {
        taken(S &&s, transform_operation &self) { self.values_.emplace(static_cast<S &&>(s).values); }
        static void start(transform_operation &self) noexcept { self.begin_delivery(); }
    };
    friend connected;
    friend taken;

    void begin_delivery() noexcept { delivery_.begin(*this); }
    template <class... Vs> void take_values(Vs &&...values) noexcept {
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
        begin_delivery();
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

    // The delivery uses these.
    using requests_type = std::array<MPI_Request, found::count>;
    bool can_be_stopped() const noexcept {
        if constexpr (Options::cancellable && may_stop<typename found::environment>) {
            return ex::get_stop_token(ex::get_env(receiver_)).stop_possible();
        } else {
            return false;
        }
    }
    void begin_here() noexcept { (void)base::begin(ex::get_stop_token(ex::get_env(receiver_))); }
    template <class... Vs> void send(Vs &...values) noexcept {
        if constexpr (!Options::status) {
            ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)...);
        } else if constexpr (found::count == 1) {
            ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)...,
                          typename Options::sent(base::statuses()[0]));
        } else {
            ex::set_value(static_cast<R &&>(receiver_), static_cast<Vs &&>(values)..., base::statuses());
        }
    }
    void send_values() noexcept {
        if constexpr (Options::passes_values) {
            std::apply([this](auto &...values) { send(values...); }, *values_);
        } else {
            send();
        }
    }
    void send_error(std::exception_ptr error) noexcept {
        ex::set_error(static_cast<R &&>(receiver_), static_cast<std::exception_ptr &&>(error));
    }
    void send_stopped() noexcept {
        if constexpr (may_be_stopped<Options, typename found::environment>) {
            ex::set_stopped(static_cast<R &&>(receiver_));
        }
    }

    // Fields that the completion needs come first, so they are in few cache lines.
    [[no_unique_address]] R receiver_;
    [[no_unique_address]] delivery_state delivery_;
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
        using predecessor_type = std::conditional_t<std::is_rvalue_reference_v<Self &&>, S, const S &>;
        using before = ex::completion_signatures_of_t<predecessor_type, Env...>;
        using values = typename values_before<before>::type;
        using status = status_value<Options, for_values<values, F>::count>;
        using passed = std::conditional_t<Options::passes_values, values, std::tuple<>>;
        using sent = typename std::conditional_t<Options::status, value_signature<passed, status>,
                                                 value_signature<passed>>::type;
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
    /** Makes the operand of a task's co_await the operation, without connect(). See exec/task.hpp. */
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

/** @brief The type of thence::transform_mpi: `transform_mpi(f, options...)` and `transform_mpi(sender, f, options...)`.
 *         See the top of this file. */
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

/** @brief The type of thence::call_mpi. */
struct call_mpi_t {
    template <class... Args> auto operator()(Args &&...args) const {
        return transform_mpi(static_cast<Args &&>(args)..., without_values);
    }
};
/** @brief `call_mpi(f, options...)` and `call_mpi(sender, f, options...)`: transform_mpi() with the option
 *         thence::without_values. The work that follows has no use for the arguments of the call:
 *         `just(buf, n, MPI_DOUBLE, to, tag, comm) | call_mpi(MPI_Isend) | then([buf] { release(buf); })`. */
inline constexpr call_mpi_t call_mpi{};

/** @brief A sender that starts a persistent or partitioned request and completes when the request is complete. It can
 *         be connected and started again after that. The request stays the caller's, who frees it.
 *  @param request an inactive persistent request. It and its buffers must exist until the completion.
 *  @param options those of transform_mpi().
 *
 *  Completion signatures: set_value_t(), or set_value_t(MPI_Status) with thence::with_status;
 *  set_error_t(std::exception_ptr); set_stopped_t(), as of transform_mpi(). If the caller cancels the request with
 *  MPI_Cancel, it completes with values, and the status says that it was cancelled.
 *
 *  The program marks the partitions of a send as ready (`MPI_Pready`) after the start. */
template <detail::mpi_option... Given> auto start_mpi(MPI_Request &request, Given... options) {
    return transform_mpi(
        ex::just(),
        [persistent_request = &request](MPI_Request *started) {
            const int code = MPI_Start(persistent_request);
            *started = *persistent_request; // a copy of the handle: the library uses it, the caller keeps its own
            return code;
        },
        persistent, options...);
}

} // namespace thence
