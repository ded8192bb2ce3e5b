// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/report.hpp"

#include "core/base/clock.hpp"
#include "core/base/settings.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/trace_events.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/test_until_complete.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <utility>

namespace thence::interpose {

namespace {

// A text has a line for each of at most so many ranks.
constexpr std::size_t most_lines = 16;
// Of the time of the program: what is less is not worth a switch.
constexpr double small_part = 0.01;

// Ranks may come to MPI_Finalize at different times, the longer their program has run the more. One that does not
// report never sends.
constexpr base::nanoseconds waits_silently = 10'000'000'000;
constexpr base::nanoseconds waits_at_least = 60'000'000'000; // or as long as the program has lasted

base::nanoseconds begun = 0; // 0: nothing is measured

constexpr std::size_t figure_count = 11;
constexpr std::array<const char *, figure_count> figure_names{"lasted_s",
                                                              "helper_s",
                                                              "starting_and_testing_s",
                                                              "blocking_s",
                                                              "waiting_s",
                                                              "waiting_after_computed_s",
                                                              "helper_kept_out_s",
                                                              "operations",
                                                              "bytes",
                                                              "completed_while_computing",
                                                              "bytes_completed_while_computing"};
constexpr std::size_t times = 7; // the first so many are times

std::array<std::int64_t, figure_count> figures_of(const rank_report &rank) {
    const measured_figures &f = rank.figures;
    return {rank.lasted,        rank.helper,  f.starting_and_testing,
            f.blocking,         f.waiting,    f.waiting_after_computed,
            rank.kept_out,      f.operations, f.bytes,
            f.early_operations, f.early_bytes};
}

[[gnu::format(printf, 1, 2)]] std::string format(const char *how, ...) {
    std::array<char, 400> text{};
    va_list arguments;
    va_start(arguments, how);
    std::vsnprintf(text.data(), text.size(), how, arguments);
    va_end(arguments);
    return text.data();
}

// As JSON has it, whatever the locale of the program has for a decimal point.
std::string number(double value) {
    std::array<char, 64> text{};
    constexpr int digits = 9;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits).ptr;
    return {text.data(), end};
}

double seconds(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e9;
}

std::string amount(std::int64_t bytes) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) {
        value /= 1024;
    }
    return format(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

using words = std::array<std::int64_t, sizeof(rank_report) / sizeof(std::int64_t)>;

rank_report sum_of(const std::vector<rank_report> &ranks) {
    words sum{};
    for (const rank_report &each : ranks) {
        std::ranges::transform(sum, std::bit_cast<words>(each), sum.begin(), std::plus());
    }
    return std::bit_cast<rank_report>(sum);
}

std::string line_of(const char *name, const rank_report &rank) {
    const measured_figures &f = rank.figures;
    return format("%6s %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %11lld %10s %11lld %10s\n", name, seconds(rank.lasted),
                  seconds(f.blocking), seconds(f.waiting), seconds(f.waiting_after_computed),
                  seconds(f.starting_and_testing), seconds(rank.helper), static_cast<long long>(f.operations),
                  amount(f.bytes).c_str(), static_cast<long long>(f.early_operations), amount(f.early_bytes).c_str());
}

// One that text_of() and json_of() are made of.
struct reported_run {
    rank_report sum;
    const std::optional<run_without_progress> &before;
    const std::string &program;
    std::size_t ranks;

    // As JSON has the names.
    bool is_comparable() const {
        return before && diagnose::quoted(before->program) == diagnose::quoted(program) && before->ranks == ranks;
    }
};

std::string on_ranks(const std::string &program, std::size_t ranks) {
    return program + " on " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

std::string why_not_compared(const reported_run &run) {
    return !run.before || run.is_comparable()
               ? std::string()
               : " This is not compared with the run whose report the file had: that was of " +
                     on_ranks(run.before->program, run.before->ranks) + ", and this one is of " +
                     on_ranks(run.program, run.ranks) + ".";
}

std::string conclusion(const reported_run &run) {
    const rank_report &sum = run.sum;
    const double all = seconds(sum.lasted);
    const double waited = seconds(sum.figures.waiting_after_computed);
    if (sum.progress_always != 0) {
        const std::string left =
            run.is_comparable()
                ? format("%.1f s of %.1f s were waited for operations that could have moved during computation, in "
                         "the run whose report the file had; with --progress %.1f s of %.1f s. ",
                         run.before->waited, run.before->lasted, waited, all)
                : format("%.1f s of %.1f s were still waited for operations that had been started before a "
                         "computation. ",
                         waited, all);
        return left +
               format("%lld operations of %s completed while the program computed; the helper threads used "
                      "%.1f s of processor time for that.",
                      static_cast<long long>(sum.figures.early_operations), amount(sum.figures.early_bytes).c_str(),
                      seconds(sum.helper)) +
               why_not_compared(run);
    }
    if (waited < small_part * all) {
        return format("At most %.1f s of %.1f s were waited for operations that could have moved during computation: "
                      "--progress has little to gain.",
                      waited, all);
    }
    return format(
        "At most %.1f s of %.1f s were waited for operations that could have moved during computation. What was "
        "waited for a rank that came late is in it, too. With --progress they move: --report=FILE in a run "
        "without it and then in one with it compares the two.",
        waited, all);
}

// The number behind a name in an object of a report.
std::optional<double> number_in(const std::string &json, const char *object, const char *name) {
    const std::size_t begin = json.find(format("\"%s\":{", object));
    const std::size_t end = begin != std::string::npos ? json.find('}', begin) : begin;
    const std::string key = format("\"%s\":", name);
    const std::size_t at = end != std::string::npos ? json.find(key, begin) : end;
    double value = 0;
    return at < end && std::from_chars(json.data() + at + key.size(), json.data() + end, value).ec == std::errc()
               ? std::optional(value)
               : std::nullopt;
}

// The text behind a name, as diagnose::quoted() has written it.
std::optional<std::string> text_in(const std::string &json, const char *name) {
    const std::string key = format("\"%s\":\"", name);
    const std::size_t found = json.find(key);
    if (found == std::string::npos) {
        return std::nullopt;
    }
    std::string text;
    for (std::size_t at = found + key.size(); at < json.size() && json[at] != '"'; ++at) {
        at += json[at] == '\\' && at + 1 < json.size() ? 1 : 0;
        text += json[at];
    }
    return text;
}

std::string read_file(const std::string &name) {
    std::string text;
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
        std::fopen(name.c_str(), "re"), [](std::FILE *closed) { return closed != nullptr ? std::fclose(closed) : 0; });
    constexpr std::size_t most = 1 << 26; // a larger file is none of ours
    std::array<char, 4096> part{};
    while (file != nullptr && std::feof(file.get()) == 0 && std::ferror(file.get()) == 0 && text.size() < most) {
        text.append(part.data(), std::fread(part.data(), 1, part.size(), file.get()));
    }
    return text;
}

void write_file(const std::string &name, const std::string &text) {
    errno = 0;
    std::FILE *const file = std::fopen(name.c_str(), "we");
    const bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
    if ((file != nullptr && std::fclose(file) != 0) || !written) {
        diagnose::print_to_stderr("THENCE_REPORT: cannot write " + name + ": " + std::strerror(errno) + "\n");
    }
}

rank_report own_report() noexcept {
    const base::nanoseconds stopped = progress::plain.stopped.load();
    const bool uses_thence = !progress::measures_calls();
    const base::nanoseconds lasted = (uses_thence ? stopped : base::read_clock()) - begun;
    const bool always = base::current_settings().progress_always;
    return {lasted,
            progress::helper_processor_time(),
            always ? 1 : 0,
            uses_thence ? 1 : 0,
            always ? std::min(lasted, progress::helper_was_kept_out()) : 0,
            read_measured()};
}

} // namespace

