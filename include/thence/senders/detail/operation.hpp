// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// One MPI operation, or a group of them, from its start to its completion: the user's function makes requests, a
// continuation is attached to them, and the callback completes the operation. Nothing is allocated. This file does not
// depend on senders.
//
// `Owner` derives from mpi_operation and has these functions:
//  - `int call(MPI_Request *)`: makes the requests; returns an error code; may throw.
//  - `MPI_Request continuation_request()`: the one with which operations are registered that cannot be stopped. begin()
//    calls `int prepare()` before it, which returns an error code.
//  - `attaching()`: called before the continuation is attached.
//  - `succeeded<site>()`, `failed<site>(exception_ptr)`, `stopped<site>()`: exactly one is called, once, as the last
//    action on the operation, which it may destroy. `site` says whether that is inside begin(). If so, begin() returns
//    the result.
//
// Invariants.
//  - After thence_attach() has accepted the requests, the operation may complete and be destroyed at any time. An
//    operation that can be cancelled is not destroyed before `attaching` is removed from `state`: while it is set, the
//    callback leaves the completion to begin(). So begin() can cancel if stop was requested meanwhile.
//  - A stop request cancels through a continuation request that only this operation uses. The stop callback is
//    destroyed before that continuation request is given back, and before the receiver is completed.
//  - The operation counts as stopped only if thence_cancel() was called, and if MPI_Test_cancelled is true for every
//    operation that was started: then no message was received or sent. MPI_Test_cancelled alone is not enough, since
//    Open MPI does not set that part of the status of file operations.

#include <array>
#include <exception>
#include <optional>

#include <thence/senders/callable.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/detail/rare_storage.hpp>
#include <thence/senders/detail/statuses.hpp>
#include <thence/senders/error.hpp>

namespace thence::detail {

/** The options of transform_mpi(), as a type. */
template <unsigned AttachFlags, class Sent, bool Cancellable, bool PassesValues> struct mpi_options {
    static constexpr unsigned attach_flags = AttachFlags;
    using sent = Sent; // the value that is sent for a status: void, MPI_Status, or a class that is constructed from it
    static constexpr bool status = !std::is_void_v<Sent>;
    static constexpr bool cancellable = Cancellable;    // a stop request cancels
    static constexpr bool passes_values = PassesValues; // those of the predecessor are sent
};

/** Where an operation completes: inside begin(), on its thread, or in a continuation, on any thread. */
enum class completion_site { begin, continuation };

/** @tparam Awaited the owner is the awaiter of a coroutine: begin() throws what the call throws. Other errors are
 *          passed to failed(). */
template <class Owner, std::size_t N, class Options, class Token, bool MayStop, bool Awaited = false>
class mpi_operation {
public:
    mpi_operation(mpi_operation &&) = delete;

protected:
    using origin = mpi_error::origin;
    // If the call of a group fails after it has started some operations, these are cancelled and must complete first.
    // So a group can be cancelled even if no stop can be requested.
    static constexpr bool may_cancel = MayStop || N > 1;
    static constexpr bool persistent = (Options::attach_flags & THENCE_PERSISTENT) != 0;
    static constexpr bool keeps_statuses = Options::status || may_cancel;
    // begin() throws what the call throws; nothing has changed then. Not for a group, which may have started
    // operations.
    static constexpr bool throws_from_begin = Awaited && N == 1;

    mpi_operation() = default;

    /** The result of begin(). An operation that is pending may be destroyed already. */
    enum class begin_result { pending, completed, stopped };

