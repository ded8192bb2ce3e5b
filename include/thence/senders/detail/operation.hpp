// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_OPERATION_HPP
#define THENCE_SENDERS_DETAIL_OPERATION_HPP

// One operation of MPI between its start and its completion: the requests that a call has made are given to one
// continuation, which completes the operation. Nothing here is allocated, and nothing known of senders.
//
// `Owner` derives from it and has: `int call(MPI_Request *)`, which may throw; `int continuation_request(MPI_Request
// &)`, where operations are registered that nobody can stop; `attaching()`, told before MPI's requests get their
// continuation; `succeeded()`, `failed(exception_ptr)`, `stopped()`, of which
// exactly one is called, once, as the last act: it may destroy the operation.
//
// Invariants.
//  - After thence_attach() has accepted the requests, the operation may be complete and gone at any time. Only one that
//    can be cancelled is still there until `attaching` is taken from `state_`: the callback leaves its completion to
//    begin() while `attaching` is set, so begin() may cancel what came to be cancelled meanwhile.
//  - A stop request cancels on the continuation request that this operation alone has. The stop callback is gone before
//    that is given back, and before the receiver is completed.
//  - Stopped is what MPI_Test_cancelled says, and nothing else.

#include <array>
#include <exception>
#include <optional>

#include <thence/senders/callable.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/error.hpp>

namespace thence::detail {

/** What is chosen for one operation where it is written. */
template <unsigned AttachFlags, bool Status, bool Cancellable> struct mpi_options {
    static constexpr unsigned attach_flags = AttachFlags;
    static constexpr bool status = Status;           // sends MPI_Status too
    static constexpr bool cancellable = Cancellable; // a stop request cancels
};

template <std::size_t N, bool Wanted> struct status_store {
    std::array<MPI_Status, N> statuses;
    MPI_Status *data() noexcept { return statuses.data(); }
    MPI_Status *one() noexcept { return statuses.data(); }
};
template <std::size_t N> struct status_store<N, false> {
    static MPI_Status *data() noexcept { return MPI_STATUSES_IGNORE; }
    static MPI_Status *one() noexcept { return MPI_STATUS_IGNORE; }
};

template <class Owner, std::size_t N, class Options, class Token, bool MayStop> class mpi_operation {
protected:
    using origin = mpi_error::origin;
    // A group whose call fails half-way has requests that must end first; so it can be cancelled in any case.
    static constexpr bool may_cancel = MayStop || N > 1;
    // Persistent requests are the user's, who may cancel them.
    static constexpr bool persistent = (Options::attach_flags & THENCE_PERSISTENT) != 0;
    static constexpr bool keeps_statuses = Options::status || may_cancel || persistent;

    mpi_operation() = default;
    mpi_operation(mpi_operation &&) = delete;

    /** Calls MPI and attaches the continuation. */
    void begin(const Token &token) noexcept {
        if constexpr (MayStop) {
            if (token.stop_possible()) {
                begin_cancellable(token);
                return;
            }
        }
        MPI_Request cr;
        if (const int code = owner().continuation_request(cr); code != MPI_SUCCESS) [[unlikely]] {
            owner().failed(make_mpi_error(origin::call, code));
            return;
        }
        std::array<MPI_Request, N> requests;
        if (!call(requests)) [[unlikely]]
            return;
        int flag = 0;
        if constexpr (tests_first) {
            if (usually_complete.load(std::memory_order_relaxed)) {
                if (const int code = MPI_Test(requests.data(), &flag, statuses_.one()); flag != 0) [[likely]] {
                    complete(code);
                    return;
                }
                usually_complete.store(false, std::memory_order_relaxed);
            }
        }
        owner().attaching();
        const int code = thence_attach(static_cast<int>(N), requests.data(), &callback, this, Options::attach_flags,
                                       statuses_.data(), cr, &flag);
        if (flag == 0 && code == MPI_SUCCESS)
            return; // this may be gone
        if constexpr (tests_first)
            usually_complete.store(flag != 0, std::memory_order_relaxed);
        complete(flag != 0 ? code : wait_for(requests));
    }
    /** Calls MPI, and attaches nothing: the owner calls test_polled() until it is true.
     *  @return false if the call has failed, and then it is over. */
    bool begin_polled(std::array<MPI_Request, N> &requests) noexcept { return call(requests); }
    /** @return true if it is complete, and then it is over. */
    bool test_polled(std::array<MPI_Request, N> &requests) noexcept {
        int flag = 0;
        int code = MPI_SUCCESS;
        if constexpr (N == 1)
            code = MPI_Test(requests.data(), &flag, statuses_.one());
        else
            code = MPI_Testall(static_cast<int>(N), requests.data(), &flag, statuses_.data());
        if (flag == 0 && code == MPI_SUCCESS)
            return false;
        complete(code);
        return true;
    }
    const std::array<MPI_Status, N> &statuses() const noexcept { return statuses_.statuses; }

private:
    // Short sends are complete when they return. For operations like the last, a test is then cheaper than a
    // continuation; for others it would be a call for progress in vain.
    static constexpr bool tests_first = N == 1 && !persistent;
    static inline constinit std::atomic<bool> usually_complete{false};

    static constexpr unsigned attaching = 1;
    static constexpr unsigned complete_already = 2;
    static constexpr unsigned stop_wanted = 4;

    struct on_stop {
        mpi_operation *self;
        void operator()() noexcept {
            MPI_Request cr = self->cancelling_.lent->cr;
            if ((self->cancelling_.state.fetch_or(stop_wanted, std::memory_order_acq_rel) & attaching) == 0)
                thence_cancel(&cr); // the operation waits for this callback before it goes
        }
    };
    template <bool Possible> struct stop_part {
        std::optional<typename Token::template callback_type<on_stop>> callback;
    };
    template <class Nothing> struct no_part {};
    struct cancel_part {
        lent_request *lent = nullptr;
        std::atomic<unsigned> state{attaching};
        int code = MPI_SUCCESS;
        std::exception_ptr failure; // of the call, told when what it started is over
    };

    Owner &owner() noexcept { return static_cast<Owner &>(*this); }

    static int callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        static_cast<mpi_operation *>(data)->complete(code);
        return MPI_SUCCESS;
    }

