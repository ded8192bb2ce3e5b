// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file am.hpp
 *  @brief Active messages (`am.h`) for C++: an owner of the engine, handlers with state, and senders.
 *
 *      thence::active_messages am(MPI_COMM_WORLD);
 *      am.on(0, [&](const thence::am_message &m) { sum += m.value<double>(); });
 *      am.send(1, 0, 3.14);
 *      am.quiesce(); // all is handled, in all processes
 *
 *  The functions whose names begin with `async_` return senders: `co_await` them, join them with `when_all`, or wait
 *  for them with thence::sync_wait() where another thread makes progress. Such a wait runs no handlers without flags;
 *  thence::active_messages::progress_until() does. A stop request has no effect on them. Link `thence::am`.
 *
 *  If the engine is broken (am.h, Errors), progress(), progress_until() and quiesce() throw its error when each sender
 *  that was started has completed: its operation state and its memory may be destroyed then. The one exception are gets
 *  that MPI cannot end: they do not complete, and the options' `failed` is told that their memory must stay; their
 *  operation states must stay, too. An error that send() or another member throws says nothing about those that were
 *  started before. */

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <thence/adapter.hpp>
#include <thence/am.h>
#include <thence/execution.hpp>

namespace thence {

namespace detail {

/** Whether the bytes of a `T` mean something in another process: those of a pointer or a view do not. */
template <class T>
inline constexpr bool am_is_value =
    !std::is_pointer_v<T> && !std::is_null_pointer_v<T> && !std::ranges::borrowed_range<T>;

} // namespace detail

/** @brief What a handler is called with. Valid until it returns. */
class am_message {
public:
    explicit am_message(const thence_am_message &m) noexcept : m_(m) {}
    /** @return the sender. */
    int source() const noexcept { return m_.source; }
    /** @return what was sent with it, aligned to 8 bytes. */
    std::span<const std::byte> payload() const noexcept {
        return {static_cast<const std::byte *>(m_.payload), m_.bytes};
    }
    /** @return the payload as one value. Its length must be that of a `T`. */
    template <class T> T value() const noexcept {
        static_assert(std::is_trivially_copyable_v<T>, "value: a T cannot be copied as bytes");
        T copy{};
        std::memcpy(&copy, m_.payload, sizeof copy < m_.bytes ? sizeof copy : m_.bytes);
        return copy;
    }
    /** @return after a put: the data. */
    std::span<std::byte> data() const noexcept { return {static_cast<std::byte *>(m_.data), m_.data_bytes}; }

private:
    const thence_am_message &m_;
};

namespace detail {

/** What thence_am_quiesce() returns only the code of: the failures that were not told yet, in the order in which it
 *  returns them. There is one for each quiescence; a broken engine has one more. Threads: any. */
class am_failures {
public:
    struct failure {
        int error = MPI_SUCCESS, rank = 0, number = 0;
        char what[160] = ""; // of the sentences of the library none is longer
    };

