// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/any_sender.hpp
 *  @brief A type-erased sender: `any_sender<set_value_t(int), set_stopped_t()>` holds a sender of any type that
 *         completes in these ways.
 *
 *  Completion signatures: the template arguments. The sender that it holds may have fewer.
 *
 *  Senders up to `any_sender_bytes` and operations up to `any_operation_bytes` are stored inside. Larger ones are
 *  allocated. The environment of the sender that it holds has only the stop token of the receiver, as an
 *  inplace_stop_token.
 *
 *  Source: the idea is that of any_sender_of in NVIDIA's stdexec; C++26 has none. */

#include <exception>

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>

namespace thence::exec {

/** @brief Thrown if an any_sender is connected that holds no sender. */
class empty_any_sender : public std::exception {
public:
    const char *what() const noexcept override {
        return "any_sender: connected, awaited or waited for while it is empty: it was moved from before";
    }
};

inline constexpr std::size_t any_sender_bytes = 64;
inline constexpr std::size_t any_operation_bytes = 192;

namespace detail {

/** The function that completes an operation with one signature. */
template <class Sig> struct any_completion;
template <class Tag, class... As> struct any_completion<Tag(As...)> {
    void (*complete)(void *, As &&...) noexcept;

    void operator()(void *operation, Tag, As... as) const noexcept { complete(operation, static_cast<As &&>(as)...); }
    template <class Operation> static constexpr any_completion make() noexcept {
        return {[](void *operation, As &&...as) noexcept {
            Tag()(static_cast<Operation *>(operation)->release_receiver(), static_cast<As &&>(as)...);
        }};
    }
};
template <class... Sigs> struct any_completions : any_completion<Sigs>... {
    using any_completion<Sigs>::operator()...;
};
template <class Operation, class... Sigs>
inline constexpr any_completions<Sigs...> completions_of{any_completion<Sigs>::template make<Operation>()...};

/** The outer operation, as the receiver of the inner one accesses it. */
template <class... Sigs> struct any_outer {
    const any_completions<Sigs...> *completions;
    void *operation;
    inplace_stop_token token; // set at the start
};

template <class... Sigs> struct any_receiver {
    using receiver_concept = receiver_t;
    any_outer<Sigs...> *outer;

    template <class... Vs>
    requires std::invocable < const any_completions<Sigs...>
    &, void *, set_value_t, Vs... > void set_value(Vs &&...values) &&noexcept {
        (*outer->completions)(outer->operation, exec::set_value, static_cast<Vs &&>(values)...);
    }
    template <class E>
    requires std::invocable < const any_completions<Sigs...>
    &, void *, set_error_t, E > void set_error(E &&error) &&noexcept {
        (*outer->completions)(outer->operation, exec::set_error, static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept requires std::invocable < const any_completions<Sigs...>
    &, void *, set_stopped_t > { (*outer->completions)(outer->operation, exec::set_stopped); }
    prop<get_stop_token_t, inplace_stop_token> get_env() const noexcept { return {get_stop_token, outer->token}; }
};

/** Whether a T is stored inside, in `Bytes` bytes. `Movable`: it must be movable without an exception. */
template <std::size_t Bytes, class T, bool Movable>
inline constexpr bool fits = sizeof(T) <= Bytes && alignof(T) <= alignof(std::max_align_t) &&
                             (!Movable || std::is_nothrow_move_constructible_v<T>);

class any_operation_storage : immovable {
public:
    any_operation_storage() = default;
    ~any_operation_storage() {
        if (object_ != nullptr) {
            destroy_(object_);
        }
    }
    template <class Op, class Fn> void emplace(Fn &&fn) {
        if constexpr (fits<any_operation_bytes, Op, false>) {
            object_ = ::new (static_cast<void *>(bytes_)) Op(static_cast<Fn &&>(fn)());
            destroy_ = [](void *object) noexcept { static_cast<Op *>(object)->~Op(); };
        } else {
            object_ = new Op(static_cast<Fn &&>(fn)());
            destroy_ = [](void *object) noexcept { delete static_cast<Op *>(object); };
        }
        start_ = [](void *object) noexcept { exec::start(*static_cast<Op *>(object)); };
    }
    void start() noexcept { start_(object_); }

private:
    alignas(std::max_align_t) unsigned char bytes_[any_operation_bytes];
    void *object_ = nullptr;
    void (*destroy_)(void *) noexcept = nullptr;
    void (*start_)(void *) noexcept = nullptr;
};

template <class... Sigs> struct any_sender_functions {
    void (*move)(void *source, void *target) noexcept; // and destroys *source
    void (*destroy)(void *) noexcept;
    void (*connect)(void *sender, any_operation_storage &, any_receiver<Sigs...>);

    template <class S, class Op> static constexpr any_sender_functions make() noexcept {
        if constexpr (fits<any_sender_bytes, S, true>) {
            return {[](void *source, void *target) noexcept {
                        S *moved = static_cast<S *>(source);
                        ::new (target) S(static_cast<S &&>(*moved));
                        moved->~S();
                    },
                    [](void *at) noexcept { static_cast<S *>(at)->~S(); },
                    [](void *at, any_operation_storage &storage, any_receiver<Sigs...> r) {
                        storage.emplace<Op>([&] { return exec::connect(static_cast<S &&>(*static_cast<S *>(at)), r); });
                    }};
        } else {
            return {[](void *source, void *target) noexcept { ::new (target) S *(*static_cast<S **>(source)); },
                    [](void *at) noexcept { delete *static_cast<S **>(at); },
                    [](void *at, any_operation_storage &storage, any_receiver<Sigs...> r) {
                        storage.emplace<Op>(
                            [&] { return exec::connect(static_cast<S &&>(**static_cast<S **>(at)), r); });
                    }};
        }
    }
};
template <class S, class... Sigs>
inline constexpr any_sender_functions<Sigs...>
    functions_of = any_sender_functions<Sigs...>::template make<S, connect_result_t<S, any_receiver<Sigs...>>>();

template <class R, class... Sigs> class any_operation : immovable {
public:
    using operation_state_concept = operation_state_t;

    any_operation(const any_sender_functions<Sigs...> *functions, void *sender, R r)
        : receiver_(static_cast<R &&>(r)), outer_{&completions_of<any_operation, Sigs...>, this, {}} {
        functions->connect(sender, storage_, any_receiver<Sigs...>{&outer_});
    }
    void start() &noexcept {
        outer_.token = token_.set(get_stop_token(exec::get_env(receiver_)));
        storage_.start();
    }
    /** The inner operation has completed. @return the receiver, which the caller completes. */
    R &&release_receiver() noexcept {
        token_.reset();
        return static_cast<R &&>(receiver_);
    }

private:
    [[no_unique_address]] R receiver_;
    any_outer<Sigs...> outer_;
    [[no_unique_address]] inplace_token_of<stop_token_of_t<env_of_t<R>>> token_;
    any_operation_storage storage_;
};

} // namespace detail

/** @brief A move-only, type-erased sender. It is empty after it was moved from. connect() of an empty one throws
 *         empty_any_sender. */
template <class... Sigs> class [[nodiscard]] any_sender {
public:
    using sender_concept = sender_t;

    template <class S>
    requires(!std::same_as<std::decay_t<S>, any_sender> && sender<S>)
        any_sender(S &&s) { // NOLINT(bugprone-forwarding-reference-overload): constrained
        using stored = std::decay_t<S>;
        using environment = env_of_t<detail::any_receiver<Sigs...>>;
        static_assert(sender_in<stored, environment>, "any_sender: how the sender completes is not known for an "
                                                      "environment that has only a stop token; use write_env before");
        if constexpr (sender_in<stored, environment>) {
            static_assert(receiver_of<detail::any_receiver<Sigs...>, completion_signatures_of_t<stored, environment>>,
                          "any_sender: the sender completes in a way that the any_sender does not list; add that "
                          "signature, or handle it before with then(), upon_error() or upon_stopped()");
            if constexpr (detail::fits<any_sender_bytes, stored, true>) {
                ::new (static_cast<void *>(bytes_)) stored(static_cast<S &&>(s));
            } else {
                ::new (static_cast<void *>(bytes_)) stored *(new stored(static_cast<S &&>(s)));
            }
            functions_ = &detail::functions_of<stored, Sigs...>;
        }
    }
    any_sender(any_sender &&other) noexcept : functions_(std::exchange(other.functions_, nullptr)) {
        if (functions_ != nullptr) {
            functions_->move(other.bytes_, bytes_);
        }
    }
    any_sender &operator=(any_sender &&other) noexcept {
        if (this != &other) {
            reset();
            functions_ = std::exchange(other.functions_, nullptr);
            if (functions_ != nullptr) {
                functions_->move(other.bytes_, bytes_);
            }
        }
        return *this;
    }
    ~any_sender() { reset(); }

    template <class, class...> static consteval auto get_completion_signatures() {
        return completion_signatures<Sigs...>();
    }
    template <receiver R> auto connect(R r) && {
        if (functions_ == nullptr) {
            throw empty_any_sender();
        }
        return detail::any_operation<R, Sigs...>(functions_, bytes_, static_cast<R &&>(r));
    }

private:
    void reset() noexcept {
        if (functions_ != nullptr) {
            functions_->destroy(bytes_);
        }
    }

    alignas(std::max_align_t) unsigned char bytes_[any_sender_bytes];
    const detail::any_sender_functions<Sigs...> *functions_ = nullptr;
};

} // namespace thence::exec
