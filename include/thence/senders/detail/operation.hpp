// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_OPERATION_HPP
#define THENCE_SENDERS_DETAIL_OPERATION_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/operation.hpp needs C++20: compile with -std=c++20"
#else

// One operation of MPI between its start and its completion: the requests that a call has made are given to one
// continuation, which completes the operation. Nothing here is allocated, and nothing known of senders.
//
// `Owner` derives from it and has: `int call(MPI_Request *)`, which may throw; `MPI_Request continuation_request()`,
// where operations are registered that nobody can stop, and before it `int prepare()`, an error code; `attaching()`,
// told before MPI's requests get their continuation; `succeeded<site>()`, `failed<site>(exception_ptr)`,
// `stopped<site>()`, of which exactly one is called, once, as the last act: it may destroy the operation. `site` says
// whether that is inside begin(), which then returns what it was.
//
// Invariants.
//  - After thence_attach() has accepted the requests, the operation may be complete and gone at any time. Only one that
//    can be cancelled is still there until `attaching` is taken from `state_`: the callback leaves its completion to
//    begin() while `attaching` is set, so begin() may cancel what came to be cancelled meanwhile.
//  - A stop request cancels on the continuation request that this operation alone has. The stop callback is gone before
//    that is given back, and before the receiver is completed.
//  - Stopped is only what MPI was asked to cancel, if MPI_Test_cancelled says so of everything that was started: then
//    nothing has happened. MPI alone is not believed: files of Open MPI leave that part of the status as it was.

#include <array>
#include <exception>
#include <new>
#include <optional>

#include <thence/senders/callable.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/detail/statuses.hpp>
#include <thence/senders/error.hpp>

namespace thence::detail {

/** What is chosen for one operation where it is written. */
template <unsigned AttachFlags, class Sent, bool Cancellable> struct mpi_options {
    static constexpr unsigned attach_flags = AttachFlags;
    using sent = Sent; // what is sent of a status: void, MPI_Status, or a class that is constructed from it
    static constexpr bool status = !std::is_void_v<Sent>;
    static constexpr bool cancellable = Cancellable; // a stop request cancels
};

/** Where an operation ends: before begin() has returned, on its thread, or in a continuation, on any. */
enum class completion_site { begin, continuation };

/** Room for what is rarely needed. Who has made it destroys it, so that an owner's destructor has nothing to do. */
template <class T> class rare_room {
public:
    // Members of a union are neither made nor destroyed: a defaulted one would be deleted.
    rare_room() noexcept {} // NOLINT(modernize-use-equals-default)
    ~rare_room() {}         // NOLINT(modernize-use-equals-default)
    template <class... As> T &make(As &&...as) noexcept {
        made_ = true;
        return *::new (static_cast<void *>(&value_)) T(static_cast<As &&>(as)...);
    }
    void destroy() noexcept {
        made_ = false;
        value_.~T();
    }
    bool made() const noexcept { return made_; }
    T &operator*() noexcept { return value_; }
    T *operator->() noexcept { return &value_; }

private:
    bool made_ = false;
    union {
        T value_;
    };
};

/** `Awaited`: by a coroutine, which takes what the call throws from begin(), and other errors later. */
template <class Owner, std::size_t N, class Options, class Token, bool MayStop, bool Awaited = false>
class mpi_operation {
public:
    mpi_operation(mpi_operation &&) = delete;

protected:
    using origin = mpi_error::origin;
    // A group whose call fails half-way has requests that must end first; so it can be cancelled in any case.
    static constexpr bool may_cancel = MayStop || N > 1;
    static constexpr bool persistent = (Options::attach_flags & THENCE_PERSISTENT) != 0;
    static constexpr bool keeps_statuses = Options::status || may_cancel;
    // What the call throws leaves begin(), which then has changed nothing. A group may have started something.
    static constexpr bool passes_exceptions = Awaited && N == 1;

    mpi_operation() = default;

    /** What begin() has come to. While the operation is pending it may be gone. */
    enum class begun { pending, ended, stopped };

