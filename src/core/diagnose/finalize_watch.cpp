// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/finalize_watch.hpp"

#include "core/base/clock.hpp"
#include "core/base/settings.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"

#include <thence/detail/start_thread.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <pthread.h>

namespace thence::diagnose {

finalize_watch::finalize_watch(const void *where) noexcept {
    if (base::current_settings().stall.count() == 0) {
        return;
    }
    try {
        thread_ = detail::start_thread([this, where] { run(where); });
    } catch (const std::exception &) { // no thread, or no memory: nothing is said about this call
    }
}

finalize_watch::~finalize_watch() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::scoped_lock guard(mutex_);
        returned_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void finalize_watch::run(const void *where) noexcept try {
    pthread_setname_np(pthread_self(), "thence-stall");
    const base::nanoseconds begun = base::read_clock();
    const auto waited = [begun] { return std::chrono::nanoseconds(base::read_clock() - begun); };
    const auto lasts = [&waited] { return seconds(static_cast<std::uint64_t>(waited().count())); };
    auto due = base::current_settings().stall; // after that
    bool said = false;
    std::unique_lock guard(mutex_);
    while (!wake_.wait_for(guard, due - waited(), [this] { return returned_; })) {
        guard.unlock();
        print_to_stderr("stall: MPI_Finalize has not returned for " + lasts() + ", called at " +
                        location_of_call(where) + ": it waits for ranks that have not called it, or for messages\n");
        said = true;
        guard.lock();
        due *= 2; // reports become rarer
    }
    if (said) {
        print_to_stderr("stall over: MPI_Finalize has returned after " + lasts() + "\n");
    }
} catch (const std::bad_alloc &) { // no memory for a text
}

} // namespace thence::diagnose
