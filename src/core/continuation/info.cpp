// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/info.hpp"

#include "core/base/settings.hpp"
#include "core/mpi/info.hpp"

#include <charconv>
#include <optional>
#include <string>

namespace thence::continuation {
namespace {

constexpr const char *max_poll_key = "mpi_continue_max_poll";
constexpr const char *thread_key = "mpi_continue_thread";

// Sets or clears `bit` as the boolean key says. False for a value that is no boolean.
bool read_bool(MPI_Info info, const char *key, unsigned bit, unsigned &flags) {
    const std::optional<std::string> value = mpi::value_of(info, key);
    if (!value) {
        return true;
    }
    if (*value != "true" && *value != "false") {
        return false;
    }
    flags = *value == "true" ? flags | bit : flags & ~bit;
    return true;
}

bool read_max_poll(MPI_Info info, int &max_poll) {
    const std::optional<std::string> value = mpi::value_of(info, max_poll_key);
    if (!value) {
        return true;
    }
    int number = 0;
    const char *end = value->data() + value->size();
    const auto [last, fault] = std::from_chars(value->data(), end, number);
    if (fault != std::errc() || last != end || number < -1) {
        return false;
    }
    max_poll = number;
    return true;
}

bool read_thread(MPI_Info info, unsigned &flags) {
    const std::optional<std::string> value = mpi::value_of(info, thread_key);
    if (!value) {
        // THENCE_PROGRESS=thread: the helper thread runs the callbacks of every CR that does not forbid it.
        if (base::current_settings().helper_wanted) {
            flags |= THENCE_CR_ANY_THREAD;
        }
        return true;
    }
    if (*value == "any" || *value == "all") {
        flags |= THENCE_CR_ANY_THREAD;
    } else if (*value == "application") {
        flags &= ~static_cast<unsigned>(THENCE_CR_ANY_THREAD);
    } else {
        return false;
    }
    return true;
}

} // namespace

const char *read_info(MPI_Info info, cr_options &options) {
    cr_options read = options;
    constexpr struct {
        const char *key;
        unsigned bit;
    } switches[] = {{"mpi_continue_poll_only", THENCE_CR_POLL_ONLY},
                    {"mpi_continue_enqueue_complete", THENCE_CR_ENQUEUE_COMPLETE},
                    {"mpi_continue_async_signal_safe", THENCE_CR_SIGNAL_SAFE}};
    for (const auto &each : switches) {
        if (!read_bool(info, each.key, each.bit, read.flags)) {
            return each.key;
        }
    }
    if (!read_max_poll(info, read.max_poll)) {
        return max_poll_key;
    }
    if (!read_thread(info, read.flags)) {
        return thread_key;
    }
    options = read;
    return nullptr;
}

} // namespace thence::continuation
