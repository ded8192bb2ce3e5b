// SPDX-License-Identifier: BSD-3-Clause
// Events and tasks in the C API: thence/events.h and thence/task_runtime.h. Each call that takes operations attaches to
// them as thence_attach() does, with a callback of its own.
#include <thence/backoff.h>
#include <thence/detail/start_thread.hpp>
#include <thence/events.h>
#include <thence/task_runtime.h>

#include "core/api/checks.hpp"
#include "core/continuation/continuation.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"
#include "tasks/blocked_task.hpp"
#include "tasks/blocking_calls.hpp"
#include "tasks/events.hpp"
#include "tasks/polling_task.hpp"
#include "tasks/runtime.hpp"

#include <optional>

namespace thence::api::reason {

constexpr failure null_events{MPI_ERR_ARG, "events is null"};
constexpr failure null_completed{MPI_ERR_ARG, "the function to call at completion is null"};
constexpr failure null_runtime{MPI_ERR_ARG, "runtime is null"};
constexpr failure runtime_not_added{MPI_ERR_ARG, "the task runtime is not added"};
constexpr failure null_task{MPI_ERR_ARG, "task is null, or has no runtime or handle"};
constexpr failure cr_not_run{
    MPI_ERR_ARG,
    "the continuation request is poll-only or needs a start, so a blocked task would wait for a test or start of it"};

} // namespace thence::api::reason

using namespace thence;
using api::fail;
using api::public_call;
namespace reason = api::reason;