    void add(const thence_am_failure &told) noexcept {
        if (told.first == 0) {
            return;
        }
        const std::scoped_lock lock(mutex_);
        if (count_ == kept_.size()) {
            remove(0);
        }
        failure &made = kept_[count_++];
        made.error = told.error, made.rank = told.rank, made.number = told.number;
        std::snprintf(made.what, sizeof made.what, "%s", told.what);
    }
    /** @return false: there is none. */
    bool take_first(failure &taken) noexcept {
        const std::scoped_lock lock(mutex_);
        if (count_ == 0) {
            return false;
        }
        taken = kept_[0];
        remove(0);
        return true;
    }
    /** @return what the exception begins with where `call`, which waits until all is quiet, has returned `code`. */
    std::string take_text(const char *call, int code) {
        failure told;
        {
            const std::scoped_lock lock(mutex_);
            std::size_t at = 0;
            while (at < count_ && kept_[at].error != code) {
                ++at;
            }
            if (at == count_) { // the call was refused, or the options have a function of their own
                return call;
            }
            told = kept_[at];
            remove(at);
        }
        std::string text = std::string(call) + ": " + told.what;
        if (told.rank != MPI_PROC_NULL) {
            text += " (process " + std::to_string(told.rank);
            text += told.number != THENCE_AM_NO_HANDLER ? ", handler " + std::to_string(told.number) + ")" : ")";
        }
        return text;
    }

private:
    void remove(std::size_t at) noexcept {
        for (--count_; at < count_; ++at) {
            kept_[at] = kept_[at + 1];
        }
    }
    std::mutex mutex_;              // guards what follows
    std::array<failure, 4> kept_{}; // of more some were told by thence_am_quiesce() of the C API
    std::size_t count_ = 0;
};

/** An operation of an engine as a sender. `start(done, data)` begins it, and returns a code; `done` is called once if
 *  that is `MPI_SUCCESS`. `failures`: it waits until all is quiet; else null. */
template <class Start> struct am_sender {
    using sender_concept = ex::sender_t;
    const char *what;
    Start begin;
    am_failures *failures;

    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        const char *what;
        Start begin;
        am_failures *failures;
        [[no_unique_address]] R receiver;

        operation(const char *called, Start s, am_failures *kept, R r)
            : what(called), begin(static_cast<Start &&>(s)), failures(kept), receiver(static_cast<R &&>(r)) {}
        operation(operation &&) = delete;
        void start() &noexcept {
            if (const int code = begin(&done, this); code != MPI_SUCCESS) {
                complete(code);
            }
        }
        static void done(int code, void *self) { static_cast<operation *>(self)->complete(code); }
        void complete(int code) noexcept {
            if (code == MPI_SUCCESS) {
                ex::set_value(static_cast<R &&>(receiver));
            } else {
                ex::set_error(
                    static_cast<R &&>(receiver),
                    std::make_exception_ptr(error(failures != nullptr ? failures->take_text(what, code) : what, code)));
            }
        }
    };
    template <class, class...> static consteval auto get_completion_signatures() {
        return ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::exception_ptr)>();
    }
    template <ex::receiver R> auto connect(R r) const {
        return operation<R>(what, begin, failures, static_cast<R &&>(r));
    }
};
template <class Start> am_sender<Start> make_am_sender(const char *what, Start start, am_failures *failures = nullptr) {
    return {what, static_cast<Start &&>(start), failures};
}

} // namespace detail

/** @brief Owns an engine for active messages. Construction and destruction are collective; the destructor waits until
 *         all messages are handled, and async_quiesce() that is under way is complete. Where that is not possible, in a
 *         handler or on a thread that is not the communication thread, it terminates the program. */
class active_messages {
public:
    /** @param comm    an intracommunicator.
     *  @param options as of thence_am_create(). Without `failed` nothing is written when something goes wrong. The
     *  first failure since quiesce() or async_quiesce() is told by the next of these: the text of its exception has the
     *  sentence, the other process and the number of the handler. The destructor writes the first one that neither has
     *  told to standard error. Programs that call thence_am_quiesce() of the C API on get() set `failed`.
     *  @throws thence::error as thence_am_create(). */
    explicit active_messages(MPI_Comm comm, thence_am_options options = {}) {
        detail::check_mpi_is_active("thence::active_messages: created");
        if (options.failed == nullptr) {
            options.failed = &keep;
            options.failed_data = this;
        }
        check(thence_am_create(comm, &options, sizeof options, &handle_), "thence_am_create");
        rank_ = query().rank;
    }
    active_messages &operator=(active_messages &&) = delete;
    ~active_messages() {
        int finalized = 0;
        int code = MPI_ERR_OTHER;
        if (handle_ != nullptr && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) {
            code = thence_am_free(&handle_);
            if (handle_ != nullptr) { // the engine would call handlers that are destroyed now
                std::fputs("thence: active messages are destroyed where they cannot be freed: in a handler or a "
                           "callback, or on another thread than their communication thread\n",
                           stderr);
                std::terminate();
            }
        }
        if (thrown_ != nullptr) { // a destructor cannot throw it
            std::fputs("thence: a handler has thrown, and quiesce() was not called to throw that\n", stderr);
        } else if (detail::am_failures::failure left; code != MPI_SUCCESS && failures_.take_first(left)) {
            std::fprintf(stderr, "thence[%d]: active messages: %s (error %d, process %d, handler %d)\n", rank_,
                         left.what, left.error, left.rank, left.number);
        }
    }

    /** @brief Registers a handler, as thence_am_register(). If it throws, the engine goes on, and quiesce() throws that
     *         on this process.
     *  @param number  its number.
     *  @param handler called with `const am_message &`; moved in.
     *  @param flags   ::THENCE_AM_SHORT, or 0.
     *  @throws thence::error; std::bad_alloc. */
    template <class F> void on(int number, F handler, unsigned flags = 0) {
        auto made = std::make_unique<kept_handler<F>>(*this, static_cast<F &&>(handler));
        kept *const data = made.get();
        {
            const std::scoped_lock lock(mutex_);
            handlers_.push_back(std::move(made));
        }
        check(thence_am_register(handle_, number, &kept_handler<F>::call, data, flags), "thence_am_register");
    }

