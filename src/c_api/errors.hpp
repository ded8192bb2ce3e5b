// SPDX-License-Identifier: BSD-3-Clause
// The errors of the C API: the reasons for which a call can fail, and the class and text of each. A call returns an MPI
// error code of the class that thence.h documents. The text of the code names the call and the reason.
#pragma once

namespace thence::c_api {

enum class reason {
    null_cr,
    no_live_cr,
    started_already,
    unknown_cr_flags,
    max_poll_too_small,
    forum_max_poll_negative,
    bad_info,
    nothing_runs,
    too_many_crs,
    no_helper,
    mpi_inactive,
    too_many_sources,
    negative_count,
    null_requests,
    null_callback,
    null_flag_of_attach,
    null_outcount,
    null_indices,
    null_data_to_copy,
    unknown_flags,
    cr_among_requests,
    freed_cr_among_requests,
    null_flag,
    null_request,
    waits_for_itself,
    null_count,
    negative_capacity,
    null_data,
    null_info,
    size_too_small,
    null_events,
    null_completed,
    no_events,
    too_many_events,
    too_few_events,
    only_persistent,
    null_runtime,
    runtime_without_current,
    runtime_with_half,
    too_many_runtimes,
    runtime_added_already,
    runtime_not_added,
    negative_index,
    null_task,
    no_task,
    runtime_without_events,
    runtime_without_blocking,
    events_refused,
    blocks_in_callback,
    cr_not_run,
    no_body,
    not_interposed,
    too_many_strategies,
    no_memory,
    count_, // how many there are
};

struct error_row {
    reason why;
    int error_class;
    const char *text;
};
const error_row &row(reason why) noexcept;

// Reports the error through the error handler of MPI_COMM_WORLD and returns its code. `call`: the public function.
int fail(const char *call, reason why) noexcept;
// The same, and the text names `subject` before the reason.
int fail(const char *call, const char *subject, reason why) noexcept;
// The same, and the text names `detail` after the reason.
int fail_with_detail(const char *call, reason why, const char *detail) noexcept;

} // namespace thence::c_api
