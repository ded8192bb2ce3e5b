// SPDX-License-Identifier: BSD-3-Clause
// The threads that GPI-2 offers to programs: a number for each, and a barrier of all.
#include "onesided/gaspi/process.hpp"

#include <GASPI_Threads.h>

#include <thence/detail/start_thread.hpp>

#include <atomic>
#include <condition_variable>
#include <list>
#include <thread>
#include <unistd.h>

namespace thence::gaspi {

namespace {

std::mutex threads_mutex; // guards these
// Never destroyed: the destructor waits for the threads that wait there, and would for ever in exit().
std::condition_variable &all_here = *new std::condition_variable;
int total = 0; // 0: not begun
int registered = 0;
int waiting = 0;
unsigned long barrier_generation = 0;
struct running {
    std::thread thread;
};
using threads = std::list<running>;
threads &started() noexcept {
    static auto *const all = new threads;
    return *all;
}
std::atomic<int> generation{1}; // from an initialization to its end; changed under the mutex
thread_local int own_number = 0;
thread_local int own_generation = 0; // in which this thread got its number

int processors() noexcept {
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

} // namespace

} // namespace thence::gaspi

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t gaspi_threads_init_user(const unsigned int num_threads) {
    const std::scoped_lock guard(threads_mutex);
    if (total != 0) {
        return GASPI_ERR_INITED;
    }
    if (num_threads == 0) {
        return GASPI_ERR_INV_NUM;
    }
    total = static_cast<int>(num_threads);
    registered = 0;
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_threads_init(gaspi_int *num) {
    THENCE_GASPI_NOT_NULL(num);
    THENCE_GASPI_CHECK(gaspi_threads_init_user(static_cast<unsigned>(processors())));
    *num = processors();
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_threads_run(void (*function)(void *), void *arg) {
    THENCE_GASPI_NOT_NULL(function);
    const std::scoped_lock guard(threads_mutex);
    if (total == 0) {
        return GASPI_ERR_NOINIT;
    }
    try {
        started().push_back({detail::start_thread([=] { function(arg); })});
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERROR;
    }
}

gaspi_return_t gaspi_threads_register(gaspi_int *tid) {
    THENCE_GASPI_NOT_NULL(tid);
    const std::scoped_lock guard(threads_mutex);
    if (total == 0) {
        return GASPI_ERR_NOINIT;
    }
    if (own_generation != generation.load()) {
        own_number = registered++;
        own_generation = generation.load();
    }
    *tid = own_number;
    return GASPI_SUCCESS;
}

void gaspi_threads_sync(void) {
    std::unique_lock guard(threads_mutex);
    if (++waiting >= total) {
        waiting = 0;
        ++barrier_generation;
        all_here.notify_all();
        return;
    }
    all_here.wait(guard, [before = barrier_generation] { return barrier_generation != before; });
}

gaspi_return_t gaspi_threads_term(void) {
    threads ending;
    {
        const std::scoped_lock guard(threads_mutex);
        if (total == 0) {
            return GASPI_ERR_NOINIT;
        }
        ending.swap(started());
    }
    for (running &each : ending) {
        each.thread.join();
    }
    const std::scoped_lock guard(threads_mutex);
    total = 0;
    generation.fetch_add(1);
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_threads_get_tid(gaspi_int *tid) {
    THENCE_GASPI_NOT_NULL(tid);
    if (own_generation != generation.load()) {
        return GASPI_ERROR;
    }
    *tid = own_number;
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_threads_get_total(gaspi_int *num) {
    THENCE_GASPI_NOT_NULL(num);
    const std::scoped_lock guard(threads_mutex);
    *num = total;
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_threads_get_num_cores(gaspi_int *cores) {
    THENCE_GASPI_NOT_NULL(cores);
    *cores = processors();
    return GASPI_SUCCESS;
}

} // extern "C"
