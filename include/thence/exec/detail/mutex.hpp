// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A mutex and a condition variable over those of POSIX: <mutex> and <condition_variable> take longer to compile than
// all of thence/exec.

#include <pthread.h>

#include <thence/exec/detail/atomic.hpp>

namespace thence::exec::detail {

class mutex {
public:
    mutex &operator=(mutex &&) = delete;
    ~mutex() { ::pthread_mutex_destroy(&native_); }

    void lock() noexcept { ::pthread_mutex_lock(&native_); }
    void unlock() noexcept { ::pthread_mutex_unlock(&native_); }

private:
    friend class condition;
    pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
};

class condition {
public:
    condition &operator=(condition &&) = delete;
    ~condition() { ::pthread_cond_destroy(&native_); }

    /** The caller holds `m`. It may wake up without a notification. */
    void wait(mutex &m) noexcept { ::pthread_cond_wait(&native_, &m.native_); }
    void notify_one() noexcept { ::pthread_cond_signal(&native_); }
    void notify_all() noexcept { ::pthread_cond_broadcast(&native_); }

private:
    pthread_cond_t native_ = PTHREAD_COND_INITIALIZER;
};

} // namespace thence::exec::detail
