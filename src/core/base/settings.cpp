// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <forward_list>
#include <initializer_list>
#include <mutex>
#include <unistd.h>

namespace thence::base {

namespace {

using std::chrono::milliseconds;

constexpr double longest_ms = 7 * 24 * 3600 * 1000.0;
constexpr std::size_t default_trace_limit = 250000;

bool switches_off(const std::string &text) {
    return text.empty() || text == "off" || text == "0";
}

// Reads one variable. `parse(state)` is called if it is set and not empty, and sets `in_force` or `complaint`.
template <class Parse> void read(settings &all, setting which, Parse &&parse) {
    setting_state &state = all.states[static_cast<std::size_t>(which)];
    const char *text = std::getenv(row(which).name);
    if (text != nullptr) {
        state.text = text;
    }
    if (state.text.value_or("").empty()) {
        state.in_force = row(which).default_value;
    } else {
        parse(state);
    }
}

std::string complaint(setting which, const setting_state &state, const std::string &reason) {
    return std::string(row(which).name) + "=" + *state.text + ": " + reason;
}

// `consequence`: the sentence that tells the user what happens if the value cannot be parsed.
milliseconds read_duration(settings &all, setting which, int shortest_ms, const std::string &example,
                           const char *consequence) {
    milliseconds result{0};
    read(all, which, [&](setting_state &state) {
        state.in_force = "off";
        if (switches_off(*state.text)) {
            return;
        }
        if (const auto duration = parse_duration(*state.text, shortest_ms)) {
            result = *duration;
            state.in_force = std::to_string(result.count()) + "ms";
        } else {
            state.complaint = complaint(which, state,
                                        "not a duration between " + std::to_string(shortest_ms) +
                                            "ms and one week. Write a number with ms, s or min, as in " +
                                            row(which).name + "=" + example + ". " + consequence);
        }
    });
    return result;
}

// @return the value as it is written, or `off`. `words`: the values that it may have. `advice`: what the complaint
// about another value says.
std::string read_word(settings &all, setting which, std::initializer_list<std::string_view> words, const char *advice) {
    std::string word = row(which).default_value;
    read(all, which, [&](setting_state &state) {
        const std::string text = *state.text == "1" ? "on" : *state.text;
        if (std::ranges::find(words, text) != words.end()) {
            word = text;
        } else if (!switches_off(*state.text)) {
            state.complaint = complaint(which, state, std::string("an unknown value. ") + advice);
        }
        state.in_force = word;
    });
    return word;
}

void read_trace_limit(settings &all) {
    all.trace_limit = default_trace_limit;
    read(all, setting::trace_limit, [&](setting_state &state) {
        std::size_t limit = 0;
        const char *end = state.text->data() + state.text->size();
        const auto [stop, fault] = std::from_chars(state.text->data(), end, limit);
        if (fault != std::errc{} || stop != end || limit == 0) {
            state.complaint = complaint(setting::trace_limit, state,
                                        "not a positive number. The limit stays at " +
                                            std::to_string(default_trace_limit) + " continuations.");
        } else {
            all.trace_limit = limit;
        }
        state.in_force = std::to_string(all.trace_limit);
    });
}

// The text as it is. `value` stays empty if the text switches it off.
void read_text(settings &all, setting which, std::string &value, bool can_be_off) {
    read(all, which, [&](setting_state &state) {
        const bool off = can_be_off && switches_off(*state.text);
        value = off ? std::string() : *state.text;
        state.in_force = off ? "off" : value;
    });
}

bool is_setting(std::string_view name) {
    return std::ranges::find(setting_rows, name, &setting_row::name) != setting_rows.end();
}

std::vector<std::string> unknown_names() {
    std::vector<std::string> found;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::string_view name = text.substr(0, text.find('='));
        if (name.starts_with("THENCE_") && !is_setting(name)) {
            found.emplace_back(name);
        }
    }
    return found;
}

settings read_environment() {
    settings all;
    std::string mode; // the pools parse it
    read_text(all, setting::engine, all.engine, false);
    const std::string progress = read_word(
        all, setting::progress, {"thread", "task", "always"},
        "Write thread (the library's own thread makes progress too), task (a task of a runtime with ALPI does "
        "for TAMPI), always (the thread, also for operations without continuations) or off (MPI calls alone "
        "do). The helper thread stays off.");
    all.helper_wanted = progress == "thread";
    all.task_wanted = progress == "task";
    all.progress_always = progress == "always";
    read(all, setting::progress_cpu, [&](setting_state &state) {
        state.in_force = "off";
        if (state.text == "off") { // 0 is a processor
            return;
        }
        all.progress_cpus = parse_processors(*state.text);
        if (all.progress_cpus.empty()) {
            state.complaint = complaint(setting::progress_cpu, state,
                                        "no list of processors. Write numbers from 0 to 1023 and ranges, as in "
                                        "THENCE_PROGRESS_CPU=0-3,8. The helper thread is not bound.");
        } else {
            state.in_force = *state.text;
        }
    });
    const std::string wait = read_word(all, setting::wait, {"yield", "sleep", "spin"},
                                       "Write spin (as MPI does), yield or sleep. Blocking calls wait as MPI does.");
    all.wait = wait == "sleep" ? waiting::sleep : wait == "yield" ? waiting::yield : waiting::in_mpi;
    read_text(all, setting::report, all.report_file, true);
    all.report = !all.report_file.empty();
    if (all.report_file == "on" || all.report_file == "1") {
        all.report_file.clear();
    }
    all.stall = read_duration(all, setting::stall, 10, "10s", "Stalls will not be reported.");
    all.slow = read_duration(all, setting::slow_continuation, 1, "5ms", "Slow continuations will not be reported.");
    read_text(all, setting::pools_mode, mode, false);
    read_text(all, setting::trace, all.trace, true);
    read_trace_limit(all);
    all.check_streams =
        read_word(all, setting::check_streams, {"on"}, "Write on or off. Streams will not be checked.") == "on";
    all.onesided_messages =
        read_word(all, setting::onesided, {"shm", "messages"},
                  "Write shm or messages. Processes of one node use shared memory where possible.") == "messages";
    all.unknown = unknown_names();
    return all;
}

// What was read is kept: others have pointers to its texts. A process that reads the same environment again gets the
// same object.
struct readings {
    std::mutex mutex;
    std::forward_list<settings> all;
    const settings *current = nullptr;
};

// Never destroyed: a thread may ask while the process exits.
readings &stored() {
    static auto *object = new readings;
    return *object;
}

const settings &read_locked(readings &kept) {
    settings now = read_environment();
    for (const settings &earlier : kept.all) {
        if (earlier == now) {
            return *(kept.current = &earlier);
        }
    }
    kept.all.push_front(std::move(now));
    return *(kept.current = &kept.all.front());
}

} // namespace

