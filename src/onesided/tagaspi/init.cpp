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
constinit std::atomic<long> lowering{0};
thread_local constinit long lowering_here = 0;

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

void free_requests() noexcept {
    if (thence_is_cr(requests_of_tasks) != 0) { // else MPI has ended, and it with it
        thence_free(&requests_of_tasks);
    }
}

// Whether it is so in all processes.
bool everywhere(bool own) noexcept {
    int mine = own ? 1 : 0;
    int all = 0;
    return gaspi_allreduce(&mine, &all, 1, GASPI_OP_MIN, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK) ==
               GASPI_SUCCESS &&
           all != 0;
}

bool any_is_gone(gaspi::process &self) noexcept {
    for (int i = 0; i < self.size; ++i) {
        if (self.world->is_gone(i)) {
            return true;
        }
    }
    return false;
}

} // namespace

} // namespace thence::tagaspi

using namespace thence::gaspi;
using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_proc_init(gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_CHECK(gaspi_proc_init(timeout_ms));
    THENCE_GASPI_SELF();
    const bool threads = has_threads();
    if (!everywhere(threads && begin())) { // so in all processes, which end it together
        free_requests();
        gaspi_proc_term(GASPI_BLOCK);
        return threads ? GASPI_ERROR : GASPI_ERR_ENV;
    }
    thence_task_runtimes_use_();
    self.world->set_hopeless(&fail_lost_operations);
    running.store(true, std::memory_order_release);
    return GASPI_SUCCESS;
}

gaspi_return_t tagaspi_proc_term(gaspi_timeout_t timeout_ms) {
    THENCE_TAGASPI_SELF();
    const deadline end(timeout_ms);
    // Where a rank is gone, what it would have notified never comes, and the end of GASPI fails.
    if (!wait_until(self, end, [&] { return outstanding.load(std::memory_order_acquire) == 0 || any_is_gone(self); })) {
        return GASPI_TIMEOUT;
    }
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (lowering.load(std::memory_order_acquire) > lowering_here) { // the program may remove its runtime afterwards
        thence_backoff_pause(&backoff);
    }
    if (const gaspi_return_t code = gaspi_proc_term(end.left()); code != GASPI_SUCCESS) {
        return code; // nothing has ended
    }
    running.store(false, std::memory_order_release);
    thence_task_runtimes_release_();
    forget_queue_groups();
    free_requests();
    return GASPI_SUCCESS;
}

} // extern "C"