    /** False when it has failed, and then the operation is over or will be. */
    bool call(std::array<MPI_Request, N> &requests) noexcept {
        requests.fill(MPI_REQUEST_NULL);
        int code = MPI_SUCCESS;
        try {
            code = owner().call(requests.data());
        } catch (...) {
            give_up(requests, std::current_exception());
            return false;
        }
        if (code != MPI_SUCCESS) [[unlikely]] {
            give_up(requests, make_mpi_error(origin::call, code));
            return false;
        }
        return true;
    }
    /** The call has failed. A single request is then void; of a group some may be active. */
    [[gnu::noinline]] void give_up(std::array<MPI_Request, N> &requests, std::exception_ptr failure) noexcept {
        if constexpr (N > 1) {
            bool started = false;
            for (const MPI_Request request : requests)
                started = started || request != MPI_REQUEST_NULL;
            if (started) {
                if (cancelling_.lent == nullptr && sender_requests.lend(cancelling_.lent) != MPI_SUCCESS) {
                    wait_for(requests);
                } else {
                    cancelling_.failure = static_cast<std::exception_ptr &&>(failure);
                    cancelling_.state.fetch_or(stop_wanted, std::memory_order_relaxed);
                    attach_cancellable(requests);
                    return;
                }
            }
        }
        if constexpr (may_cancel)
            end_cancelling();
        owner().failed(static_cast<std::exception_ptr &&>(failure));
    }

