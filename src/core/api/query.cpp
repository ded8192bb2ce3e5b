// SPDX-License-Identifier: BSD-3-Clause
// The queries of the C API: what the library runs on, what is in force for a CR, and the counters.
#include <thence/thence.h>

#include "core/api/checks.hpp"
#include "core/api/sized.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"

using namespace thence;
using api::copy_sized;
using api::fail;
namespace reason = api::reason;
using continuation::continuation_request;

namespace {

// The sizes of the structs in the version that first had them. They do not change when members are added.
constexpr std::size_t first_info = THENCE_SIZE_UP_TO(thence_info, slow_ms);
constexpr std::size_t first_cr_info = THENCE_SIZE_UP_TO(thence_cr_info, failed);
constexpr std::size_t first_stats_info = THENCE_SIZE_UP_TO(thence_stats_info, outstanding);

// A struct must not end with padding: a member that is added there would not change its size.
static_assert(sizeof(thence_info) == first_info);
static_assert(sizeof(thence_cr_info) == first_cr_info);
static_assert(sizeof(thence_stats_info) == first_stats_info);

#define THENCE_TEXT_OF(number) #number
#define THENCE_DOTTED(major, minor, patch) THENCE_TEXT_OF(major) "." THENCE_TEXT_OF(minor) "." THENCE_TEXT_OF(patch)

} // namespace

extern "C" {

int thence_query(thence_info *info, size_t size) {
    constexpr const char *call = "thence_query";
    if (info == nullptr || size < first_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    thence_info facts{};
    facts.version = THENCE_DOTTED(THENCE_VERSION_MAJOR, THENCE_VERSION_MINOR, THENCE_VERSION_PATCH);
    facts.mpi = mpi::library();
    facts.engine = engine::current->name();
    facts.engine_why = engine::current->why();
    facts.hook = progress::hook_name();
    facts.helper = progress::helper_state();
    facts.abi = mpi::abi();
    facts.interposed_why = progress::interposed.why_not;
    facts.fortran = progress::interposed.fortran;
    mpi::table.Query_thread(&facts.thread_level);
    facts.interposed = progress::interposed.calls ? 1 : 0;
    facts.detects_persistent = engine::can_read_requests ? 1 : 0;
    facts.any_thread = progress::helper_possible() ? 1 : 0;
    facts.in_completion = continuation::observing == nullptr && engine::current->runs_in_completion() ? 1 : 0;
    facts.slow_ms = continuation::observing != nullptr ? continuation::observing->slow_ms() : 0;
    copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

int thence_cr_query(MPI_Request cr, thence_cr_info *info, size_t size) {
    constexpr const char *call = "thence_cr_query";
    const continuation_request *object = continuation_request::of_handle(cr);
    if (object == nullptr) {
        return fail(call, api::why_not_live(cr));
    }
    if (info == nullptr || size < first_cr_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    thence_cr_info facts{};
    facts.registered = object->registered();
    facts.flags = object->flags();
    facts.max_poll = object->max_poll();
    facts.active = object->active() && (object->has(THENCE_CR_NEEDS_START) || !object->idle()) ? 1 : 0;
    facts.failed = object->failed();
    copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

int thence_stats_query(thence_stats_info *info, size_t size) {
    constexpr const char *call = "thence_stats_query";
    if (info == nullptr || size < first_stats_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    using continuation::counters;
    thence_stats_info stats{};
    stats.immediate = continuation::total(&counters::immediate);
    stats.completed = continuation::total(&counters::completed);
    stats.failed = continuation::total(&counters::failed);
    stats.polls = engine::current != nullptr ? engine::current->polls() : 0;
    stats.recovered = engine::current != nullptr ? engine::current->recovered() : 0;
    stats.helper_wakeups = progress::helper_wakeups();
    stats.outstanding = static_cast<unsigned long long>(continuation_request::registered_in_all());
    stats.attached = continuation::attached_so_far(stats.completed, stats.outstanding);
    copy_sized(stats, info, size);
    return MPI_SUCCESS;
}

} // extern "C"
