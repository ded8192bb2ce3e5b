// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file errors.hpp
 *  @brief The first error of thence/offload.hpp on a rank, and how it reaches the other ranks. */

#include <mutex>
#include <new>
#include <utility>

#include <mpi.h>

#include <thence/detail/send_alone.hpp>
#include <thence/error.hpp>

namespace thence::detail {

struct offload_head { // the first message of a task
    int type, id;     // `id`: of the slot; the tags of its messages are made of it
};
// In place of a task: the sender goes on no more.
inline constexpr offload_head offload_broken_off{-1, 0};
// The same, of a rank to itself: a receive ends.
inline constexpr offload_head offload_ends_receive{-2, 0};

class offload_errors {
public:
    // The first one.
    int code() {
        const std::scoped_lock guard(lock_);
        return code_;
    }
    // In callbacks, which must not throw. @return whether `code` is no error.
    bool good(int code) {
        if (code == MPI_SUCCESS) {
            return true;
        }
        const std::scoped_lock guard(lock_);
        code_ = code_ == MPI_SUCCESS ? code : code_;
        return false;
    }
    // In the callback of messages that ended with `code`: calls `body` if that is no error.
    template <class Body> int in_callback_of(int code, Body body) {
        try {
            if (good(code)) {
                body();
            }
        } catch (const error &failed) {
            good(failed.code());
        } catch (const std::bad_alloc &) {
            good(MPI_ERR_NO_MEM);
        }
        return MPI_SUCCESS;
    }
    // What fails in `call` is kept: other threads and the other ranks get an error, too.
    template <class Call> void kept(MPI_Comm comm, Call call) {
        try {
            call();
        } catch (const error &failed) {
            good(failed.code());
            tell(comm);
            throw;
        } catch (const std::bad_alloc &) {
            good(MPI_ERR_NO_MEM);
            tell(comm);
            throw;
        }
    }
    // Tells the other ranks, which may wait for this one, once.
    void tell(MPI_Comm comm) {
        {
            const std::scoped_lock guard(lock_);
            if (std::exchange(is_told_, true)) {
                return;
            }
        }
        int size = 0, mine = 0;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &mine);
        for (int rank = 0; rank < size; ++rank) {
            if (rank != mine) {
                send_alone(&offload_broken_off, sizeof(offload_head), rank, 0, comm);
            }
        }
    }

private:
    std::mutex lock_; // guards what follows. MPI is not called under it
    int code_ = MPI_SUCCESS;
    bool is_told_ = false;
};

} // namespace thence::detail
