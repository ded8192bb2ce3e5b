// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file settings.hpp
 *  @brief Settings and reports of thence/offload.hpp. */

#include <thence/detail/cxx20.hpp>

#include <cstddef>
#include <stdexcept>

namespace thence {

/** @brief How tasks are offloaded. The defaults are for tasks of about a millisecond. */
struct offload_settings {
    int workers = 1;                 /**< threads that call work(); as many tasks of a step stay at home in any case */
    int receives = 4;                /**< persistent receives for metadata on each rank */
    int in_flight = 256;             /**< tasks of a rank that may be away at once: about that many of each step */
    std::size_t metadata_bytes = 64; /**< of the largest type of task */
    double gain = 0.7;               /**< which part of a difference of waiting times is evened out at once */
    double late = 0.25;              /**< results are late after waiting for this part of the time of the step before */
    int emergencies = 2;             /**< steps in a row with late results until a rank gets no tasks */
    int pause_steps = 10;            /**< for so many steps */
    /** without a result for so many seconds in which a rank has no task to run, but tasks that are away, finish_step()
     *  throws ::thence::lost_tasks */
    double lost_after = 60;
    bool any_thread = true; /**< with `MPI_THREAD_MULTIPLE`, the library's own thread runs continuations, too */
};

/** @brief What a rank did in one step. */
struct offload_step {
    double seconds = 0;  /**< since the end of the step before */
    double computed = 0; /**< in tasks, of this rank and of others, summed over the threads */
    double waited = 0;   /**< in finish_step(), with no task to run */
    int own = 0;         /**< tasks of this rank that it ran itself */
    int foreign = 0;     /**< tasks of others that it ran */
    int offloaded = 0;   /**< tasks of this rank that others ran */
    int emergencies = 0; /**< ranks whose results came late */
};

/** @brief Results have not come back for `offload_settings::lost_after` seconds: the process that has the tasks may be
 *         dead. The object that threw it can only be destroyed. Results of its tasks must stay until then,
 *         inputs longer. */
class lost_tasks : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace thence
