// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The awaiter of `co_await (just(values...) | transform_mpi(f))` in a task of thence::exec. It is the operation itself,
// without a receiver: the continuation of MPI's request resumes the coroutine. Values and callable stay in the sender,
// which is in the coroutine's frame until the end of the co_await expression.
//
// Invariant: the coroutine is resumed exactly once. If the operation completes inside begin(), await_suspend() does not
// suspend it. If it completes in a continuation, that resumes it. Meanwhile await_suspend() may still run on another
// thread, so it accesses nothing of the frame after begin().

#include <thence/detail/cxx20.hpp>

#include <coroutine>
#include <exception>
#include <tuple>

#include <thence/senders/detail/completions.hpp>
#include <thence/senders/detail/operation.hpp>

#if defined(THENCE_EXECUTION_IS_THENCE)

namespace thence::detail {

/** @tparam Sender a sender whose predecessor has `values`, a tuple, and which has the callable `fn`.
 *  @tparam N      the number of requests.
 *  @tparam Token  the stop token of the coroutine with this promise. */
template <class Sender, std::size_t N, class Options, class Promise,
          class Token = ex::stop_token_of_t<ex::env_of_t<Promise>>,
          bool MayStop = Options::cancellable &&may_stop<ex::env_of_t<Promise>>>
class sender_awaiter
    : mpi_operation<sender_awaiter<Sender, N, Options, Promise, Token, MayStop>, N, Options, Token, MayStop, true> {
    using base = mpi_operation<sender_awaiter, N, Options, Token, MayStop, true>;
    using typename base::begin_result;
    friend base;
    using value = ex::detail::await_value<ex::value_types_of_t<Sender, ex::env_of_t<Promise>>>;

public:
    sender_awaiter(Sender &sender, Promise &promise) noexcept : sender_(sender), promise_(promise) {}

    static constexpr bool await_ready() noexcept { return false; }
    // Not inlined, so that the variables of begin() are on the stack and not in the coroutine's frame, which may be
    // destroyed while begin() runs.
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise>) {
        const begin_result result = base::begin(ex::get_stop_token(ex::get_env(promise_)));
        if (result == begin_result::stopped) {
            stop();
        }
        return result != begin_result::completed;
    }
    typename value::type await_resume() {
        if (failure_.made()) [[unlikely]] {
            rethrow(failure_);
        }
        using kept = decltype(sender_.predecessor.values);
        // To copy a trivially copyable tuple is one memory copy. To move it is one move for each element.
        if constexpr (std::is_same_v<typename value::type, kept> && std::is_trivially_copy_constructible_v<kept>) {
            return sender_.predecessor.values;
        } else if constexpr (std::is_void_v<typename value::type>) {
            return;
        } else if constexpr (Options::passes_values) {
            return std::apply([this](auto &...values) { return sent(values...); }, sender_.predecessor.values);
        } else {
            return sent();
        }
    }

private:
    template <class... Vs> typename value::type sent(Vs &...values) {
        if constexpr (!Options::status) {
            return typename value::type(static_cast<Vs &&>(values)...);
        } else if constexpr (N == 1) {
            return typename value::type(static_cast<Vs &&>(values)..., typename Options::sent(base::statuses()[0]));
        } else {
            return typename value::type(static_cast<Vs &&>(values)..., base::statuses());
        }
    }
    int call(MPI_Request *requests) {
        return std::apply([&](auto &...values) { return call_for_requests<N>(sender_.fn, requests, values...); },
                          sender_.predecessor.values);
    }
    static int prepare() noexcept { return make_shared_requests(); }
    static MPI_Request continuation_request() noexcept { return shared_request(); }
    static void attaching() noexcept {}
    template <completion_site Site> void succeeded() noexcept {
        if constexpr (Site == completion_site::continuation) {
            resume();
        }
    }
    template <completion_site Site> void failed(std::exception_ptr error) noexcept {
        failure_.make(static_cast<std::exception_ptr &&>(error));
        if constexpr (Site == completion_site::continuation) {
            resume();
        }
    }
    template <completion_site Site> void stopped() noexcept {
        if constexpr (Site == completion_site::continuation) {
            stop();
        }
    }
    void resume() noexcept { std::coroutine_handle<Promise>::from_promise(promise_).resume(); }
    [[gnu::noinline]] void stop() noexcept { promise_.unhandled_stopped().resume(); } // may destroy this

    [[noreturn, gnu::noinline]] static void rethrow(rare_storage<std::exception_ptr> &storage) {
        std::exception_ptr failure = static_cast<std::exception_ptr &&>(*storage);
        storage.destroy();
        std::rethrow_exception(static_cast<std::exception_ptr &&>(failure));
    }

    Sender &sender_;
    Promise &promise_;
    rare_storage<std::exception_ptr> failure_;
};

} // namespace thence::detail

#endif
