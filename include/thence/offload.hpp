// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file offload.hpp
 *  @brief Reactive load balance: tasks of a rank that others wait for are sent to ranks that wait, and their results
 *         come back. C++20, header only, over continuations. After ExaHyPE, as Schuchart et al. 2021, section 5.4,
 *         describe it.
 *
 *      struct cell { // a type of task
 *          struct metadata { double dt; int index; };
 *          static std::size_t input_bytes(const metadata &);
 *          static std::array<std::size_t, 2> result_bytes(const metadata &);
 *          static void run(const metadata &, std::span<const std::byte> input,
 *                          const std::array<std::span<std::byte>, 2> &results) noexcept;
 *      };
 *      thence::offloader tasks(MPI_COMM_WORLD);
 *      tasks.add<cell>();
 *      tasks.begin();
 *      for (int step = 0; step < steps; ++step) {
 *          for (...)
 *              tasks.submit<cell>(metadata, input, results);
 *          tasks.finish_step(); // all results are there, on all ranks
 *      }
 *
 *  Whether a task is offloaded is decided when it is submitted. At first all stay at home. A rank that others wait for
 *  at the end of a step offloads some tasks of the next step to the rank that has waited longest: as many as even out a
 *  part of the difference. After each step that is corrected by the waiting times that were measured in it. Each rank
 *  decides for itself.
 *
 *  A task travels as two messages, metadata and input, and its results as up to three. A few persistent receives for
 *  metadata are always pending. The continuation of one posts the receive of the input; the continuation of that puts
 *  the task into the queue. At home the continuation of the two sends posts the receives of the results. With
 *  `MPI_THREAD_MULTIPLE` the library's own thread runs continuations, too, while the threads of the program compute.
 *
 *  If the results of a rank come late, that is an emergency: half as many tasks go there. After several in a row, none
 *  for some steps. If they do not come at all, finish_step() throws ::thence::lost_tasks. */

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <thence/backoff.h>
#include <thence/offload/continuations.hpp>
#include <thence/offload/settings.hpp>
#include <thence/offload/state.hpp>
#include <thence/offload/task_type.hpp>

namespace thence {

/** @brief Offloads tasks between the ranks of a communicator. Programs use ::thence::offloader; another `Completions`
 *         has the members of detail::offload_continuations.
 *  @note Threads: one submits tasks and finishes steps; with `MPI_THREAD_MULTIPLE` any number call work(). */
template <class Completions> class basic_offloader {
public:
    /** @brief Collective over `comm`, which is duplicated.
     *  @throws std::invalid_argument for a setting that is not positive, and for several workers below
     *          `MPI_THREAD_MULTIPLE`. @throws thence::mpi_inactive before `MPI_Init` and after `MPI_Finalize`.
     *  @throws thence::error as MPI reports it. */
    explicit basic_offloader(MPI_Comm comm, const offload_settings &settings = {})
        : state_(std::make_unique<detail::offload_state<Completions>>(comm, checked(settings))) {}
    basic_offloader(const basic_offloader &) = delete;
    basic_offloader &operator=(const basic_offloader &) = delete;

    /** @brief Collective, after finish_step() and before `MPI_Finalize`: waits until all ranks are here.
     *
     *  Where an exception leaves a step, it does not wait: one of work() or finish_step(), or one of the program, after
     *  submit() or through this destructor. The other ranks get an error from work() or finish_step(); those that are
     *  here go on, and leave the communicator to MPI.
     *
     *  On the rank that the exception was thrown on, receives of results of the tasks that are away are cancelled.
     *  Where MPI receives one already, this waits for it, at most for `offload_settings::lost_after`. So results must
     *  stay until this returns. Where it says on standard error that MPI still receives some, they must stay longer. So
     *  must inputs: MPI may still read them. The memory of messages stays.
     *  @note No other thread may make progress in MPI while receives are cancelled: see thence_cancel(). The library's
     *        own does not. */
    ~basic_offloader() {
        int finalized = 0;
        if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized != 0) {
            std::fputs("thence: an offloader is destroyed after MPI_Finalize: end its scope before\n", stderr);
        } else if (state_->has_begun() && (is_open_ || std::uncaught_exceptions() > exceptions_)) {
            state_->break_off();
            if (!state_->give_up_results()) {
                std::fputs("thence: an offloader is destroyed after an error, and MPI still receives results of its "
                           "tasks: they must stay\n",
                           stderr);
            }
        } else if (state_->end()) {
            return;
        }
        static_cast<void>(state_.release());
    }

    /** @brief Make a type of task known. All ranks add the same ones in the same order, before begin(). That they are
     *         the same is found out by their names, so the programs of all ranks are built with the same compiler.
     *  @throws std::invalid_argument for metadata larger than `offload_settings::metadata_bytes`.
     *  @throws std::logic_error after begin(). */
    template <offload_task Task> void add() {
        if (state_->has_begun()) {
            throw std::logic_error("offload: add() after begin()");
        }
        if (sizeof(typename Task::metadata) > state_->settings.metadata_bytes) {
            throw std::invalid_argument("offload: the metadata of this type of task are larger than metadata_bytes");
        }
        state_->types.push_back(&detail::offload_type_of<Task>);
    }

