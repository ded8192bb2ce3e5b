// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What libthence-tasks holds: the graph of tasks and the threads that run them. The namespace has the library's name,
// so that a linker which misses a symbol names what to link. No header defines a function in it.

#include <cstddef>
#include <cstdint>

#include <thence/dataflow/access.hpp>

namespace thence {

/** @brief Options of one task. */
struct task_options {
    int priority = 0;            /**< of two tasks that are ready, the one with the higher priority begins first */
    const char *label = nullptr; /**< a name for reports; must stay valid until the task is complete */
};

} // namespace thence

namespace thence::detail {

class flow_state;
struct dataflow_task;

/** A body and what belongs to it, of one type. */
struct task_body {
    std::size_t size;
    void (*run)(void *object);
    void (*onready)(void *object);          // null if there is none
    void (*destroy)(void *object) noexcept; // null if there is nothing to destroy
};

/** Bodies are aligned to this; larger ones are refused. */
inline constexpr std::size_t body_alignment = 16;

/** A task that has been prepared, with room for its body. */
struct prepared_task {
    dataflow_task *task;
    void *body;
};

/** When a body that is to run again does so. */
enum class repetition : std::uint8_t { after_unblock, at_once, after_pause, after_events };

/** One line of a report. */
struct task_report {
    const char *label;        // null if it has none
    const void *submitted_at; // an address in the code that submitted it
    const char *state;
    std::uint64_t events;
};

} // namespace thence::detail

#pragma GCC visibility push(default)
namespace thence::libthence_tasks {

/** @throws std::invalid_argument for a bad number. */
detail::flow_state *make_flow(int workers, std::uint32_t most_open);
/** Waits until all tasks are complete, spawned ones too. */
void destroy_flow(detail::flow_state *flow) noexcept;
/** Made when it is first asked for, and never destroyed. */
detail::flow_state &default_flow();
int workers_of(const detail::flow_state &flow) noexcept;

/** Makes a task that is known to nobody. Exactly one of submit_task() and drop_task() has to follow. */
detail::prepared_task prepare_task(detail::flow_state &flow, const detail::task_body &body, std::size_t accesses);
/** The body has been made in its room. `accesses`: as many as in prepare_task(), or fewer. */
void submit_task(detail::flow_state &flow, detail::dataflow_task *task, const access *accesses, std::size_t count,
                 const task_options &options);
/** The body has not been made. */
void drop_task(detail::dataflow_task *task) noexcept;

void wait_for_children(detail::flow_state &flow);
void wait_for_accesses(detail::flow_state &flow, const access *accesses, std::size_t count);

detail::dataflow_task *running_task() noexcept;
/** Of the thread that runs a task: `at_end` is called once, on this thread, when it next waits, or has no more tasks to
 *  run. No lock is held meanwhile. It must not wait. */
void when_thread_stops(void (*at_end)() noexcept) noexcept;
bool raise(detail::dataflow_task *task, std::uint64_t count) noexcept;
bool lower(detail::dataflow_task *task, std::uint64_t count, int error) noexcept;
bool block() noexcept;
bool unblock(detail::dataflow_task *task) noexcept;
std::uint64_t sleep_ns(std::uint64_t time);

/** The number of events of a task. */
std::uint64_t events_of(const detail::dataflow_task *task) noexcept;
/** Says when the body of the running task would run again, once. `pause`: nanoseconds, for after_pause. */
bool choose_repetition(detail::repetition when, std::uint64_t pause) noexcept;
/** When the body of the running task returns, the task is not complete: its body runs again from the start, as has been
 *  chosen, else after unblock(). Both return false outside of a body. */
bool run_again() noexcept;

/** Calls `tell` for each task that is blocked, sleeps, waits for events or for its accesses. */
// @return how many tasks run, are ready, or sleep.
std::uint64_t report_waiting(void (*tell)(const detail::task_report &, void *data), void *data);
/** Bytes that tasks and their tables occupy, of all flows. */
std::size_t memory_held() noexcept;

} // namespace thence::libthence_tasks
#pragma GCC visibility pop