    /** Calls MPI and attaches the continuation. */
    begin_result begin(Token token) noexcept(!throws_from_begin) {
        if constexpr (MayStop) {
            if (token.stop_possible()) [[unlikely]] {
                return begin_cancellable(token);
            }
        }
        int code = owner().prepare();
        if (code != MPI_SUCCESS) [[unlikely]] {
            return start_failed(code);
        }
        std::array<MPI_Request, N> requests;
        requests.fill(MPI_REQUEST_NULL);
        if constexpr (throws_from_begin) {
            code = owner().call(requests.data());
        } else {
            try {
                code = owner().call(requests.data());
            } catch (...) {
                return call_threw(requests);
            }
        }
        if (code != MPI_SUCCESS) [[unlikely]] {
            return call_failed(requests, code);
        }
        if constexpr (tests_first) {
            if (usually_complete.load(order::relaxed)) {
                if constexpr (Awaited) {
                    return test_out_of_line(requests);
                } else {
                    return test(requests);
                }
            }
        }
        return attach(requests);
    }
    /** Calls MPI, but attaches no continuation. The owner calls test_polled() until that returns true.
     *  @return false if the call has failed: then the operation is complete, or will be without test_polled(). */
    bool begin_polled(std::array<MPI_Request, N> &requests) noexcept {
        requests.fill(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        try {
            code = owner().call(requests.data());
        } catch (...) {
            call_threw(requests);
            return false;
        }
        if (code != MPI_SUCCESS) {
            call_failed(requests, code);
        }
        return code == MPI_SUCCESS;
    }
    /** Tests the requests, and completes the operation if they are complete. @return whether they are. */
    bool test_polled(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        int code = MPI_SUCCESS;
        if constexpr (N == 1) {
            code = MPI_Test(requests.data(), &flag, status_of_test());
        } else {
            code = MPI_Testall(static_cast<int>(N), requests.data(), &flag, statuses_.data());
        }
        if (flag == 0 && code == MPI_SUCCESS) {
            return false;
        }
        complete<completion_site::begin>(code);
        return true;
    }
    const std::array<MPI_Status, N> &statuses() const noexcept { return statuses_.statuses; }

private:
    // A short send is complete when its call returns. To test its request costs less than a continuation. So a request
    // is tested first if the last operation of the same type was complete at once.
    static constexpr bool tests_first = N == 1 && !persistent;
    static inline constinit atomic<bool> usually_complete{false};

    static constexpr unsigned attaching = 1;
    static constexpr unsigned completed = 2;
    static constexpr unsigned stop_requested = 4;
    static constexpr unsigned cancel_called = 8; // thence_cancel() has been called, or is being called

    struct on_stop {
        mpi_operation *self;
        void operator()() noexcept {
            if ((self->cancellation_->state.fetch_or(stop_requested, order::acq_rel) & attaching) == 0) {
                self->request_cancel(); // the operation is not destroyed before this callback returns
            }
        }
    };
    template <bool Possible, class T> struct stop_callback_slot {
        std::optional<typename T::template callback_type<on_stop>> callback;
    };
    template <class T> struct stop_callback_slot<false, T> {};
    /** The state of an operation that may be cancelled, from its start to its completion. */
    struct cancellation_state {
        own_request *own;
        atomic<unsigned> state{attaching};
        int code = MPI_SUCCESS;
        // The error of the call, reported when the operations that it has started are complete. At most one is set.
        int call_code = MPI_SUCCESS;
        std::exception_ptr thrown{};
        request_set started = 1;
        [[no_unique_address]] stop_callback_slot<MayStop, Token> stop{};

        explicit cancellation_state(own_request *taken) noexcept : own(taken) {}
    };
    struct no_cancellation {};
    static_assert(MPI_SUCCESS == 0);

    [[gnu::always_inline]] begin_result attach(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        owner().attaching();
        const int code = thence_attach(static_cast<int>(N), requests.data(), &callback, this, Options::attach_flags,
                                       plain_statuses(), owner().continuation_request(), &flag);
        if ((flag | code) == 0) [[likely]] { // code is MPI_SUCCESS
            return begin_result::pending;
        }
        return attached_complete(requests, code, flag != 0);
    }
    [[gnu::always_inline]] begin_result test(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        const int code = thence_take_complete(requests.data(), &flag, status_of_test());
        if (flag != 0) [[likely]] {
            return complete<completion_site::begin>(code);
        }
        usually_complete.store(false, order::relaxed);
        return attach(requests);
    }
    [[gnu::noinline]] begin_result test_out_of_line(std::array<MPI_Request, N> &requests) noexcept {
        return test(requests);
    }
    [[gnu::noinline]] begin_result attached_complete(std::array<MPI_Request, N> &requests, int code,
                                                     bool complete_now) noexcept {
        if constexpr (tests_first) {
            usually_complete.store(complete_now, order::relaxed);
        }
        return complete<completion_site::begin>(complete_now ? code : wait_for(requests));
    }

    // If no stop can be requested, statuses are needed only for a group, or with the option with_status.
    static constexpr bool plain_keeps_statuses = Options::status || N > 1;
    MPI_Status *plain_statuses() noexcept {
        if constexpr (plain_keeps_statuses) {
            return statuses_.data();
        } else {
            return MPI_STATUSES_IGNORE;
        }
    }
    MPI_Status *status_of_test() noexcept {
        if constexpr (plain_keeps_statuses) {
            return statuses_.data();
        } else {
            return MPI_STATUS_IGNORE;
        }
    }

    Owner &owner() noexcept { return static_cast<Owner &>(*this); }

    static int callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        static_cast<mpi_operation *>(data)->template complete<completion_site::continuation>(code);
        return MPI_SUCCESS;
    }

