// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_MUTEX_HPP
#define THENCE_SENDERS_DETAIL_MUTEX_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/mutex.hpp needs C++20: compile with -std=c++20"
#else

// A mutex for objects that live as long as the program, and its guard. It has no destructor, so it can be used until
// the very end. POSIX's: with GCC 12 <mutex> takes longer to compile than all of the senders.

#include <pthread.h>

#include <thence/detail/atomic.hpp>

namespace thence::detail {

class static_mutex {
public:
    constexpr static_mutex() = default;
    static_mutex(const static_mutex &) = delete;
    static_mutex &operator=(const static_mutex &) = delete;

    void lock() noexcept { ::pthread_mutex_lock(&native_); }
    void unlock() noexcept { ::pthread_mutex_unlock(&native_); }

private:
    pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
};

} // namespace thence::detail

#endif // C++20
#endif
