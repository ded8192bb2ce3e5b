// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/stall_detector.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/request.hpp"
#include "core/diagnose/blocked_calls.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/report.hpp"
#include "core/diagnose/thread_log.hpp"
#include "core/diagnose/waiting_tasks.hpp"

#include <thence/detail/start_thread.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace thence::diagnose {

namespace {

using base::nanoseconds;
using std::chrono::milliseconds;

std::string and_of(long polling) {
    return polling == 0 ? "" : ", " + std::to_string(polling) + (polling == 1 ? " task polls" : " tasks poll");
}

// Decides when a report is due. The detector passes it the counts at regular intervals.
class stall_timer {
public:
    explicit stall_timer(milliseconds limit) noexcept : limit_(std::chrono::nanoseconds(limit).count()) {}

    enum class verdict { none, stalled, resumed };

    verdict update(std::uint64_t completed, long outstanding, nanoseconds now) noexcept {
        if (completed != completed_ || outstanding == 0) {
            const bool was_stalled = reports_ != 0;
            stalled_for_ = now - since_;
            completed_ = completed;
            since_ = now;
            due_ = limit_;
            reports_ = 0;
            return was_stalled ? verdict::resumed : verdict::none;
        }
        stalled_for_ = now - since_;
        if (stalled_for_ < due_) {
            return verdict::none;
        }
        due_ = 2 * due_;
        ++reports_;
        return verdict::stalled;
    }
    std::uint64_t stalled_for() const noexcept { return static_cast<std::uint64_t>(stalled_for_); }

private:
    const nanoseconds limit_;
    nanoseconds due_ = limit_;
    nanoseconds since_ = base::read_clock();
    nanoseconds stalled_for_ = 0;
    std::uint64_t completed_ = 0;
    unsigned reports_ = 0;
};

class detector {
public:
    explicit detector(milliseconds limit) : limit_(limit), thread_(detail::start_thread([this] { run(); })) {}
    ~detector() {
        {
            std::scoped_lock guard(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    detector &operator=(detector &&) = delete;

private:
    void run() {
        pthread_setname_np(pthread_self(), "thence-stall");
        const auto period = std::clamp<milliseconds>(limit_ / 10, milliseconds{5}, milliseconds{500});
        stall_timer stall(limit_);
        stall_timer tasks(limit_);
        stall_timer calls(limit_);
        std::unique_lock guard(mutex_);
        while (!wake_.wait_for(guard, period, [this] { return stop_; })) {
            guard.unlock();
            check(stall);
            check_tasks(tasks);
            check_calls(calls);
            guard.lock();
        }
    }

    static void check(stall_timer &stall) {
        const long outstanding = continuation::continuation_request::registered_in_all();
        // The counter of the library would lag: a thread raises it only after it has run everything that it found
        // ready.
        std::uint64_t completed = 0;
        for_each_thread_log([&](const thread_log &log) { completed += log.ended.load(std::memory_order_relaxed); });
        // A task that polls waits for an operation, too.
        const polling_tasks polling = count_polling_tasks();
        switch (stall.update(completed + polling.ended, outstanding + polling.calls, base::read_clock())) {
        case stall_timer::verdict::none:
            break;
        case stall_timer::verdict::stalled:
            print_to_stderr("stall: no continuation has completed for " + seconds(stall.stalled_for()) + ", " +
                            std::to_string(outstanding) + " outstanding" + and_of(polling.calls) + "\n" +
                            describe_outstanding() + describe_polling_tasks().text + describe(find_waiting_tasks()));
            break;
        case stall_timer::verdict::resumed:
            print_to_stderr("stall over: operations complete again after " + seconds(stall.stalled_for()) + "\n");
            break;
        }
    }

    // All tasks wait, and no operation is outstanding that could end it.
    void check_tasks(stall_timer &stall) {
        waiting_tasks now = find_waiting_tasks();
        const bool stuck = now.all_wait() && continuation::continuation_request::registered_in_all() == 0 &&
                           count_polling_tasks().calls == 0;
        if (now != waiting_) {
            ++changes_;
            waiting_ = std::move(now);
        }
        switch (stall.update(changes_, stuck ? static_cast<long>(waiting_.lines.size()) : 0, base::read_clock())) {
        case stall_timer::verdict::none:
            break;
        case stall_timer::verdict::stalled:
            print_to_stderr("stall: all tasks wait, for " + seconds(stall.stalled_for()) +
                            ", and no continuation is outstanding\n" + describe(waiting_));
            break;
        case stall_timer::verdict::resumed:
            print_to_stderr("stall over: tasks go on after " + seconds(stall.stalled_for()) + "\n");
            break;
        }
    }

    // Of a program that does not use Thence. The call that lasts longest decides.
    static void check_calls(stall_timer &stall) {
        const blocked_calls blocked = find_blocked_calls(false);
        switch (stall.update(blocked.oldest, blocked.count, base::read_clock())) {
        case stall_timer::verdict::none:
            break;
        case stall_timer::verdict::stalled:
            print_to_stderr("stall: a call of MPI has not returned for " + seconds(stall.stalled_for()) + "\n" +
                            find_blocked_calls(true).text);
            break;
        case stall_timer::verdict::resumed:
            print_to_stderr("stall over: the call has returned after " + seconds(stall.stalled_for()) + "\n");
            break;
        }
    }

    const milliseconds limit_;
    waiting_tasks waiting_;     // at the last check
    std::uint64_t changes_ = 0; // of what waits
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_; // last, since it uses the other members
};

// A pointer, since its destructor must not run at exit: in a program that exits without MPI_Finalize the thread runs
// until the process ends.
detector *current = nullptr;

} // namespace

void start_stall_detector(milliseconds limit) {
    try {
        current = new detector(limit);
    } catch (const std::system_error &) {
        print_to_stderr("THENCE_STALL: the stall detector thread could not be started. Stalls will not be reported.\n");
    }
}

void stop_stall_detector() noexcept {
    delete current;
    current = nullptr;
}

} // namespace thence::diagnose