    /** @brief Collective, once: begin to take tasks of other ranks.
     *  @throws thence::error on all ranks, if MPI fails on one.
     *  @throws std::invalid_argument on all ranks, if they have added different types, or in another order.
     *  @throws std::logic_error if it was called before. */
    void begin() {
        if (state_->has_begun()) {
            throw std::logic_error("offload: begin() was called before");
        }
        state_->begin();
    }

    /** @brief Give a task to this step. It runs here or on another rank, before finish_step() returns.
     *  @param metadata what describes the task; copied.
     *  @param input    `Task::input_bytes(metadata)` bytes, which nobody changes until finish_step() has returned.
     *  @param results  where the results go, of the sizes that `Task::result_bytes(metadata)` gives. Nobody uses them
     *                  until finish_step() has returned; where it does not, they stay until this object is destroyed.
     *  @throws std::invalid_argument for a type that was not added, or for wrong sizes; and std::logic_error before
     *          begin(): nothing is submitted. @throws thence::error as MPI reports it. */
    template <offload_task Task>
    void submit(const typename Task::metadata &metadata, std::span<const std::byte> input,
                const detail::offload_results<Task> &results) {
        need_begin();
        const auto found = std::find(state_->types.begin(), state_->types.end(), &detail::offload_type_of<Task>);
        if (found == state_->types.end()) {
            throw std::invalid_argument("offload: this type of task was not added before begin()");
        }
        const auto sizes = Task::result_bytes(metadata);
        bool right = input.size() == Task::input_bytes(metadata) && input.size() <= detail::largest_message;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            right = right && results[i].size() == sizes[i] && sizes[i] <= detail::largest_message;
        }
        if (!right) {
            throw std::invalid_argument("offload: input or results have not the sizes that their type of task gives");
        }
        typename detail::offload_state<Completions>::task made;
        made.type = *found, made.type_number = static_cast<int>(found - state_->types.begin());
        made.metadata.resize(sizeof metadata);
        std::memcpy(made.metadata.data(), &metadata, sizeof metadata);
        made.input = input;
        std::copy(results.begin(), results.end(), made.results.begin());
        state_->submit(std::move(made));
        is_open_ = true;
    }

    /** @brief Make progress, and run one task that is ready on this rank, if there is one; tasks of others come first.
     *  @return whether a task was run. @throws thence::error as finish_step(). */
    bool work() {
        need_begin();
        return state_->work();
    }

    /** @brief Collective: run tasks until those of all ranks are complete, then decide how many to offload in the next
     *         step.
     *  @return what this rank did in the step.
     *  @throws lost_tasks if no results have come for a long time. @throws thence::error if a message has failed, or
     *          another rank has left a step by an exception: it tells the others. */
    offload_step finish_step() {
        need_begin();
        double waited = 0;
        wait_until([&] { return !state_->has_left(); }, waited,
                   [&](double since, double now) { state_->look_for_late(since, now); });
        state_->collectives().arrive();
        wait_until([&] { return state_->collectives().is_over(); }, waited, [](double, double) {});
        state_->collectives().gather(state_->measured(waited));
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        while (!state_->collectives().is_over()) {
            state_->poll();
            thence_backoff_pause(&backoff);
        }
        is_open_ = false;
        return state_->balance(waited);
    }

private:
    static offload_settings checked(const offload_settings &given) {
        detail::check_mpi_is_active("thence::offloader: created");
        if (given.receives < 1 || given.in_flight < 1 || given.workers < 1 || given.metadata_bytes < 1 ||
            !(given.gain > 0) || !(given.late > 0) || !(given.lost_after > 0) || given.emergencies < 1 ||
            given.pause_steps < 1) {
            throw std::invalid_argument("offload: a setting is not positive");
        }
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        if (given.workers > 1 && level < MPI_THREAD_MULTIPLE) {
            throw std::invalid_argument("offload: several workers call MPI at once: initialize MPI with "
                                        "MPI_THREAD_MULTIPLE, or set workers to 1");
        }
        return given;
    }
    void need_begin() const {
        if (!state_->has_begun()) {
            throw std::logic_error("offload: begin() was not called");
        }
    }
    // Works until `done`. Adds the time without a task to `waited`; `idle` gets since when there has been none, and the
    // time now.
    template <class Done, class Idle> void wait_until(Done done, double &waited, Idle idle) {
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        double since = 0;
        while (!done()) {
            const double begin = MPI_Wtime();
            if (work()) {
                thence_backoff_found(&backoff);
                since = 0;
                continue;
            }
            since = since == 0 ? begin : since;
            thence_backoff_pause(&backoff);
            const double end = MPI_Wtime();
            waited += end - begin;
            idle(since, end);
        }
    }

    std::unique_ptr<detail::offload_state<Completions>> state_;
    const int exceptions_ = std::uncaught_exceptions(); // under way when this was made
    bool is_open_ = false;                              // a task was submitted, and finish_step() has not returned
};

/** @brief Offloads tasks, by continuations. */
using offloader = basic_offloader<detail::offload_continuations>;

} // namespace thence
