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
    explicit offload_continuations(const offload_settings &settings)
        : messages_(settings.any_thread), results_(settings.any_thread) {}

    // `done` is called once, after all are complete, on any thread; never inside of this call. `persistent`: all are.
    int attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        return thence_attach(count, requests, done, data, persistent ? THENCE_PERSISTENT : 0, statuses, messages_.cr,
                             nullptr);
    }
    // The same for receives of results.
    int attach_results(int count, MPI_Request requests[], thence_callback *done, void *data) {
        return thence_attach(count, requests, done, data, 0, MPI_STATUSES_IGNORE, results_.cr, nullptr);
    }
    // Asks MPI to cancel those. Their callbacks are called all the same.
    void cancel_results() { thence_cancel(&results_.cr); }
    void poll() {
        long ran = 0;
        thence_progress_some(&ran);
    }
    // Waits until all callbacks have run.
    void finish() {
        thence_wait(&messages_.cr, MPI_STATUS_IGNORE);
        thence_wait(&results_.cr, MPI_STATUS_IGNORE);
    }

private:
    struct continuation_request {
        explicit continuation_request(bool any_thread) {
            MPI_Info info = MPI_INFO_NULL;
            if (any_thread) { // a hint, unlike the flag
                MPI_Info_create(&info);
                MPI_Info_set(info, "mpi_continue_thread", "any");
            }
            const int code = thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, info, &cr);
            if (info != MPI_INFO_NULL) {
                MPI_Info_free(&info);
            }
            if (code != MPI_SUCCESS) {
                throw error("thence_cr_create", code);
            }
        }
        continuation_request &operator=(continuation_request &&) = delete;
        ~continuation_request() { thence_free(&cr); }

        MPI_Request cr = MPI_REQUEST_NULL;
    };

    continuation_request messages_, results_;
};

} // namespace thence::detail