    /** @brief Sends a value, as thence_am_send(). A pointer or a view does not compile. @throws thence::error */
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void send(int rank, int number, const T &value) const {
        static_assert(detail::am_is_value<T>, "send: this is a pointer or a view: pass std::span(pointer, count)");
        check(thence_am_send(handle_, rank, number, &value, sizeof value), "thence_am_send");
    }
    /** @brief Sends some values, as thence_am_send(). @throws thence::error */
    template <class T, std::size_t N> void send(int rank, int number, std::span<T, N> values) const {
        static_assert(std::is_trivially_copyable_v<T>, "send: the elements cannot be copied as bytes");
        check(thence_am_send(handle_, rank, number, values.data(), values.size_bytes()), "thence_am_send");
    }
    /** @brief Sends no payload. @throws thence::error */
    void send(int rank, int number) const {
        check(thence_am_send(handle_, rank, number, nullptr, 0), "thence_am_send");
    }

    /** @return a sender that sends a value, which it keeps, and completes with set_value_t() when the message has left.
     *          */
    template <class T>
    requires std::is_trivially_copyable_v<T>
    auto async_send(int rank, int number, const T &value) const {
        static_assert(detail::am_is_value<T>,
                      "async_send: this is a pointer or a view: pass std::span(pointer, count)");
        return detail::make_am_sender("thence_am_send_then", [=, am = handle_](thence_am_done *done, void *data) {
            return thence_am_send_then(am, rank, number, &value, sizeof value, done, data);
        });
    }
    /** @return the same for some values, which exist until it is started. */
    template <class T, std::size_t N> auto async_send(int rank, int number, std::span<T, N> values) const {
        static_assert(std::is_trivially_copyable_v<T>, "async_send: the elements cannot be copied as bytes");
        return detail::make_am_sender("thence_am_send_then", [=, am = handle_](thence_am_done *done, void *data) {
            return thence_am_send_then(am, rank, number, values.data(), values.size_bytes(), done, data);
        });
    }