    /** Calls MPI and attaches the continuation. */
    begun begin(Token token) noexcept(!passes_exceptions) {
        if constexpr (MayStop) {
            if (token.stop_possible()) [[unlikely]]
                return begin_cancellable(token);
        }
        int code = owner().prepare();
        if (code != MPI_SUCCESS) [[unlikely]]
            return refused(code);
        std::array<MPI_Request, N> requests;
        requests.fill(MPI_REQUEST_NULL);
        if constexpr (passes_exceptions) {
            code = owner().call(requests.data());
        } else {
            try {
                code = owner().call(requests.data());
            } catch (...) {
                return thrown(requests);
            }
        }
        if (code != MPI_SUCCESS) [[unlikely]]
            return call_failed(requests, code);
        if constexpr (tests_first) {
            if (usually_complete.load(order::relaxed)) {
                if constexpr (Awaited)
                    return test_apart(requests);
                else
                    return test(requests);
            }
        }
        return attach(requests);
    }
    /** Calls MPI, and attaches nothing: the owner calls test_polled() until it is true.
     *  @return false if the call has failed, and then it is over, or will be. */
    bool begin_polled(std::array<MPI_Request, N> &requests) noexcept {
        requests.fill(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        try {
            code = owner().call(requests.data());
        } catch (...) {
            thrown(requests);
            return false;
        }
        if (code != MPI_SUCCESS)
            call_failed(requests, code);
        return code == MPI_SUCCESS;
    }
    /** @return true if it is complete, and then it is over. */
    bool test_polled(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        int code = MPI_SUCCESS;
        if constexpr (N == 1)
            code = MPI_Test(requests.data(), &flag, status_of_test());
        else
            code = MPI_Testall(static_cast<int>(N), requests.data(), &flag, statuses_.data());
        if (flag == 0 && code == MPI_SUCCESS)
            return false;
        complete<completion_site::begin>(code);
        return true;
    }
    const std::array<MPI_Status, N> &statuses() const noexcept { return statuses_.statuses; }

private:
    // Short sends are complete when they return. For operations like the last, a look is then cheaper than a
    // continuation; for others it would be in vain.
    static constexpr bool tests_first = N == 1 && !persistent;
    static inline constinit atomic<bool> usually_complete{false};

    static constexpr unsigned attaching = 1;
    static constexpr unsigned complete_already = 2;
    static constexpr unsigned stop_wanted = 4;
    static constexpr unsigned cancel_asked = 8; // MPI has been, or is just being

    struct on_stop {
        mpi_operation *self;
        void operator()() noexcept {
            if ((self->cancelling_->state.fetch_or(stop_wanted, order::acq_rel) & attaching) == 0)
                self->ask_to_cancel(); // the operation waits for this callback before it goes
        }
    };
    template <bool Possible, class T> struct stop_part {
        std::optional<typename T::template callback_type<on_stop>> callback;
    };
    template <class T> struct stop_part<false, T> {};
    /** Of an operation that may be cancelled, from its start to its end. */
    struct cancel_part {
        lent_request *lent;
        atomic<unsigned> state{attaching};
        int code = MPI_SUCCESS;
        // Of the call, told when what it started is over: one of them.
        int call_code = MPI_SUCCESS;
        std::exception_ptr thrown{};
        request_set started = 1;
        [[no_unique_address]] stop_part<MayStop, Token> stop{};

        explicit cancel_part(lent_request *given) noexcept : lent(given) {}
    };
    struct no_part {};
    static_assert(MPI_SUCCESS == 0);

    [[gnu::always_inline]] begun attach(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        owner().attaching();
        const int code = thence_attach(static_cast<int>(N), requests.data(), &callback, this, Options::attach_flags,
                                       plain_statuses(), owner().continuation_request(), &flag);
        if ((flag | code) == 0) [[likely]] // code is MPI_SUCCESS
            return begun::pending;
        return attached_complete(requests, code, flag != 0);
    }
    [[gnu::always_inline]] begun test(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        const int code = thence_take_complete(requests.data(), &flag, status_of_test());
        if (flag != 0) [[likely]]
            return complete<completion_site::begin>(code);
        usually_complete.store(false, order::relaxed);
        return attach(requests);
    }
    [[gnu::noinline]] begun test_apart(std::array<MPI_Request, N> &requests) noexcept { return test(requests); }
    [[gnu::noinline]] begun attached_complete(std::array<MPI_Request, N> &requests, int code,
                                              bool complete_now) noexcept {
        if constexpr (tests_first)
            usually_complete.store(complete_now, order::relaxed);
        return complete<completion_site::begin>(complete_now ? code : wait_for(requests));
    }

    // Without a stop request only a group, or what was asked for, needs the statuses.
    static constexpr bool plain_keeps_statuses = Options::status || N > 1;
    MPI_Status *plain_statuses() noexcept {
        if constexpr (plain_keeps_statuses)
            return statuses_.data();
        else
            return MPI_STATUSES_IGNORE;
    }
    MPI_Status *status_of_test() noexcept {
        if constexpr (plain_keeps_statuses)
            return statuses_.data();
        else
            return MPI_STATUS_IGNORE;
    }

    Owner &owner() noexcept { return static_cast<Owner &>(*this); }

    static int callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        static_cast<mpi_operation *>(data)->template complete<completion_site::continuation>(code);
        return MPI_SUCCESS;
    }

