// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file continuations.hpp
 *  @brief How thence/offload.hpp learns that groups of messages are complete: a continuation for each group. */

#include <thence/error.hpp>
#include <thence/offload/settings.hpp>
#include <thence/thence.h>

namespace thence::detail {

class offload_continuations {
public:
    explicit offload_continuations(const offload_settings &settings) {
        MPI_Info info = MPI_INFO_NULL;
        if (settings.any_thread) { // a hint, unlike the flag
            MPI_Info_create(&info);
            MPI_Info_set(info, "mpi_continue_thread", "any");
        }
        const int code = thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, info, &cr_);
        if (info != MPI_INFO_NULL) {
            MPI_Info_free(&info);
        }
        if (code != MPI_SUCCESS) {
            throw error("thence_cr_create", code);
        }
    }
    offload_continuations &operator=(offload_continuations &&) = delete;
    ~offload_continuations() { thence_free(&cr_); }

    // `done` is called once, after all are complete, on any thread; never inside of this call. `persistent`: all are.
    int attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        return thence_attach(count, requests, done, data, persistent ? THENCE_PERSISTENT : 0, statuses, cr_, nullptr);
    }
    void poll() {
        long ran = 0;
        thence_progress_some(&ran);
    }
    // Waits until all callbacks have run.
    void finish() { thence_wait(&cr_, MPI_STATUS_IGNORE); }

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

} // namespace thence::detail