namespace {

// Attaches a callback that also runs if an operation fails. `call`: the public function, for errors.
[[gnu::always_inline]] inline int attach(const public_call &call, int count, MPI_Request requests[], unsigned flags,
                                         MPI_Status *statuses, continuation::user_callback callback, MPI_Request cr,
                                         const void *where, int &complete) noexcept {
    if ((flags & ~static_cast<unsigned>(THENCE_PERSISTENT)) != 0) {
        return fail(call, {MPI_ERR_ARG, "flags has bits other than THENCE_PERSISTENT"});
    }
    const continuation::attach_options how{flags | THENCE_INVOKE_FAILED, continuation::signature::own, where};
    if (count == 1 && flags == 0 && continuation::can_attach_single(requests, callback, cr, &complete)) [[likely]] {
        return continuation::attach_single(*requests, callback, how, statuses, cr, &complete);
    }
    return api::attach(call, count, requests, callback, how, statuses, cr, &complete);
}

// Whether a continuation of the CR has not begun to run, or runs on this thread. A running one is not attached.
bool is_outstanding(const continuation::continuation_request &cr) noexcept {
    if (continuation::this_thread.in_callback() && continuation::this_thread.current == &cr) {
        return true;
    }
    bool found = false;
    continuation::for_each_attached(
        [&](const continuation::continuation &c, continuation::control_word) { found = found || c.cr == &cr; });
    return found;
}

continuation::user_callback own(thence_callback *callback, void *data) noexcept {
    return {reinterpret_cast<continuation::any_function>(callback), data};
}

int raise(thence_events &events, uint64_t n, const public_call &call) noexcept {
    switch (task::raise(events, n)) {
    case task::raising::done:
        return MPI_SUCCESS;
    case task::raising::overflow:
        return fail(call, {MPI_ERR_ARG, "more than 2^64 - 1 events would be outstanding"});
    default:
        return fail(call, {MPI_ERR_ARG, "no event is outstanding: the owner's function has been called already, or the "
                                        "counter was never initialized"});
    }
}

int lower_counter(int error, MPI_Status *, void *events) noexcept {
    task::lower(*static_cast<thence_events *>(events), 1, error);
    return MPI_SUCCESS;
}

std::optional<api::failure> wrong(const thence_task_runtime *runtime) noexcept {
    if (runtime == nullptr) {
        return reason::null_runtime;
    }
    if (runtime->size < sizeof(thence_task_runtime)) {
        return reason::size_too_small;
    }
    if (runtime->name == nullptr || runtime->current == nullptr) {
        return api::failure{MPI_ERR_ARG, "the table has no name, or no function current"};
    }
    if ((runtime->block == nullptr) != (runtime->unblock == nullptr) ||
        (runtime->raise_events == nullptr) != (runtime->lower_events == nullptr)) {
        return api::failure{
            MPI_ERR_ARG,
            "the table has one of block and unblock, or one of raise_events and lower_events, without the other"};
    }
    return std::nullopt;
}

// Binds operations that may be pending to a task.
[[gnu::always_inline]] inline int bind(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses,
                                       const thence_task *task, MPI_Request cr, const void *where) noexcept {
    static constexpr public_call call{"thence_task_attach"};
    const int slot = task::slot_of(task->runtime);
    if (slot < 0) {
        return fail(call, reason::runtime_not_added);
    }
    const thence_task owner = *task; // an error handler may call thence_task_with_events(), which overwrites its result
    if (owner.runtime->raise_events == nullptr) {
        return fail(call, owner.runtime->name, {MPI_ERR_UNSUPPORTED_OPERATION, "this task runtime has no events"});
    }
    if (owner.runtime->raise_events(owner.handle, 1) != 0) {
        return fail(call, owner.runtime->name,
                    {MPI_ERR_OTHER, "the task runtime did not raise the events of the task"});
    }
    int complete = 0;
    const int code = attach(call, count, requests, flags, statuses,
                            own(task::lowering[static_cast<std::size_t>(slot)], owner.handle), cr, where, complete);
    if (complete != 0 || code != MPI_SUCCESS) {
        owner.runtime->lower_events(owner.handle, 1, complete != 0 ? code : int{MPI_SUCCESS});
    } else {
        task::let_a_task_poll_for(cr);
    }
    return code;
}

// The three forms of thence_task_attach(), which ends in a call of one of them. So their return address is the user's.
// All have its parameters in its order, and noclone keeps them so: it jumps to a form without moving an argument.
[[gnu::noinline, gnu::noclone]] int bind_any(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses,
                                             const thence_task *task, MPI_Request cr) noexcept {
    return bind(count, requests, flags, statuses, task, cr, __builtin_return_address(0));
}
// One operation without flags.
[[gnu::noinline, gnu::noclone]] int bind_one(int, MPI_Request *request, unsigned, MPI_Status *status,
                                             const thence_task *task, MPI_Request cr) noexcept {
    return bind(1, request, 0, status, task, cr, __builtin_return_address(0));
}
// The same, and it is complete: it needs no event.
[[gnu::noinline, gnu::noclone]] int bind_complete(int, MPI_Request *request, unsigned, MPI_Status *status,
                                                  const thence_task *task, MPI_Request cr) noexcept {
    if (continuation::take_complete(*request, status, cr)) {
        return MPI_SUCCESS;
    }
    return bind_one(1, request, 0, status, task, cr);
}

} // namespace