    // Rare ends of begin(), as calls, which keep it short.
    [[gnu::noinline]] begun refused(int code) noexcept {
        return end_failed<completion_site::begin>(make_start_error(code));
    }
    [[gnu::noinline]] begun call_failed(std::array<MPI_Request, N> &requests, int code) noexcept {
        return give_up(requests, code, nullptr);
    }
    [[gnu::noinline]] begun thrown(std::array<MPI_Request, N> &requests) noexcept {
        return give_up(requests, MPI_SUCCESS, std::current_exception());
    }
    /** The call has failed. A single request is then void; of a group some may be active, and what becomes of them is
     *  in the statuses of the error. */
    [[gnu::noinline]] begun give_up(std::array<MPI_Request, N> &requests, int call_code,
                                    std::exception_ptr thrown) noexcept {
        std::span<const MPI_Status> ended;
        if constexpr (N > 1) {
            if (started_of(requests) != 0) {
                lent_request *lent = nullptr;
                if (!cancelling_.made() && lend_request(lent) == MPI_SUCCESS)
                    cancelling_.make(lent);
                if (!cancelling_.made()) {
                    wait_for(requests);
                    ended = statuses_.statuses;
                } else {
                    cancelling_->call_code = call_code;
                    cancelling_->thrown = static_cast<std::exception_ptr &&>(thrown);
                    cancelling_->state.fetch_or(stop_wanted, order::relaxed);
                    return attach_cancellable(requests);
                }
            }
        }
        if constexpr (may_cancel)
            if (cancelling_.made())
                end_cancelling();
        if (!thrown)
            thrown = make_mpi_error(origin::call, call_code, ended);
        return end_failed<completion_site::begin>(static_cast<std::exception_ptr &&>(thrown));
    }
    static request_set started_of(const std::array<MPI_Request, N> &requests) noexcept {
        request_set started = 0;
        for (std::size_t i = 0; i < N; ++i)
            if (requests[i] != MPI_REQUEST_NULL)
                started |= request_set{1} << i;
        return started;
    }

