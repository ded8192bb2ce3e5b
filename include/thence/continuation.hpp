// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_CONTINUATION_HPP
#define THENCE_CONTINUATION_HPP

/** @file continuation.hpp
 *  @brief What every C++ adapter needs: the exception `thence::error`, an owner of a continuation request, and
 *         progress until a condition holds. C++20.
 *
 *  Errors: nothing here or in the adapters throws out of a callback; an error of an operation reaches the one who
 *  waits for it, with MPI's code, class, text and the statuses. The communicators need `MPI_ERRORS_RETURN` for
 *  that, else MPI ends the program itself. */

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <thence/thence.h>

namespace thence {

/** @brief An MPI error as an exception. Copies share the statuses and do not throw. */
class error : public std::runtime_error {
public:
    /** @param what_failed what was being done, at the start of what().
     *  @param code        the MPI error code.
     *  @param statuses    the statuses of all operations waited for together, or empty. */
    explicit error(const std::string &what_failed, int code, std::vector<MPI_Status> statuses = {})
        : std::runtime_error(what_failed + ": " + text(code)), code_(code), class_(code),
          statuses_(std::make_shared<const std::vector<MPI_Status>>(std::move(statuses))) {
        if (MPI_Error_class(code, &class_) != MPI_SUCCESS)
            class_ = MPI_ERR_UNKNOWN;
    }
    /** @return the MPI error code of the first failed operation. */
    int code() const noexcept { return code_; }
    /** @return its error class, such as `MPI_ERR_TRUNCATE`. */
    int error_class() const noexcept { return class_; }
    /** @return the statuses of all operations of the group in its order, `MPI_ERROR` set; empty if no operation was
     *          involved. */
    std::span<const MPI_Status> statuses() const noexcept { return *statuses_; }

private:
    static std::string text(int code) {
        std::string text(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS)
            return "MPI error " + std::to_string(code);
        text.resize(static_cast<std::size_t>(length));
        return text;
    }
    int code_;
    int class_;
    std::shared_ptr<const std::vector<MPI_Status>> statuses_;
};

/** @brief Throw thence::error unless `code` is `MPI_SUCCESS`. */
inline void check(int code, const char *what_failed) {
    if (code != MPI_SUCCESS)
        throw error(what_failed, code);
}

/** @brief Owns a continuation request. Converts to `MPI_Request` wherever one is expected. Movable. The destructor
 *         frees it: continuations registered with it still run (thence_free()). */
class continuation_request {
public:
    /** As thence_cr_create(). @throws thence::error */
    explicit continuation_request(unsigned flags = 0, int max_poll = -1, MPI_Info info = MPI_INFO_NULL) {
        check(thence_cr_create(flags, max_poll, info, &cr_), "create a continuation request");
    }
    continuation_request(continuation_request &&other) noexcept : cr_(std::exchange(other.cr_, MPI_REQUEST_NULL)) {}
    continuation_request &operator=(continuation_request &&other) noexcept {
        std::swap(cr_, other.cr_);
        return *this;
    }
    ~continuation_request() {
        int finalized = 0;
        if (cr_ != MPI_REQUEST_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
            thence_free(&cr_);
    }
    MPI_Request get() const noexcept { return cr_; }
    operator MPI_Request() const noexcept { return cr_; }

    /** @return true when no continuation is registered any more; as thence_test(). One thread at a time.
     *  @throws thence::error */
    bool test() {
        int flag = 0;
        check(thence_test(&cr_, &flag, MPI_STATUS_IGNORE), "test a continuation request");
        return flag != 0;
    }
    /** Wait until no continuation is registered; as thence_wait(). One thread at a time. @throws thence::error */
    void wait() { check(thence_wait(&cr_, MPI_STATUS_IGNORE), "wait for a continuation request"); }

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

namespace detail {

/** How long to pause between polls that found nothing: first only yields, then sleeps of up to 64 microseconds, so
 *  that a waiting thread leaves the core to those that compute. */
class backoff {
public:
    /** @return how long to sleep before the next poll; zero: only yield. */
    std::chrono::microseconds next() noexcept {
        if (polls_ < yields + 6)
            ++polls_;
        return std::chrono::microseconds(polls_ <= yields ? 0 : 1 << (polls_ - yields));
    }
    void pause() {
        if (const auto time = next(); time.count() > 0)
            std::this_thread::sleep_for(time);
        else
            std::this_thread::yield();
    }
    void reset() noexcept { polls_ = 0; }

private:
    static constexpr int yields = 200;
    int polls_ = 0;
};

/** Attach `callback` to all of `requests`, so that it runs for a failure too.
 *  @return true if all are complete already, then `error` is what thence_attach() returned; false if `callback`
 *          will run.
 *  @throws thence::error if nothing could be attached; nothing has changed then. */
inline bool attach(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr, thence_callback *callback,
                   void *data, int &error) {
    int flag = 0;
    error = MPI_SUCCESS;
    if (requests.empty())
        return true;
    const int rc = thence_attach(static_cast<int>(requests.size()), requests.data(), callback, data,
                                 THENCE_INVOKE_FAILED, statuses, cr, &flag);
    if (flag == 0) {
        check(rc, "attach a continuation");
        return false;
    }
    error = rc;
    return true;
}

/** The error of the first failed operation, where `reported` may be `MPI_ERR_IN_STATUS`. */
inline int first_error(int reported, std::span<const MPI_Status> statuses) noexcept {
    if (reported != MPI_SUCCESS)
        for (const MPI_Status &status : statuses)
            if (status.MPI_ERROR != MPI_SUCCESS)
                return status.MPI_ERROR;
    return reported;
}

/** The two forms of every blocking call. `wait(requests, statuses)` blocks until all are complete and returns the
 *  reported error. */
template <class Wait> MPI_Status complete(MPI_Request &request, const char *what, Wait &&wait) {
    MPI_Status status{};
    if (const int code = wait(std::span<MPI_Request>(&request, 1), &status); code != MPI_SUCCESS)
        throw error(what, code, {status});
    return status;
}
template <class Wait> std::vector<MPI_Status> complete(std::span<MPI_Request> requests, const char *what, Wait &&wait) {
    std::vector<MPI_Status> statuses(requests.size());
    if (const int code = wait(requests, statuses.data()); code != MPI_SUCCESS)
        throw error(what, first_error(code, statuses), statuses); // moved, it might be empty before it is looked at
    return statuses;
}

} // namespace detail

/** @brief Make progress on the calling thread until `condition()` is true.
 *  @param condition called between polls; something that a continuation or another thread makes true.
 *  @throws thence::error if MPI reports an error from progress; what `condition` throws.
 *  @note Threads: any number at once. In a callback no continuation runs on this thread, so there it returns only
 *        if another thread makes the condition true. Continuations of a poll-only CR do not run: test that CR in
 *        `condition`.
 *  @note Source: paper section 3.4: the application has to call into MPI. */
template <class Condition> void progress_until(Condition &&condition) {
    detail::backoff backoff;
    while (!condition()) {
        check(thence_progress(), "make progress");
        if (condition())
            return;
        backoff.pause();
    }
}

} // namespace thence

#endif