// The request of a rank that gives up stays pending, so its buffers are never freed then.
std::vector<rank_report> gather_reports(const rank_report &own, base::nanoseconds says_after,
                                        base::nanoseconds gives_up_after) {
    struct buffers {
        rank_report own;
        std::vector<rank_report> all;
        buffers *given_up_before = nullptr; // a tool that looks for lost memory finds them
    };
    static buffers *given_up = nullptr; // by one thread, the one in MPI_Finalize
    int rank = -1;
    int size = 0;
    mpi::table.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi::table.Comm_size(MPI_COMM_WORLD, &size);
    auto sent = std::make_unique<buffers>(
        buffers{own, std::vector<rank_report>(rank == 0 ? static_cast<std::size_t>(size) : 0), given_up});
    constexpr int count = std::tuple_size_v<words>;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = mpi::table.Igather(&sent->own, count, MPI_INT64_T, sent->all.data(), count, MPI_INT64_T, 0,
                                        MPI_COMM_WORLD, &request);
    bool said = false;
    bool gives_up = false;
    const auto goes_on = [&](base::nanoseconds waited) {
        if (waited >= says_after && !std::exchange(said, true)) {
            diagnose::print_to_stderr("THENCE_REPORT: this rank waits for the figures of others. If not all ranks of "
                                      "MPI_COMM_WORLD have THENCE_REPORT set, set it for all of them or for none\n");
        }
        gives_up = waited >= gives_up_after;
        return !gives_up;
    };
    const bool complete = code == MPI_SUCCESS && test_until_complete(request, goes_on);
    if (gives_up) {
        given_up = sent.release();
        return rank == 0 ? std::vector<rank_report>{own} : std::vector<rank_report>();
    }
    return complete ? std::move(sent->all) : std::vector<rank_report>();
}