extern "C" {

int thence_events_init(thence_events *events, thence_events_function *completed, void *owner) {
    if (events == nullptr || completed == nullptr) {
        return fail("thence_events_init", events == nullptr ? reason::null_events : reason::null_completed);
    }
    *events = {1, completed, owner, MPI_SUCCESS};
    return MPI_SUCCESS;
}

int thence_events_raise(thence_events *events, uint64_t n) {
    if (events == nullptr) {
        return fail("thence_events_raise", reason::null_events);
    }
    return raise(*events, n, "thence_events_raise");
}

int thence_events_lower(thence_events *events, uint64_t n, int error) {
    if (events == nullptr) {
        return fail("thence_events_lower", reason::null_events);
    }
    return task::lower(*events, n, error)
               ? MPI_SUCCESS
               : fail("thence_events_lower", {MPI_ERR_ARG, "fewer events are outstanding than are to be lowered"});
}

int thence_attach_event(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses, thence_events *events,
                        MPI_Request cr) {
    static constexpr public_call call{"thence_attach_event"};
    if (events == nullptr) {
        return fail(call, reason::null_events);
    }
    int code = raise(*events, 1, call);
    if (code != MPI_SUCCESS) {
        return code;
    }
    int complete = 0;
    code = attach(call, count, requests, flags, statuses, own(&lower_counter, events), cr, __builtin_return_address(0),
                  complete);
    if (complete != 0 || code != MPI_SUCCESS) {
        task::lower(*events, 1, complete != 0 ? code : int{MPI_SUCCESS});
    }
    return code;
}

int thence_task_runtime_add(const thence_task_runtime *runtime) {
    static constexpr public_call call{"thence_task_runtime_add"};
    if (const std::optional<api::failure> why = wrong(runtime)) {
        return fail(call, *why);
    }
    switch (task::add(*runtime)) {
    case task::add_result::added:
        if (runtime->on_idle != nullptr) {
            runtime->on_idle([] { return static_cast<int>(progress::help_while_idle()); });
        }
        if (runtime->between_tasks != nullptr) {
            runtime->between_tasks([] { return progress::help_between_tasks() ? 1 : 0; });
        }
        task::poll_in_tasks_of(*runtime);
        return MPI_SUCCESS;
    case task::add_result::full:
        return fail(call, {MPI_ERR_NO_MEM, "8 task runtimes are added already"});
    default:
        return fail(call, {MPI_ERR_ARG, "the task runtime is added already"});
    }
}

int thence_task_runtime_remove(const thence_task_runtime *runtime) {
    if (runtime == nullptr || !task::remove(*runtime)) {
        return fail("thence_task_runtime_remove", reason::runtime_not_added);
    }
    task::poll_no_longer_in_tasks_of(*runtime);
    if (runtime->on_idle != nullptr) {
        runtime->on_idle(nullptr);
    }
    if (runtime->between_tasks != nullptr) {
        runtime->between_tasks(nullptr);
    }
    return MPI_SUCCESS;
}

int thence_task_runtime_get(int index, const thence_task_runtime **runtime) {
    if (index < 0 || runtime == nullptr) {
        return fail("thence_task_runtime_get", index < 0 ? reason::negative_index : reason::null_runtime);
    }
    *runtime = task::asked(index);
    return MPI_SUCCESS;
}

const thence_task_runtime *thence_task_runtime_threads(void) {
    return &task::threads;
}

const thence_task_runtime *thence_task_runtime_detached(void) {
    return &task::detached_tasks;
}

int thence_detached_begin(void (*complete)(void *event), void *event) {
    if (complete == nullptr) {
        return fail("thence_detached_begin", reason::null_completed);
    }
    return task::detached_begin(complete, event) ? MPI_SUCCESS : fail("thence_detached_begin", reason::no_memory);
}

int thence_detached_end(void) {
    return task::detached_end()
               ? MPI_SUCCESS
               : fail("thence_detached_end", {MPI_ERR_ARG, "no body of a detached task has begun on this thread"});
}

int thence_detached_pause(void **paused) {
    if (paused == nullptr) {
        return fail("thence_detached_pause", {MPI_ERR_ARG, "paused is null"});
    }
    *paused = task::detached_pause();
    return MPI_SUCCESS;
}

int thence_detached_resume(void *paused) {
    return task::detached_resume(paused)
               ? MPI_SUCCESS
               : fail("thence_detached_resume",
                      {MPI_ERR_ARG,
                       "the body of a detached task that has begun on this thread since the pause has not ended"});
}

int thence_start_thread_(pthread_t *thread, void *(*function)(void *), void *argument) {
    const thence::detail::signals_blocked inherited;
    return pthread_create(thread, nullptr, function, argument);
}

int thence_task_runtime_alpi(const thence_task_runtime **runtime, const char **why) {
    if (runtime == nullptr) {
        return fail("thence_task_runtime_alpi", reason::null_runtime);
    }
    const char *text = nullptr;
    *runtime = task::alpi(text);
    if (why != nullptr) {
        *why = text;
    }
    return MPI_SUCCESS;
}

int thence_task_current(thence_task *task) {
    if (task == nullptr) {
        return fail("thence_task_current", reason::null_task);
    }
    *task = task::current();
    return MPI_SUCCESS;
}

const thence_task *thence_task_with_events(void) {
    return task::with_events();
}

int thence_task_attach(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses, const thence_task *task,
                       MPI_Request cr) {
    if (task == nullptr || task->runtime == nullptr || task->handle == nullptr) {
        return fail("thence_task_attach", reason::null_task);
    }
    if (count != 1 || flags != 0) {
        return bind_any(count, requests, flags, statuses, task, cr);
    }
    return continuation::is_complete(requests) ? bind_complete(count, requests, flags, statuses, task, cr)
                                               : bind_one(count, requests, flags, statuses, task, cr);
}

int thence_task_wait(int count, MPI_Request requests[], unsigned flags, MPI_Status *statuses, MPI_Request cr) {
    static constexpr public_call call{"thence_task_wait"};
    const thence_task self = task::current();
    const thence_task_runtime *runtime = self.runtime;
    if (runtime == nullptr) {
        return fail(call,
                    {MPI_ERR_UNSUPPORTED_OPERATION, "called outside of the tasks of every runtime that is added"});
    }
    if (runtime->block == nullptr) {
        return fail(call, runtime->name, {MPI_ERR_UNSUPPORTED_OPERATION, "this task runtime cannot block a task"});
    }
    if (continuation::this_thread.in_callback()) {
        return fail(call,
                    {MPI_ERR_PENDING, "called inside a callback, where no other continuation can run on this thread"});
    }
    if (const continuation::continuation_request *object = continuation::continuation_request::of_handle(cr);
        object != nullptr && object->has(THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START)) {
        return fail(call, reason::cr_not_run);
    }
    task::blocked_task blocked(self);
    int complete = 0;
    const int code =
        attach(call, count, requests, flags, statuses, blocked.callback(), cr, __builtin_return_address(0), complete);
    if (complete != 0 || code != MPI_SUCCESS) {
        return code;
    }
    task::let_a_task_poll_for(cr);
    return blocked.block();
}

int thence_task_blocking_calls(MPI_Request cr) {
    static constexpr public_call call{"thence_task_blocking_calls"};
    if (cr == MPI_REQUEST_NULL) {
        task::let_calls_block_threads();
        return MPI_SUCCESS;
    }
    const continuation::continuation_request *object = continuation::continuation_request::of_handle(cr);
    if (object == nullptr) {
        return fail(call, api::why_not_live(cr));
    }
    if (object->has(THENCE_CR_POLL_ONLY | THENCE_CR_NEEDS_START)) {
        return fail(call, reason::cr_not_run);
    }
    if (!progress::interposed.calls) {
        return api::fail_with_detail(call, reason::not_interposed, progress::interposed.why_not);
    }
    task::let_calls_block_tasks(cr);
    return MPI_SUCCESS;
}

int thence_task_wait_callbacks(MPI_Request cr, int *flag) {
    static constexpr public_call call{"thence_task_wait_callbacks"};
    const continuation::continuation_request *object = continuation::continuation_request::of_handle(cr);
    if (object == nullptr || flag == nullptr) {
        return object == nullptr ? fail(call, api::why_not_live(cr)) : fail(call, reason::null_flag);
    }
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (object->registered() != 0 && !is_outstanding(*object)) {
        thence_backoff_pause(&backoff);
    }
    *flag = object->registered() == 0 ? 1 : 0;
    return MPI_SUCCESS;
}

int thence_task_thread_aware(int aware, int *before) {
    if (before != nullptr) {
        *before = task::thread_is_aware ? 1 : 0;
    }
    if (aware == 0 || aware == 1) {
        task::thread_is_aware = aware == 1;
    }
    return MPI_SUCCESS;
}

} // extern "C"
