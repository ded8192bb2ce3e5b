// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_MODE_HPP
#define THENCE_POOLS_MODE_HPP
#if __cplusplus < 202002L
#error "thence/pools/mode.hpp needs C++20: compile with -std=c++20"
#else

/** @file pools/mode.hpp
 *  @brief Where an operation is issued and where its continuation runs: the handler method and the flags of a
 *         `thence::pools` operation.
 *
 *  | method | how the completion is found |
 *  |---|---|
 *  | `yield_while` | a task tests this one request with MPI and yields, again and again |
 *  | `suspend_resume` | a task of oneTBB is suspended, and resumed by the operation's callback |
 *  | `continuation` | a callback, on whichever thread is making progress |
 *  | `new_task` | as `continuation`, but the callback only makes a task of the pool that polls |
 *  | `mpix` | registered with a poll-only continuation request: callbacks run only on a pool's polling thread |
 *
 *  | flag | set | not set |
 *  |---|---|---|
 *  | `mpi_pool` | a thread of its own polls | the workers poll between their tasks |
 *  | `inline_request` | start() calls MPI | the polling pool does, in a task |
 *  | `inline_completion` | what follows runs where the completion was found | it runs in a task of the workers |
 *  | `high_priority` | tasks made for the operation go first | in order of arrival |
 *  | `bypass` | what follows runs as a task of the workers on the thread that found the completion, as its
 *               next one | |
 *
 *  Operations that can be asked to stop are waited for with a continuation request of their own, which is what a stop
 *  request cancels: with `mpix` and `yield-while` they are handled as with `continuation`. `thence::uncancellable`
 * makes an operation one that cannot.
 *
 *  All combinations are safe. The methods that block do so in a task of the workers that was made for it, never in
 *  start(), so issuing operations in a loop cannot get stuck (these tasks have no priority: oneTBB resumes them in its
 * own order); and `bypass` takes the place of `inline_completion` where both are set. What follows an operation with
 * `inline_completion` runs inside a callback, where no other continuation can: it must be short, and must neither wait
 * nor suspend (see `THENCE_SLOW_CONTINUATION`).
 *
 *  Source: Biddiscombe et al. 2025, sections 2.3 (methods and flags) and 3.1 (bypass). */

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace thence {

enum class handler : unsigned char { yield_while, suspend_resume, continuation, new_task, mpix };

/** @brief One way of handling an operation. */
struct mode {
    handler method = handler::continuation;
    bool mpi_pool = false;
    bool inline_request = true;
    bool inline_completion = false;
    bool high_priority = false;
    bool bypass = false;

    friend bool operator==(const mode &, const mode &) = default;
};

namespace detail {

inline constexpr std::array<std::string_view, 5> handler_names{"yield-while", "suspend-resume", "continuation",
                                                               "new-task", "mpix"};
struct mode_flag {
    std::string_view name;
    bool mode::*member;
};
inline constexpr std::array<mode_flag, 5> mode_flags{{{"mpi-pool", &mode::mpi_pool},
                                                      {"inline-request", &mode::inline_request},
                                                      {"inline-completion", &mode::inline_completion},
                                                      {"high-priority", &mode::high_priority},
                                                      {"bypass", &mode::bypass}}};

inline void set_flag(mode &made, std::string_view name) {
    for (const mode_flag &flag : mode_flags)
        if (flag.name == name) {
            made.*flag.member = true;
            return;
        }
    std::string known;
    for (const std::string_view method : handler_names)
        known.append(known.empty() ? "" : ", ").append(method);
    for (const mode_flag &flag : mode_flags)
        known.append(", ").append(flag.name);
    throw std::invalid_argument("thence: '" + std::string(name) +
                                "' is no handler method or flag of a mode; there are " + known);
}

} // namespace detail

/** @brief Reads `METHOD[,FLAG...]`, such as `new-task,mpi-pool,high-priority`. Flags that are not named are not set.
 *  @throws std::invalid_argument, with the words that there are. */
inline mode parse_mode(std::string_view text) {
    mode made{.method = handler::continuation, .inline_request = false};
    bool method_named = false;
    while (!text.empty()) {
        const std::size_t end = text.find(',');
        const std::string_view word = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        bool is_method = false;
        for (std::size_t i = 0; i < detail::handler_names.size(); ++i)
            if (detail::handler_names[i] == word) {
                if (method_named)
                    throw std::invalid_argument("thence: a mode has one handler method, '" + std::string(word) +
                                                "' is a second one");
                made.method = static_cast<handler>(i);
                is_method = method_named = true;
            }
        if (!is_method)
            detail::set_flag(made, word);
    }
    if (!method_named)
        throw std::invalid_argument("thence: a mode begins with its handler method: yield-while, suspend-resume, "
                                    "continuation, new-task or mpix");
    return made;
}

/** @brief What parse_mode() reads. */
inline std::string to_string(const mode &of) {
    std::string text(detail::handler_names[static_cast<std::size_t>(of.method)]);
    for (const detail::mode_flag &flag : detail::mode_flags)
        if (of.*flag.member)
            text.append(1, ',').append(flag.name);
    return text;
}

/** @brief The mode of pools that are made without one: `THENCE_MODE` if it is set, else
 *         `continuation,inline-request`: no other mode whose continuations may do anything measured clearly
 *         faster (see docs/guide/pools.md, and `thence bench ring_default`).
 *  @throws std::invalid_argument if `THENCE_MODE` is no mode. */
inline mode default_mode() {
    const char *wanted = std::getenv("THENCE_MODE");
    return wanted == nullptr || *wanted == '\0' ? mode{} : parse_mode(wanted);
}

} // namespace thence

#endif // C++20
#endif