void begin_report() noexcept {
    reset_measured();
    begun = base::read_clock();
    progress::measure_calls();
}

void write_report() noexcept {
    if (begun == 0) {
        return;
    }
    const rank_report own = own_report();
    begun = 0;
    try {
        const std::vector<rank_report> all =
            gather_reports(own, waits_silently, std::max<base::nanoseconds>(waits_at_least, own.lasted));
        if (all.empty()) {
            return;
        }
        const std::string &given = base::current_settings().report_file;
        const std::string name = given.empty() ? given : diagnose::own_file_name(given);
        const auto before = !name.empty() ? without_progress_in(read_file(name)) : std::nullopt;
        diagnose::print_to_stderr(text_of(all, before));
        if (!name.empty()) {
            write_file(name, json_of(all, before));
        }
    } catch (const std::bad_alloc &) {
        std::fputs("thence: THENCE_REPORT: no memory for a report\n", stderr);
    }
}

std::optional<run_without_progress> without_progress_in(const std::string &json) {
    const char *const object = json.find("\"progress\":false") != std::string::npos ? "sum" : "before";
    const auto lasted = number_in(json, object, "lasted_s");
    const auto waited = number_in(json, object, "waiting_after_computed_s");
    const auto ranks = number_in(json, "run", "ranks");
    const auto program = text_in(json, "program");
    return json.starts_with("{\"report\":1,") && lasted && waited && ranks && program
               ? std::optional(run_without_progress{*lasted, *waited, *program, static_cast<std::size_t>(*ranks)})
               : std::nullopt;
}

std::string name_of_program() {
    return program_invocation_short_name;
}

std::string text_of(const std::vector<rank_report> &ranks, const std::optional<run_without_progress> &before,
                    const std::string &program) {
    const rank_report sum = sum_of(ranks);
    std::string text = "report, in seconds and operations; completed early: while the program computed\n"
                       "                   in calls   waiting   of these     start   helper                            "
                       "completed\n"
                       "  rank    lasted  that block   for ops   computed  and test    thread  operations      bytes   "
                       "    early      bytes\n";
    for (std::size_t i = 0; ranks.size() <= most_lines && i < ranks.size(); ++i) {
        text += line_of(std::to_string(i).c_str(), ranks[i]);
    }
    text += line_of("all", sum);
    if (sum.uses_thence != 0) {
        text += "The program uses Thence itself. What came after its first use is not measured.\n";
    }
    if (sum.progress_always != 0 && sum.kept_out != 0) {
        text += format("The helper threads made no progress for the program during %.1f s of these %.1f s, in which "
                       "files of MPI were open: with Open MPI no second thread may be in MPI then.\n",
                       seconds(sum.kept_out), seconds(sum.lasted));
    }
    return text + conclusion({sum, before, program, ranks.size()}) + "\n";
}

std::string json_of(const std::vector<rank_report> &ranks, const std::optional<run_without_progress> &before,
                    const std::string &program) {
    const auto object = [](const rank_report &rank) {
        const auto figures = figures_of(rank);
        std::string text;
        for (std::size_t i = 0; i < figure_count; ++i) {
            text += format("%s\"%s\":", i == 0 ? "{" : ",", figure_names[i]);
            text += i < times ? number(seconds(figures[i])) : std::to_string(figures[i]);
        }
        return text + "}";
    };
    const rank_report sum = sum_of(ranks);
    const reported_run run{sum, before, program, ranks.size()};
    std::string text = format("{\"report\":1,\"progress\":%s,\"uses_thence\":%s,\n",
                              sum.progress_always != 0 ? "true" : "false", sum.uses_thence != 0 ? "true" : "false") +
                       "\"run\":{\"ranks\":" + std::to_string(ranks.size()) +
                       ",\"program\":" + diagnose::quoted(program) + "},\n\"ranks\":[";
    for (const rank_report &each : ranks) {
        text += (&each == ranks.data() ? "\n" : ",\n") + object(each);
    }
    text += "],\n\"sum\":" + object(sum);
    if (sum.progress_always != 0 && run.is_comparable()) {
        text += ",\n\"before\":{\"lasted_s\":" + number(before->lasted) +
                ",\"waiting_after_computed_s\":" + number(before->waited) + "}";
    }
    return text + ",\n\"conclusion\":" + diagnose::quoted(conclusion(run)) + "}\n";
}

} // namespace thence::interpose
