// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/findings.hpp"

#include "measure/figure.hpp"
#include "measure/process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

namespace doctor {

namespace {

using measure::text_of;

// What is gained or lost below these is noise, and what one size alone gains may be. So it is advised only where at
// least so many sizes of an operation gain.
constexpr double worth_it = 1.05;
constexpr std::size_t sizes_that_gain = 2;
constexpr double shortest_gain = 0.05; // milliseconds
// A wait that leaves the processor is for barriers that take many times as long.
constexpr double worth_sleeping = 1.5;
constexpr double nearly_all = 0.8;

bool gains(const overlap &each) {
    return each.gain() >= worth_it && each.plain - each.with_progress >= shortest_gain;
}
bool loses(const overlap &each) {
    return each.gain() <= 1 / worth_it && each.with_progress - each.plain >= shortest_gain;
}

std::string size_of(long bytes) {
    return bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + " MiB"
           : bytes % 1024 == 0    ? std::to_string(bytes >> 10) + " KiB"
                                  : std::to_string(bytes) + " bytes";
}

std::vector<std::string> operations_of(const findings &found) {
    std::vector<std::string> names;
    for (const overlap &each : found.overlaps) {
        if (std::find(names.begin(), names.end(), each.operation) == names.end()) {
            names.push_back(each.operation);
        }
    }
    return names;
}

// If it fails with progress, and works without.
void tell_failure(const findings &found, const std::string &operation, std::vector<std::string> &sentences) {
    const auto fails = std::find_if(found.overlaps.begin(), found.overlaps.end(), [&](const overlap &each) {
        return each.operation == operation && each.fails_with_progress;
    });
    if (fails != found.overlaps.end()) {
        const long seconds = fails->seconds_with_progress;
        sentences.push_back(
            "With --progress " + operation +
            (seconds != 0 ? " of " + size_of(fails->bytes) + " was still running after " + std::to_string(seconds) +
                                " s here, which is the limit, and ends without."
                          : " fails here, and works without.") +
            (fails->why_with_progress.empty() ? "" : " Thence says: " + fails->why_with_progress + "."));
    }
}

std::string in_words(const std::vector<std::string> &words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    }
    return text;
}

std::string in_place_of(const overlap &each) {
    return text_of(each.with_progress) + " ms in place of " + text_of(each.plain);
}

std::string two_digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", value);
    return text.data();
}

// 1.20 to 1.66 times as fast
std::string times_as_fast(const std::vector<const overlap *> &all) {
    const auto [least, most] =
        std::minmax_element(all.begin(), all.end(), [](auto *a, auto *b) { return a->gain() < b->gain(); });
    const std::string first = two_digits((*least)->gain());
    const std::string last = two_digits((*most)->gain());
    return first + (first == last ? "" : " to " + last) + " times as fast";
}

// @return how much faster it is with progress, if that is to be advised; else an empty text.
std::string advise_operation(const findings &found, const std::string &operation, std::vector<std::string> &sentences) {
    const overlap *best = nullptr;
    const overlap *worst = nullptr;
    std::vector<const overlap *> gaining;
    std::vector<std::string> sizes;
    for (const overlap &each : found.overlaps) {
        if (each.operation != operation || !each.failed.empty()) {
            continue;
        }
        best = best == nullptr || each.gain() > best->gain() ? &each : best;
        worst = worst == nullptr || each.gain() < worst->gain() ? &each : worst;
        if (gains(each)) {
            gaining.push_back(&each);
            sizes.push_back(size_of(each.bytes));
        }
    }
    if (best == nullptr) {
        return {};
    }
    std::string gain;
    if (gaining.size() >= sizes_that_gain) {
        gain = times_as_fast(gaining);
        sentences.push_back("--progress pays for " + operation + " of " + in_words(sizes) +
                            " beside computation that takes as long: a step is " + gain + ". With " +
                            size_of(best->bytes) + " it takes " + in_place_of(*best) + ".");
    } else if (!gaining.empty()) {
        sentences.push_back("With --progress " + operation + " of " + sizes[0] + " is faster, " +
                            in_place_of(*gaining[0]) + ", and no other size is: one size is too little to advise it.");
    } else if (best->hidden(best->plain) >= nearly_all) {
        sentences.push_back("This MPI hides " + operation + " by itself.");
    } else {
        sentences.push_back("--progress gains nothing for " + operation + " here.");
    }
    if (loses(*worst)) {
        sentences.push_back("It makes " + operation + " of " + size_of(worst->bytes) +
                            " slower: " + in_place_of(*worst) + ".");
    }
    return gain;
}

std::string in_place_of(const both_ways &found, const std::string &unit) {
    return text_of(found.with_switch) + " " + unit + " in place of " + text_of(found.plain);
}

nlohmann::json json_of(const std::optional<both_ways> &found) {
    return found ? nlohmann::json{{"plain", found->plain}, {"with", found->with_switch}} : nlohmann::json();
}

} // namespace

