// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/watch.hpp"

#include "continuation/request.hpp"
#include "diagnose/lane.hpp"
#include "diagnose/report.hpp"
#include "diagnose/self.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace thence::diagnose {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string seconds(clock::duration time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
    return text;
}

// Decides when to report, from what it is shown.
class stall_clock {
public:
    explicit stall_clock(milliseconds patience) noexcept : patience_(patience) {}

    enum class verdict { fine, stalled, goes_on };

    verdict look(std::uint64_t completed, long outstanding, clock::time_point now) noexcept {
        if (completed != completed_ || outstanding == 0) {
            const bool was_stalled = reports_ != 0;
            stalled_for_ = now - since_;
            completed_ = completed;
            since_ = now;
            due_ = patience_;
            reports_ = 0;
            return was_stalled ? verdict::goes_on : verdict::fine;
        }
        stalled_for_ = now - since_;
        if (stalled_for_ < due_) {
            return verdict::fine;
        }
        due_ = 2 * due_;
        ++reports_;
        return verdict::stalled;
    }
    clock::duration stalled_for() const noexcept { return stalled_for_; }

private:
    const milliseconds patience_;
    clock::duration due_ = patience_;
    clock::time_point since_ = clock::now();
    clock::duration stalled_for_{};
    std::uint64_t completed_ = 0;
    unsigned reports_ = 0;
};

class watcher {
public:
    explicit watcher(milliseconds patience) : patience_(patience), thread_([this] { run(); }) {}
    ~watcher() {
        {
            std::scoped_lock guard(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    watcher(const watcher &) = delete;
    watcher &operator=(const watcher &) = delete;

private:
    void run() {
        pthread_setname_np(pthread_self(), "thence-watch");
        const auto period = std::clamp<milliseconds>(patience_ / 10, milliseconds{5}, milliseconds{500});
        stall_clock stall(patience_);
        std::unique_lock guard(mutex_);
        while (!wake_.wait_for(guard, period, [this] { return stop_; })) {
            guard.unlock();
            look(stall);
            guard.lock();
        }
    }

    static void look(stall_clock &stall) {
        const long outstanding = continuation::continuation_request::registered_in_all();
        // Not the library's counter, which a thread raises only after all that it found ready.
        std::uint64_t completed = 0;
        for_each_lane([&](const lane &l) { completed += l.ended.load(std::memory_order_relaxed); });
        switch (stall.look(completed, outstanding, clock::now())) {
        case stall_clock::verdict::fine:
            break;
        case stall_clock::verdict::stalled:
            say("stall: no continuation has completed for " + seconds(stall.stalled_for()) + ", " +
                std::to_string(outstanding) + " outstanding\n" + describe_outstanding());
            break;
        case stall_clock::verdict::goes_on:
            say("stall over: continuations complete again after " + seconds(stall.stalled_for()) + "\n");
            break;
        }
    }

    const milliseconds patience_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_; // last: it uses the others
};

// Not an object: a program that exits without MPI_Finalize leaves the thread running to the end.
watcher *current = nullptr;

} // namespace

void start_watching(milliseconds patience) {
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        current = new watcher(patience);
    } catch (const std::system_error &) {
        say("THENCE_STALL: the watching thread could not be started. There will be no stall report.\n");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_watching() noexcept {
    delete current;
    current = nullptr;
}

} // namespace thence::diagnose