std::optional<milliseconds> parse_duration(std::string_view text, double shortest_ms) {
    double number = 0;
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
    if (unit == "s" || unit.empty()) {
        number *= 1000;
    } else if (unit == "min") {
        number *= 60000;
    } else if (unit != "ms") {
        return std::nullopt;
    }
    if (!(number >= shortest_ms && number <= longest_ms)) { // false for NaN, too
        return std::nullopt;
    }
    return milliseconds{static_cast<milliseconds::rep>(number)};
}

std::vector<int> parse_processors(std::string_view text) {
    constexpr int most = 1023;
    std::vector<int> all;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        const char *const begin = part.data();
        const char *const end = begin + part.size();
        int first = 0;
        auto [stop, fault] = std::from_chars(begin, end, first);
        int last = first;
        if (fault == std::errc{} && stop != end && *stop == '-') {
            const std::from_chars_result second = std::from_chars(stop + 1, end, last);
            stop = second.ptr;
            fault = second.ec;
        }
        if (fault != std::errc{} || stop != end || first < 0 || last < first || last > most) {
            return {};
        }
        for (int each = first; each <= last; ++each) {
            all.push_back(each);
        }
        if (part.size() == text.size()) {
            return all;
        }
        text.remove_prefix(part.size() + 1);
    }
    return {}; // it ends with a comma, or there is nothing
}

const settings &read_settings() {
    readings &kept = stored();
    const std::scoped_lock guard(kept.mutex);
    return read_locked(kept);
}

const settings &current_settings() {
    readings &kept = stored();
    const std::scoped_lock guard(kept.mutex);
    return kept.current != nullptr ? *kept.current : read_locked(kept);
}

} // namespace thence::base
