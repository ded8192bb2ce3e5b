// SPDX-License-Identifier: BSD-3-Clause
// Connects this folder to the core: sets the hooks that the core has for observers. The core does not depend on this
// folder.
#include "core/base/settings.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/request.hpp"
#include "core/diagnose/observers.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/report.hpp"
#include "core/diagnose/slow_callbacks.hpp"
#include "core/diagnose/stall_detector.hpp"
#include "core/diagnose/trace.hpp"
#include "core/diagnose/waiting_tasks.hpp"

#include <cstdlib>

namespace thence::diagnose {

namespace {

// A bad value switches off only what it was meant for.
void report_bad_values(const base::settings &chosen) {
    for (const base::setting_state &state : chosen.states) {
        if (!state.complaint.empty()) {
            print_to_stderr(state.complaint + "\n");
        }
    }
}

void set_up() {
    read_process_identity();
    const base::settings &chosen = base::current_settings();
    report_bad_values(chosen);
    const bool tracing =
        !chosen.trace.empty() &&
        open_trace(own_file_name(trace_file_name(chosen.trace, process_identity().rank)), chosen.trace_limit);
    if (tracing) {
        continuation::observing = &trace_observer;
        static const int registered = std::atexit(&write_trace); // for a program that exits without MPI_Finalize
        (void)registered;
    } else if (chosen.stall.count() != 0 || chosen.slow.count() != 0) {
        continuation::observing = &stall_observer;
    }
    set_slow_callback_limit(chosen.slow);
    if (chosen.stall.count() != 0) {
        start_stall_detector(chosen.stall);
    }
}

void tear_down() {
    stop_stall_detector();
    write_trace();
    continuation::observing = nullptr;
}

void report_outstanding(const char *when) {
    if (const polling_tasks polling = describe_polling_tasks(); polling.calls != 0) {
        print_to_stderr(std::string(when) + ": " + std::to_string(polling.calls) +
                        (polling.calls == 1 ? " task is in an MPI call that" : " tasks are in MPI calls that") +
                        " will not return\n" + polling.text);
    }
    const long outstanding = continuation::continuation_request::registered_in_all();
    if (outstanding == 0) {
        return;
    }
    print_to_stderr(std::string(when) + ": " + std::to_string(outstanding) +
                    (outstanding == 1 ? " continuation is" : " continuations are") + " outstanding and will not run\n" +
                    describe_outstanding());
}

const bool hooks_set = [] {
    continuation::observer_set_up = &set_up;
    continuation::observer_tear_down = &tear_down;
    continuation::report_outstanding = &report_outstanding;
    return true;
}();

} // namespace

} // namespace thence::diagnose
