// SPDX-License-Identifier: BSD-3-Clause
// tagaspi_proc_init() and tagaspi_proc_term().
#include "onesided/tagaspi/tagaspi.hpp"

#include <TAGASPI.h>
#include <thence/thence.h>

#include <cstdio>

namespace thence::tagaspi {

MPI_Request requests_of_tasks = MPI_REQUEST_NULL;
constinit std::atomic<bool> running{false};
constinit std::atomic<long> outstanding{0};

namespace {

// Workers call MPI, so each thread must be allowed to.
bool has_threads() noexcept {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        std::fputs("thence: tagaspi_proc_init: MPI was initialized below MPI_THREAD_MULTIPLE, and tasks run on several "
                   "threads: ask MPI_Init_thread for that level, or leave the initialization to tagaspi_proc_init\n",
                   stderr);
        return false;
    }
    return true;
}

bool begin() noexcept {
    thence_info info{};
    return thence_query(&info, sizeof info) == MPI_SUCCESS &&
           thence_cr_create(info.any_thread != 0 ? unsigned{THENCE_CR_ANY_THREAD} : 0U, -1, MPI_INFO_NULL,
                            &requests_of_tasks) == MPI_SUCCESS;
}

} // namespace

} // namespace thence::tagaspi

using namespace thence::gaspi;
using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_proc_init(const gaspi_timeout_t timeout_ms) {
    int is_there = 0;
    MPI_Initialized(&is_there);
    if (is_there != 0 && !has_threads()) {
        return GASPI_ERR_ENV;
    }
    THENCE_GASPI_CHECK(gaspi_proc_init(timeout_ms));
    if ((is_there == 0 && !has_threads()) || !begin()) {
        gaspi_proc_term(timeout_ms);
        return is_there == 0 ? GASPI_ERR_ENV : GASPI_ERROR;
    }
    thence_task_runtimes_use_();
    running.store(true, std::memory_order_release);
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_proc_term(const gaspi_timeout_t timeout_ms) {
    THENCE_TAGASPI_SELF();
    const deadline end(timeout_ms);
    if (!wait_until(self, end, [] { return outstanding.load(std::memory_order_acquire) == 0; })) {
        return GASPI_TIMEOUT;
    }
    const gaspi_return_t code = gaspi_proc_term(timeout_ms);
    if (code == GASPI_TIMEOUT) {
        return code;
    }
    running.store(false, std::memory_order_release);
    thence_task_runtimes_release_();
    forget_queue_groups();
    if (thence_is_cr(requests_of_tasks) != 0) { // else MPI has ended, and it with it
        thence_free(&requests_of_tasks);
    }
    return code;
}

} // extern "C"