advice advise(const findings &found) {
    advice given;
    std::vector<std::string> &text = given.sentences;
    std::vector<std::string> gains;
    for (const std::string &operation : operations_of(found)) {
        tell_failure(found, operation, text);
        if (const std::string gain = advise_operation(found, operation, text); !gain.empty()) {
            gains.push_back(operation + " (" + gain + ")");
        }
    }
    if (!gains.empty()) {
        given.switches.push_back("--progress, for " + in_words(gains));
    }
    if (found.of_a_rank == 1 && found.processors > 1) {
        text.emplace_back("The launcher lets each rank run on one processor only, so the helper thread of --progress "
                          "shares it with the computation: give each rank more than one, as by --bind-to none of "
                          "mpirun, or name others by --progress-cpu.");
    }
    if (found.round_trip_us && found.message_us) {
        text.push_back("With --progress each message costs more: a round trip of 8 bytes " +
                       in_place_of(*found.round_trip_us, "us") + ", one of many messages " +
                       in_place_of(*found.message_us, "us") +
                       (found.multiple_us ? "; of the round trip, MPI_THREAD_MULTIPLE alone takes " +
                                                text_of(found.multiple_us->with_switch) + " us"
                                          : "") +
                       ". A program with many short messages and little computation loses.");
    }
    if (found.barrier_us) {
        const std::string what = "a barrier of " + std::to_string(found.oversubscribed_ranks) + " ranks on " +
                                 std::to_string(found.all_processors()) + " processors takes " +
                                 in_place_of(*found.barrier_us, "us") + ".";
        if (found.barrier_us->plain >= worth_sleeping * found.barrier_us->with_switch) {
            text.push_back("--wait=sleep pays where ranks are more than processors: " + what);
            given.switches.emplace_back("--wait=sleep, if ranks are more than processors");
        } else {
            text.push_back("--wait=sleep gains nothing where ranks are more than processors: " + what);
        }
    }
    if (found.waiting_share) {
        text.push_back("With --wait=sleep a rank that waits uses " + text_of(found.waiting_share->with_switch) +
                       " % of a processor in place of " + text_of(found.waiting_share->plain) +
                       (found.late_us ? ", and knows of a message after " + in_place_of(*found.late_us, "us") : "") +
                       ".");
    }
    if (found.hosts == 1) {
        text.emplace_back(
            "Both ranks ran on one host. Between hosts more is to be gained: give a launcher that places them "
            "on two, as in thence doctor --mpiexec \"mpirun --map-by node\".");
    }
    return given;
}

std::string said_by_thence(const std::string &text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t end = line.find("]: ");
        if (line.starts_with("thence[") && end != std::string::npos) {
            return line.substr(end + 3);
        }
    }
    return {};
}

void set_runs(overlap &result, std::vector<double> plain, std::vector<double> with_progress) {
    result.plain = measure::median_of(plain).value;
    result.with_progress = measure::median_of(with_progress).value;
    result.plain_runs = std::move(plain);
    result.with_progress_runs = std::move(with_progress);
}

void failed_with_progress(overlap &result, const std::runtime_error &error) {
    result.fails_with_progress = true;
    result.why_with_progress = said_by_thence(error.what());
    if (const auto *late = dynamic_cast<const measure::exceeded_limit *>(&error); late != nullptr) {
        result.seconds_with_progress = static_cast<long>(late->limit().count());
    }
}

void to_json(nlohmann::json &json, const findings &found) {
    nlohmann::json overlaps = nlohmann::json::array();
    for (const overlap &each : found.overlaps) {
        nlohmann::json one{{"operation", each.operation}, {"bytes", each.bytes}};
        if (each.failed.empty()) {
            one.update({{"alone_ms", each.alone},
                        {"computation_ms", each.computation},
                        {"plain_ms", each.plain},
                        {"with_progress_ms", each.with_progress},
                        {"plain_runs_ms", each.plain_runs},
                        {"with_progress_runs_ms", each.with_progress_runs},
                        {"hidden_plain", each.hidden(each.plain)},
                        {"hidden_with_progress", each.hidden(each.with_progress)}});
        } else {
            one["not_measured"] = each.failed;
            one["fails_with_progress"] = each.fails_with_progress;
            if (each.seconds_with_progress != 0) {
                one["still_running_with_progress_after_s"] = each.seconds_with_progress;
            }
        }
        overlaps.push_back(one);
    }
    const advice given = advise(found);
    json = {{"processors", found.processors},
            {"processors_of_a_rank", found.of_a_rank},
            {"hosts", found.hosts},
            {"overlap", overlaps},
            {"round_trip_us", json_of(found.round_trip_us)},
            {"message_us", json_of(found.message_us)},
            {"round_trip_at_multiple_us", json_of(found.multiple_us)},
            {"waiting_percent_of_a_processor", json_of(found.waiting_share)},
            {"late_us", json_of(found.late_us)},
            {"oversubscribed_ranks", found.oversubscribed_ranks},
            {"barrier_us", json_of(found.barrier_us)},
            {"not_measured", found.not_measured},
            {"advice", given.sentences},
            {"switches", given.switches}};
}

} // namespace doctor
