// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_CONTINUATION_REQUESTS_HPP
#define THENCE_SENDERS_DETAIL_CONTINUATION_REQUESTS_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/continuation_requests.hpp needs C++20: compile with -std=c++20"
#else

// The continuation requests of the senders: one for all operations of the process that nobody can stop, one for those
// of them that may end in MPI's own completion, and one for each that somebody can stop, since a stop request cancels
// what is registered with a continuation request (thence_cancel).
//
// Invariant: a lent continuation request has one operation at most that is not complete. It is given back when the
// operation's callback runs and no stop request is at work any more, so a late cancel never meets the next operation.

#include <new>

#include <thence/senders/detail/mutex.hpp>
#include <thence/thence.h>

namespace thence::detail {

/** A continuation request that is lent to one operation at a time. */
struct lent_request {
    MPI_Request cr;
    lent_request *next;
};

/** Made at first use; freed by MPI_Finalize, which deletes the attributes of MPI_COMM_SELF first. */
class continuation_requests {
public:
    /** @return MPI's error code where the first use fails, else MPI_SUCCESS. */
    int make() noexcept {
        if (!ready_.load(order::acquire)) [[unlikely]]
            return set_up();
        return MPI_SUCCESS;
    }
    /** After make(). */
    MPI_Request shared() const noexcept { return shared_; }
    MPI_Request shared_in_completion() const noexcept { return shared_in_completion_; }
    int lend(lent_request *&lent) noexcept {
        if (const int code = make(); code != MPI_SUCCESS)
            return code;
        {
            const locked lock(mutex_);
            if (free_ != nullptr) {
                lent = free_;
                free_ = lent->next;
                return MPI_SUCCESS;
            }
        }
        auto *made = new (std::nothrow) lent_request{};
        if (made == nullptr)
            return MPI_ERR_NO_MEM;
        if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &made->cr); code != MPI_SUCCESS) {
            delete made;
            return code;
        }
        lent = made;
        return MPI_SUCCESS;
    }
    void give_back(lent_request *lent) noexcept {
        const locked lock(mutex_);
        lent->next = free_;
        free_ = lent;
    }
    /** What MPI_Finalize does. */
    void release() noexcept {
        const locked lock(mutex_);
        if (!ready_.exchange(false))
            return;
        free_if_live(shared_);
        free_if_live(shared_in_completion_);
        while (free_ != nullptr) {
            lent_request *gone = free_;
            free_ = gone->next;
            free_if_live(gone->cr);
            delete gone;
        }
    }

private:
    [[gnu::noinline]] int set_up() noexcept {
        const locked lock(mutex_);
        if (ready_.load(order::relaxed))
            return MPI_SUCCESS;
        if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &shared_); code != MPI_SUCCESS)
            return code;
        if (const int code = thence_cr_create(THENCE_CR_IN_COMPLETION, -1, MPI_INFO_NULL, &shared_in_completion_);
            code != MPI_SUCCESS) {
            thence_free(&shared_);
            return code;
        }
        int keyval = MPI_KEYVAL_INVALID;
        if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr) == MPI_SUCCESS) {
            MPI_Comm_set_attr(MPI_COMM_SELF, keyval, this);
            MPI_Comm_free_keyval(&keyval); // goes with the attribute
        }
        ready_.store(true, order::release);
        return MPI_SUCCESS;
    }
    static int at_finalize(MPI_Comm, int, void *self, void *) noexcept {
        static_cast<continuation_requests *>(self)->release();
        return MPI_SUCCESS;
    }
    // Where the library goes first, its continuation requests are gone already.
    static void free_if_live(MPI_Request cr) noexcept {
        if (thence_is_cr(cr))
            thence_free(&cr);
    }

    atomic<bool> ready_{false};
    MPI_Request shared_{}; // valid while ready_
    MPI_Request shared_in_completion_{};
    static_mutex mutex_;
    lent_request *free_ = nullptr;
};

inline constinit continuation_requests sender_requests;

/** In how many completions of senders this thread is. They nest: a poll may let MPI's progress run callbacks of others.
 *  In any of them it must not wait (see sync_wait). */
inline constinit thread_local unsigned completing = 0;

struct completing_scope {
    completing_scope() noexcept { ++completing; }
    ~completing_scope() { --completing; }
    completing_scope(const completing_scope &) = delete;
    completing_scope &operator=(const completing_scope &) = delete;
};

} // namespace thence::detail

#endif // C++20
#endif