    [[gnu::noinline]] begun begin_cancellable(Token token) noexcept {
        if (token.stop_requested())
            return end_stopped<completion_site::begin>(); // nothing is started
        lent_request *lent = nullptr;
        if (const int code = lend_request(lent); code != MPI_SUCCESS)
            return refused(code);
        cancelling_.make(lent).stop.callback.emplace(token, on_stop{this});
        std::array<MPI_Request, N> requests;
        requests.fill(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        try {
            code = owner().call(requests.data());
        } catch (...) {
            return thrown(requests);
        }
        if (code != MPI_SUCCESS)
            return call_failed(requests, code);
        return attach_cancellable(requests);
    }
    begun attach_cancellable(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        cancelling_->started = started_of(requests);
        owner().attaching();
        int code = thence_attach(static_cast<int>(N), requests.data(), &cancellable_callback, this,
                                 Options::attach_flags, statuses_.data(), cancelling_->lent->cr, &flag);
        if (flag != 0 || code != MPI_SUCCESS) {
            cancelling_->code = flag != 0 ? code : wait_for(requests);
            return finish_cancellable<completion_site::begin>();
        }
        bool cancelled = false;
        unsigned seen = cancelling_->state.load(order::acquire);
        do {
            if ((seen & (stop_wanted | complete_already)) == stop_wanted && !cancelled) {
                ask_to_cancel();
                cancelled = true;
            }
        } while (!cancelling_->state.compare_exchange(seen, seen & ~attaching, order::acq_rel));
        if ((seen & complete_already) == 0)
            return begun::pending;
        return finish_cancellable<completion_site::begin>();
    }
    static int cancellable_callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        auto *self = static_cast<mpi_operation *>(data);
        self->cancelling_->code = code;
        if ((self->cancelling_->state.fetch_or(complete_already, order::acq_rel) & attaching) == 0)
            self->template finish_cancellable<completion_site::continuation>();
        return MPI_SUCCESS;
    }
    void ask_to_cancel() noexcept {
        MPI_Request cr = cancelling_->lent->cr;
        cancelling_->state.fetch_or(cancel_asked, order::acq_rel);
        thence_cancel(&cr);
    }
    template <completion_site Site> begun finish_cancellable() noexcept {
        const int code = cancelling_->code;
        const int call_code = cancelling_->call_code;
        std::exception_ptr thrown = static_cast<std::exception_ptr &&>(cancelling_->thrown);
        const request_set started = cancelling_->started;
        const bool asked = (cancelling_->state.load(order::acquire) & cancel_asked) != 0;
        end_cancelling();
        if (thrown)
            return end_failed<Site>(static_cast<std::exception_ptr &&>(thrown));
        if (call_code != MPI_SUCCESS)
            return end_failed<Site>(make_mpi_error(origin::call, call_code, statuses_with(code)));
        if (code != MPI_SUCCESS)
            return complete_with<Site>(code, statuses_.statuses);
        if constexpr (MayStop) {
            const request_set cancelled = asked ? statuses_.cancelled() & started : 0;
            if (cancelled != 0 && cancelled == started)
                return end_stopped<Site>();
            if (cancelled != 0)
                return end_failed<Site>(make_partly_stopped(statuses_with(code)));
        }
        return end_succeeded<Site>();
    }
    std::span<const MPI_Status> statuses_with(int code) noexcept {
        if (code == MPI_SUCCESS)
            for (MPI_Status &status : statuses_.statuses)
                status.MPI_ERROR = MPI_SUCCESS; // which MPI need not set then
        return statuses_.statuses;
    }
    void end_cancelling() noexcept {
        if constexpr (MayStop)
            cancelling_->stop.callback.reset(); // waits for one that runs on another thread
        give_back_request(cancelling_->lent);
        cancelling_.destroy();
    }

    /** The library had no memory for a continuation, so the operation is completed here. */
    [[gnu::noinline]] int wait_for(std::array<MPI_Request, N> &requests) noexcept {
        std::array<MPI_Status, N> statuses;
        const int code = MPI_Waitall(static_cast<int>(N), requests.data(), statuses.data());
        if constexpr (keeps_statuses)
            statuses_.statuses = statuses;
        return first_error(code, statuses);
    }

    template <completion_site Site> [[gnu::always_inline]] begun complete(int code) noexcept {
        if (code != MPI_SUCCESS) [[unlikely]] {
            if constexpr (plain_keeps_statuses)
                return complete_with<Site>(code, statuses_.statuses);
            else
                return complete_with<Site>(code, {});
        }
        return end_succeeded<Site>();
    }
    template <completion_site Site>
    [[gnu::noinline]] begun complete_with(int code, std::span<const MPI_Status> all) noexcept {
        return end_failed<Site>(make_mpi_error(origin::completion, N == 1 ? code : first_error(code, all), all));
    }
    template <completion_site Site> [[gnu::always_inline]] begun end_succeeded() noexcept {
        owner().template succeeded<Site>();
        return begun::ended;
    }
    template <completion_site Site> begun end_stopped() noexcept {
        owner().template stopped<Site>();
        return begun::stopped;
    }
    template <completion_site Site> begun end_failed(std::exception_ptr error) noexcept {
        owner().template failed<Site>(static_cast<std::exception_ptr &&>(error));
        return begun::ended;
    }

    [[no_unique_address]] status_store<N, keeps_statuses> statuses_;
    [[no_unique_address]] std::conditional_t<may_cancel, rare_room<cancel_part>, no_part> cancelling_;
};

} // namespace thence::detail

#endif // C++20
#endif