    /** @brief Registers memory for puts and gets of others, as thence_am_memory_register(). @throws thence::error */
    template <class T, std::size_t N> thence_am_memory share(std::span<T, N> memory) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "share: the elements cannot be written as bytes");
        thence_am_memory made{};
        check(thence_am_memory_register(handle_, memory.data(), memory.size_bytes(), &made),
              "thence_am_memory_register");
        return made;
    }
    /** @brief As thence_am_memory_forget(). @throws thence::error */
    void unshare(const thence_am_memory &memory) const {
        check(thence_am_memory_forget(handle_, &memory), "thence_am_memory_forget");
    }
    /** @return a sender that puts data without calling a handler, and completes with set_value_t() when the source may
     *          be written again.
     *  @param from   exists until then.
     *  @param to     memory of the target.
     *  @param offset in bytes. */
    template <class T, std::size_t N>
    auto async_put(std::span<T, N> from, const thence_am_memory &to, std::size_t offset) const {
        static_assert(std::is_trivially_copyable_v<T>, "async_put: the elements cannot be copied as bytes");
        return detail::make_am_sender("thence_am_put", [=, am = handle_](thence_am_done *done, void *data) {
            return thence_am_put(am, from.data(), from.size_bytes(), &to, offset, THENCE_AM_NO_HANDLER, nullptr, 0,
                                 done, data);
        });
    }
    /** @return the same, and it calls a handler at the target with `payload`. */
    template <class T, std::size_t N, class P>
    requires std::is_trivially_copyable_v<P>
    auto async_put(std::span<T, N> from, const thence_am_memory &to, std::size_t offset, int number,
                   const P &payload) const {
        static_assert(detail::am_is_value<P>, "async_put: the payload is a pointer or a view: pass a value");
        static_assert(std::is_trivially_copyable_v<T>, "async_put: the elements cannot be copied as bytes");
        return detail::make_am_sender("thence_am_put", [=, am = handle_](thence_am_done *done, void *data) {
            return thence_am_put(am, from.data(), from.size_bytes(), &to, offset, number, &payload, sizeof payload,
                                 done, data);
        });
    }
    /** @return a sender that gets data, and completes with set_value_t() when they are here. */
    template <class T, std::size_t N>
    auto async_get(std::span<T, N> to, const thence_am_memory &from, std::size_t offset) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "async_get: the elements cannot be written as bytes");
        return detail::make_am_sender("thence_am_get", [=, am = handle_](thence_am_done *done, void *data) {
            return thence_am_get(am, to.data(), to.size_bytes(), &from, offset, done, data);
        });
    }
    /** @return a sender that completes with set_value_t() when all is quiet, as thence_am_quiesce_then(). Its error
     *          says what has gone wrong first since the last call, as that of quiesce(). What a handler has thrown is
     *          thrown by quiesce() only. */
    auto async_quiesce() const {
        return detail::make_am_sender(
            "thence_am_quiesce_then",
            [am = handle_](thence_am_done *done, void *data) { return thence_am_quiesce_then(am, done, data); },
            &failures_);
    }

    /** @brief As thence_am_progress(). @return how much was handled. @throws thence::error */
    long progress() const {
        long count = 0;
        check(thence_am_progress(handle_, &count), "thence_am_progress");
        return count;
    }
    /** @brief Makes progress until `condition()` is true. @throws thence::error; what `condition` throws. */
    template <class Condition> void progress_until(Condition &&condition) const {
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        while (!condition()) {
            if (progress() > 0) {
                thence_backoff_found(&backoff);
            } else if (!condition()) {
                thence_backoff_pause(&backoff);
            }
        }
    }
    /** @brief As thence_am_quiesce().
     *  @throws what a handler has thrown in this process since the last call, if any has. @throws thence::error, whose
     *          text says what has gone wrong first since the last call, unless the options have a function `failed`. */
    void quiesce() {
        const int code = thence_am_quiesce(handle_);
        const std::string what = code != MPI_SUCCESS ? failures_.take_text("thence_am_quiesce", code) : std::string();
        std::exception_ptr thrown;
        {
            const std::scoped_lock lock(mutex_);
            thrown = std::exchange(thrown_, nullptr);
        }
        if (thrown != nullptr) {
            std::rethrow_exception(thrown);
        }
        if (code != MPI_SUCCESS) {
            throw error(what, code);
        }
    }
    /** @return what the engine does. */
    thence_am_info query() const {
        thence_am_info info{};
        check(thence_am_query(handle_, &info, sizeof info), "thence_am_query");
        return info;
    }
    /** @return the engine, for the C API. */
    thence_am get() const noexcept { return handle_; }

private:
    struct kept {
        virtual ~kept() = default;
    };
    template <class F> struct kept_handler : kept {
        active_messages &owner;
        F function;
        kept_handler(active_messages &o, F f) : owner(o), function(static_cast<F &&>(f)) {}
        static int call(const thence_am_message *message, void *data) noexcept {
            auto &self = *static_cast<kept_handler *>(static_cast<kept *>(data));
            try {
                self.function(am_message(*message));
                return MPI_SUCCESS;
            } catch (...) {
                const std::scoped_lock lock(self.owner.mutex_);
                if (self.owner.thrown_ == nullptr) {
                    self.owner.thrown_ = std::current_exception();
                }
                return MPI_ERR_OTHER;
            }
        }
    };

    // What goes wrong, where the options have no function for that.
    static void keep(const thence_am_failure *failure, void *data) noexcept {
        static_cast<active_messages *>(data)->failures_.add(*failure);
    }

    thence_am handle_ = nullptr;
    int rank_ = 0;
    std::mutex mutex_; // guards these
    std::vector<std::unique_ptr<kept>> handlers_;
    std::exception_ptr thrown_;            // by a handler, since the last quiesce(): the first
    mutable detail::am_failures failures_; // none if the options have a function for that
};

/** @brief While it exists, its process has work that may still send (thence_am_hold()): copy one into a task. */
class am_hold {
public:
    explicit am_hold(const active_messages &am) : am_(am.get()) { check(thence_am_hold(am_), "thence_am_hold"); }
    am_hold(const am_hold &other) : am_(other.am_) {
        if (am_ != nullptr) {
            check(thence_am_hold(am_), "thence_am_hold");
        }
    }
    am_hold(am_hold &&other) noexcept : am_(std::exchange(other.am_, nullptr)) {}
    am_hold &operator=(am_hold other) noexcept {
        std::swap(am_, other.am_);
        return *this;
    }
    ~am_hold() {
        if (am_ != nullptr) {
            thence_am_release(am_);
        }
    }

private:
    thence_am am_;
};

} // namespace thence