    [[gnu::noinline]] void begin_cancellable(const Token &token) noexcept {
        if (token.stop_requested()) {
            owner().stopped(); // nothing is started
            return;
        }
        if (const int code = sender_requests.lend(cancelling_.lent); code != MPI_SUCCESS) {
            owner().failed(make_mpi_error(origin::call, code));
            return;
        }
        stopping_.callback.emplace(token, on_stop{this});
        std::array<MPI_Request, N> requests;
        if (call(requests))
            attach_cancellable(requests);
    }
    void attach_cancellable(std::array<MPI_Request, N> &requests) noexcept {
        MPI_Request cr = cancelling_.lent->cr;
        int flag = 0;
        owner().attaching();
        int code = thence_attach(static_cast<int>(N), requests.data(), &cancellable_callback, this,
                                 Options::attach_flags, statuses_.data(), cr, &flag);
        if (flag != 0 || code != MPI_SUCCESS) {
            cancelling_.code = flag != 0 ? code : wait_for(requests);
            finish_cancellable();
            return;
        }
        bool cancelled = false;
        unsigned seen = cancelling_.state.load(std::memory_order_acquire);
        do {
            if ((seen & (stop_wanted | complete_already)) == stop_wanted && !cancelled) {
                thence_cancel(&cr);
                cancelled = true;
            }
        } while (!cancelling_.state.compare_exchange_weak(seen, seen & ~attaching, std::memory_order_acq_rel));
        if ((seen & complete_already) != 0)
            finish_cancellable();
    }
    static int cancellable_callback(int code, MPI_Status *, void *data) noexcept {
        const completing_scope inside;
        auto *self = static_cast<mpi_operation *>(data);
        self->cancelling_.code = code;
        if ((self->cancelling_.state.fetch_or(complete_already, std::memory_order_acq_rel) & attaching) == 0)
            self->finish_cancellable();
        return MPI_SUCCESS;
    }
    void finish_cancellable() noexcept {
        end_cancelling();
        if (cancelling_.failure)
            owner().failed(static_cast<std::exception_ptr &&>(cancelling_.failure));
        else
            complete(cancelling_.code);
    }
    void end_cancelling() noexcept {
        if constexpr (MayStop)
            stopping_.callback.reset(); // waits for one that runs on another thread
        if (cancelling_.lent != nullptr)
            sender_requests.give_back(cancelling_.lent);
    }

    /** The library had no memory for a continuation, so the operation is completed here. */
    [[gnu::noinline]] int wait_for(std::array<MPI_Request, N> &requests) noexcept {
        std::array<MPI_Status, N> statuses;
        const int code = MPI_Waitall(static_cast<int>(N), requests.data(), statuses.data());
        if constexpr (keeps_statuses)
            statuses_.statuses = statuses;
        return first_error(code, statuses);
    }

    [[gnu::always_inline]] void complete(int code) noexcept {
        if (code != MPI_SUCCESS) [[unlikely]]
            complete_with(code);
        else if (cancelled())
            owner().stopped();
        else
            owner().succeeded();
    }
    [[gnu::noinline]] void complete_with(int code) noexcept {
        std::span<const MPI_Status> all;
        if constexpr (keeps_statuses)
            all = statuses_.statuses;
        owner().failed(make_mpi_error(origin::completion, N == 1 ? code : first_error(code, all), all));
    }
    bool cancelled() const noexcept {
        if constexpr (MayStop || persistent) {
            if constexpr (!persistent)
                if (cancelling_.lent == nullptr)
                    return false;
            for (const MPI_Status &status : statuses_.statuses) {
                int flag = 0;
                if (MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag)
                    return true;
            }
        }
        return false;
    }

    [[no_unique_address]] status_store<N, keeps_statuses> statuses_;
    [[no_unique_address]] std::conditional_t<may_cancel, cancel_part, no_part<cancel_part>> cancelling_;
    [[no_unique_address]] std::conditional_t<MayStop, stop_part<MayStop>, no_part<int>> stopping_;
};

} // namespace thence::detail

#endif