    // The rare exits of begin(). They are not inlined, so begin() is short.
    [[gnu::noinline]] begin_result start_failed(int code) noexcept {
        return end_failed<completion_site::begin>(make_start_error(code));
    }
    [[gnu::noinline]] begin_result call_failed(std::array<MPI_Request, N> &requests, int code) noexcept {
        return fail_call(requests, code, nullptr);
    }
    [[gnu::noinline]] begin_result call_threw(std::array<MPI_Request, N> &requests) noexcept {
        return fail_call(requests, MPI_SUCCESS, std::current_exception());
    }
    /** The call has failed. A single request is undefined then. Requests of a group may be active: they are cancelled,
     *  and the statuses of the error say which of them completed. */
    [[gnu::noinline]] begin_result fail_call(std::array<MPI_Request, N> &requests, int call_code,
                                             std::exception_ptr thrown) noexcept {
        std::span<const MPI_Status> ended;
        if constexpr (N > 1) {
            if (started_of(requests) != 0) {
                own_request *own = nullptr;
                if (!cancellation_.made() && take_own_request(own) == MPI_SUCCESS) {
                    cancellation_.make(own);
                }
                if (!cancellation_.made()) {
                    wait_for(requests);
                    ended = statuses_.statuses;
                } else {
                    cancellation_->call_code = call_code;
                    cancellation_->thrown = static_cast<std::exception_ptr &&>(thrown);
                    cancellation_->state.fetch_or(stop_requested, order::relaxed);
                    return attach_cancellable(requests);
                }
            }
        }
        if constexpr (may_cancel) {
            if (cancellation_.made()) {
                end_cancellation();
            }
        }
        if (!thrown) {
            thrown = make_mpi_error(origin::call, call_code, ended);
        }
        return end_failed<completion_site::begin>(static_cast<std::exception_ptr &&>(thrown));
    }
    static request_set started_of(const std::array<MPI_Request, N> &requests) noexcept {
        request_set started = 0;
        for (std::size_t i = 0; i < N; ++i) {
            if (requests[i] != MPI_REQUEST_NULL) {
                started |= request_set{1} << i;
            }
        }
        return started;
    }

