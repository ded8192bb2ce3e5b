// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The one place that starts threads of the library.
//
// A signal for the process is delivered on any thread that does not block it. A program that blocks one in its own
// threads, to take it with `sigwait` or `signalfd` in one of them, would lose it to ours. So our threads block all
// signals but those that a fault of the thread itself raises: a handler that prints where a callback crashed still
// runs.

#include <thence/detail/cxx20.hpp>

#include <csignal>
#include <initializer_list>
#include <pthread.h>
#include <thread>
#include <utility>

namespace thence::detail {

/// Blocks the signals of the program on this thread. @return what was blocked before.
inline sigset_t block_signals() noexcept {
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&blocked, own);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    return before;
}

/// Blocks them for a scope. Threads that are started meanwhile inherit that.
class signals_blocked {
public:
    signals_blocked() noexcept : before_(block_signals()) {}
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked &operator=(signals_blocked &&) = delete;

private:
    sigset_t before_;
};

/// @throws std::system_error if the system refuses one more thread.
template <class Function> std::thread start_thread(Function &&function) {
    const signals_blocked inherited;
    return std::thread(std::forward<Function>(function));
}

/// Workers of oneTBB are its threads, but they start because our arena has work. `Observer` is
/// `tbb::task_scheduler_observer`. A worker that has been in the arena keeps the signals blocked, since it sleeps
/// outside of it.
template <class Observer> class workers_without_signals : public Observer {
public:
    template <class Arena> explicit workers_without_signals(Arena &arena) : Observer(arena) { this->observe(true); }
    ~workers_without_signals() override { this->observe(false); }
    workers_without_signals &operator=(workers_without_signals &&) = delete;

    void on_scheduler_entry(bool is_worker) override {
        if (is_worker) {
            block_signals();
        }
    }
};

} // namespace thence::detail
