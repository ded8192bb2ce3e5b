// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file pools/completion_mode.hpp
 *  @brief How `thence::pools` handle an operation: a method, which says how its completion is found, and flags, which
 *         say which thread starts it, which thread polls for it, and where the work that follows runs.
 *
 *  | method | how the completion is found |
 *  |---|---|
 *  | `yield_while` | a task tests this one request with MPI and yields until it is complete |
 *  | `suspend_resume` | a task of oneTBB is suspended; the operation's callback resumes it |
 *  | `continuation` | a callback, on whichever thread makes progress |
 *  | `new_task` | as `continuation`, but the callback only creates a task for the polling threads |
 *  | `mpix` | a callback of a poll-only continuation request: it runs only on a polling thread of the pools |
 *
 *  | flag | set | not set |
 *  |---|---|---|
 *  | `mpi_pool` | a separate thread polls | the workers poll between their tasks |
 *  | `inline_request` | start() calls MPI | a polling thread calls MPI, in a task |
 *  | `inline_completion` | the work that follows runs where the completion was found | it runs in a task of a worker |
 *  | `high_priority` | its tasks, tests and resumed tasks come before others | in order of arrival |
 *  | `bypass` | the thread that found the completion runs the work as its next task, in the workers' arena | |
 *
 *  A stop request cancels an operation through a continuation request. So an operation of which stop may be requested
 *  has a continuation request of its own, and `mpix` and `yield_while` handle it as `continuation` does. With
 *  `thence::uncancellable` stop requests have no effect.
 *
 *  All combinations are safe. A method that blocks does so in a task of a worker that is created for the operation,
 *  never in start(), so a loop that starts operations does not block. If both `bypass` and `inline_completion` are set,
 *  `bypass` is used. With `inline_completion` the work that follows runs inside a callback, and no other continuation
 *  runs on that thread meanwhile. So that work must be short, and must neither wait nor suspend (see
 *  `THENCE_SLOW_CONTINUATION`).
 *
 *  Source: Biddiscombe et al. 2025, sections 2.3 (methods and flags) and 3.1 (bypass). */

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

#include <thence/detail/cxx20.hpp>
#include <thence/thence.h>

namespace thence {

enum class completion_method : unsigned char { yield_while, suspend_resume, continuation, new_task, mpix };

/** @brief One combination of a method and flags. */
struct completion_mode {
    completion_method method = completion_method::continuation;
    bool mpi_pool = false;
    bool inline_request = true;
    bool inline_completion = false;
    bool high_priority = false;
    bool bypass = false;

    friend bool operator==(const completion_mode &, const completion_mode &) = default;
};

namespace detail {

inline constexpr std::array<std::string_view, 5> completion_method_names{"yield-while", "suspend-resume",
                                                                         "continuation", "new-task", "mpix"};
struct completion_flag {
    std::string_view name;
    bool completion_mode::*member;
};
inline constexpr std::array<completion_flag, 5> completion_flags{
    {{"mpi-pool", &completion_mode::mpi_pool},
     {"inline-request", &completion_mode::inline_request},
     {"inline-completion", &completion_mode::inline_completion},
     {"high-priority", &completion_mode::high_priority},
     {"bypass", &completion_mode::bypass}}};

inline void set_flag(completion_mode &made, std::string_view name) {
    for (const completion_flag &flag : completion_flags) {
        if (flag.name == name) {
            made.*flag.member = true;
            return;
        }
    }
    std::string known;
    for (const std::string_view method : completion_method_names) {
        known.append(known.empty() ? "" : ", ").append(method);
    }
    for (const completion_flag &flag : completion_flags) {
        known.append(", ").append(flag.name);
    }
    throw std::invalid_argument("thence: '" + std::string(name) +
                                "' is neither a completion method nor a flag of a mode; these are " + known);
}

} // namespace detail

/** @brief Reads `METHOD[,FLAG...]`, such as `new-task,mpi-pool,high-priority`. Flags that are not named are not set.
 *  @throws std::invalid_argument for an unknown word, with a list of the known ones; for a missing or second method. */
inline completion_mode parse_completion_mode(std::string_view text) {
    completion_mode made{.method = completion_method::continuation, .inline_request = false};
    bool method_named = false;
    while (!text.empty()) {
        const std::size_t end = text.find(',');
        const std::string_view word = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        bool is_method = false;
        for (std::size_t i = 0; i < detail::completion_method_names.size(); ++i) {
            if (detail::completion_method_names[i] == word) {
                if (method_named) {
                    throw std::invalid_argument("thence: a mode has one completion method, '" + std::string(word) +
                                                "' is a second one");
                }
                made.method = static_cast<completion_method>(i);
                is_method = method_named = true;
            }
        }
        if (!is_method) {
            detail::set_flag(made, word);
        }
    }
    if (!method_named) {
        throw std::invalid_argument("thence: a mode begins with its completion method: yield-while, suspend-resume, "
                                    "continuation, new-task or mpix");
    }
    return made;
}

/** @return the mode in the form that parse_completion_mode() reads. */
inline std::string to_string(const completion_mode &mode) {
    std::string text(detail::completion_method_names[static_cast<std::size_t>(mode.method)]);
    for (const detail::completion_flag &flag : detail::completion_flags) {
        if (mode.*flag.member) {
            text.append(1, ',').append(flag.name);
        }
    }
    return text;
}

/** @return the default mode of pools: that of `THENCE_POOLS_MODE` if it is set, else `continuation,inline-request`. Of
 *          the modes that do not restrict what the work that follows may do, no other measured clearly faster (see
 *          docs/guide/pools.md, and `thence bench ring_default`).
 *  @throws std::invalid_argument if `THENCE_POOLS_MODE` is not a mode. */
inline completion_mode default_completion_mode() {
    thence_setting_info setting{};
    for (int i = 0; thence_setting_query(i, &setting, sizeof setting) == MPI_SUCCESS && setting.name != nullptr; ++i) {
        if (std::string_view(setting.name) == "THENCE_POOLS_MODE" && setting.text != nullptr && *setting.text != '\0') {
            return parse_completion_mode(setting.text);
        }
    }
    return {};
}

} // namespace thence