    [[gnu::noinline]] begin_result begin_cancellable(Token token) noexcept {
        if (token.stop_requested()) {
            return end_stopped<completion_site::begin>(); // the call is not made
        }
        own_request *own = nullptr;
        if (const int code = take_own_request(own); code != MPI_SUCCESS) {
            return start_failed(code);
        }
        cancellation_.make(own).stop.callback.emplace(token, on_stop{this});
        std::array<MPI_Request, N> requests;
        requests.fill(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        try {
            code = owner().call(requests.data());
        } catch (...) {
            return call_threw(requests);
        }
        if (code != MPI_SUCCESS) {
            return call_failed(requests, code);
        }
        return attach_cancellable(requests);
    }
    begin_result attach_cancellable(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        cancellation_->started = started_of(requests);
        owner().attaching();
        int code = thence_attach(static_cast<int>(N), requests.data(), &cancellable_callback, this,
                                 Options::attach_flags, statuses_.data(), cancellation_->own->cr, &flag);
        if (flag != 0 || code != MPI_SUCCESS) {
            cancellation_->code = flag != 0 ? code : wait_for(requests);
            return finish_cancellable<completion_site::begin>();
        }
        bool cancelled = false;
        unsigned seen = cancellation_->state.load(order::acquire);
        do {
            if ((seen & (stop_requested | completed)) == stop_requested && !cancelled) {
                request_cancel();
                cancelled = true;
            }
        } while (!cancellation_->state.compare_exchange(seen, seen & ~attaching, order::acq_rel));
        if ((seen & completed) == 0) {
            return begin_result::pending;
        }
        return finish_cancellable<completion_site::begin>();
    }
    static int cancellable_callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        auto *self = static_cast<mpi_operation *>(data);
        self->cancellation_->code = code;
        if ((self->cancellation_->state.fetch_or(completed, order::acq_rel) & attaching) == 0) {
            self->template finish_cancellable<completion_site::continuation>();
        }
        return MPI_SUCCESS;
    }
    void request_cancel() noexcept {
        MPI_Request cr = cancellation_->own->cr;
        cancellation_->state.fetch_or(cancel_called, order::acq_rel);
        thence_cancel(&cr);
    }
    template <completion_site Site> begin_result finish_cancellable() noexcept {
        const int code = cancellation_->code;
        const int call_code = cancellation_->call_code;
        std::exception_ptr thrown = static_cast<std::exception_ptr &&>(cancellation_->thrown);
        const request_set started = cancellation_->started;
        const bool cancelled_by_us = (cancellation_->state.load(order::acquire) & cancel_called) != 0;
        end_cancellation();
        if (thrown) {
            return end_failed<Site>(static_cast<std::exception_ptr &&>(thrown));
        }
        if (call_code != MPI_SUCCESS) {
            return end_failed<Site>(make_mpi_error(origin::call, call_code, statuses_with(code)));
        }
        if (code != MPI_SUCCESS) {
            return complete_failed<Site>(code, statuses_.statuses);
        }
        if constexpr (MayStop) {
            const request_set cancelled = cancelled_by_us ? statuses_.cancelled() & started : 0;
            if (cancelled != 0 && cancelled == started) {
                return end_stopped<Site>();
            }
            if (cancelled != 0) {
                return end_failed<Site>(make_partly_stopped(statuses_with(code)));
            }
        }
        return end_succeeded<Site>();
    }
    std::span<const MPI_Status> statuses_with(int code) noexcept {
        if (code == MPI_SUCCESS) {
            for (MPI_Status &status : statuses_.statuses) {
                status.MPI_ERROR = MPI_SUCCESS; // MPI does not set it if the call succeeds
            }
        }
        return statuses_.statuses;
    }
    void end_cancellation() noexcept {
        if constexpr (MayStop) {
            cancellation_->stop.callback.reset(); // waits for a callback that runs on another thread
        }
        give_back_own_request(cancellation_->own);
        cancellation_.destroy();
    }

    /** Blocks until all are complete, since there was no memory for a continuation. @return the error code. */
    [[gnu::noinline]] int wait_for(std::array<MPI_Request, N> &requests) noexcept {
        std::array<MPI_Status, N> statuses;
        const int code = MPI_Waitall(static_cast<int>(N), requests.data(), statuses.data());
        if constexpr (keeps_statuses) {
            statuses_.statuses = statuses;
        }
        return first_error(code, statuses);
    }

    template <completion_site Site> [[gnu::always_inline]] begin_result complete(int code) noexcept {
        if (code != MPI_SUCCESS) [[unlikely]] {
            if constexpr (plain_keeps_statuses) {
                return complete_failed<Site>(code, statuses_.statuses);
            } else {
                return complete_failed<Site>(code, {});
            }
        }
        return end_succeeded<Site>();
    }
    template <completion_site Site>
    [[gnu::noinline]] begin_result complete_failed(int code, std::span<const MPI_Status> all) noexcept {
        return end_failed<Site>(make_mpi_error(origin::completion, N == 1 ? code : first_error(code, all), all));
    }
    template <completion_site Site> [[gnu::always_inline]] begin_result end_succeeded() noexcept {
        owner().template succeeded<Site>();
        return begin_result::completed;
    }
    template <completion_site Site> begin_result end_stopped() noexcept {
        owner().template stopped<Site>();
        return begin_result::stopped;
    }
    template <completion_site Site> begin_result end_failed(std::exception_ptr error) noexcept {
        owner().template failed<Site>(static_cast<std::exception_ptr &&>(error));
        return begin_result::completed;
    }

    [[no_unique_address]] status_store<N, keeps_statuses> statuses_;
    [[no_unique_address]] std::conditional_t<may_cancel, rare_storage<cancellation_state>, no_cancellation>
        cancellation_;
};

} // namespace thence::detail
