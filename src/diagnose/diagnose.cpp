// SPDX-License-Identifier: BSD-3-Clause
// Joins this folder to the core: fills in the hooks that the core leaves for whoever observes. The core does not know
// that this folder exists.
#include "continuation/library.hpp"
#include "continuation/observe.hpp"
#include "continuation/request.hpp"
#include "diagnose/observers.hpp"
#include "diagnose/report.hpp"
#include "diagnose/self.hpp"
#include "diagnose/settings.hpp"
#include "diagnose/slow.hpp"
#include "diagnose/trace.hpp"
#include "diagnose/watch.hpp"

#include <cstdlib>

namespace thence::diagnose {

namespace {

void set_up() {
    learn_identity();
    const settings wanted = read_settings(self().rank);
    const bool tracing = !wanted.trace.empty() && open_trace(wanted.trace, wanted.trace_limit);
    if (tracing) {
        continuation::observing = &trace_observer;
        static const int registered = std::atexit(&write_trace); // for a program that never gets to MPI_Finalize
        (void)registered;
    } else if (wanted.stall.count() != 0 || wanted.slow.count() != 0) {
        continuation::observing = &stall_observer;
    }
    tell_of_callbacks_longer_than(wanted.slow);
    if (wanted.stall.count() != 0) {
        start_watching(wanted.stall);
    }
}

void tear_down() {
    stop_watching();
    write_trace();
    continuation::observing = nullptr;
}

void report_outstanding(const char *when) {
    const long outstanding = continuation::continuation_request::registered_in_all();
    say(std::string(when) + ": " + std::to_string(outstanding) +
        (outstanding == 1 ? " continuation is" : " continuations are") + " outstanding and will not run\n" +
        describe_outstanding());
}

const bool joined = [] {
    continuation::observer_set_up = &set_up;
    continuation::observer_tear_down = &tear_down;
    continuation::report_outstanding = &report_outstanding;
    return true;
}();

} // namespace

} // namespace thence::diagnose
