// SPDX-License-Identifier: BSD-3-Clause
// `thence trace join`: one timeline of all ranks from the files that they wrote. Two passes over the files, so that it
// needs no memory for them: the first checks them and reads how their clocks differ, the second writes.
#include "subcommands.hpp"
#include "timeline.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace command {
namespace {

namespace fs = std::filesystem;

struct join_options {
    std::vector<std::string> files;
    std::string output;
};

timeline_end end_of(const std::string &file) {
    timeline_reader reader(file);
    for (trace_event event; reader.next_event(event);) {
    }
    return reader.end();
}

std::vector<timeline_end> check(const join_options &chosen) {
    std::vector<timeline_end> ends;
    std::map<std::uint64_t, std::string> file_of;
    for (const std::string &file : chosen.files) {
        std::error_code ignored;
        if (fs::equivalent(file, chosen.output, ignored)) {
            throw std::runtime_error("the output " + chosen.output + " is one of the files to join");
        }
        ends.push_back(end_of(file));
        const auto [known, is_new] = file_of.emplace(ends.back().rank, file);
        if (!is_new) {
            throw std::runtime_error(known->second + " and " + file + " are both of rank " +
                                     std::to_string(ends.back().rank) + "; join the files of one run");
        }
    }
    return ends;
}

// Ranks of one host have one clock. Those of another host are moved by the difference of the hosts' wall clocks.
std::vector<std::int64_t> differences(const std::vector<timeline_end> &ends) {
    std::map<std::string, std::int64_t> of_host;
    std::vector<std::int64_t> result;
    for (const timeline_end &end : ends) {
        const std::int64_t difference = end.wall_clock_minus_ts - ends.front().wall_clock_minus_ts;
        result.push_back(of_host.emplace(end.host, difference).first->second);
    }
    return result;
}

void write(std::ostream &out, const join_options &chosen, const std::vector<timeline_end> &ends) {
    const std::vector<std::int64_t> moves = differences(ends);
    std::uint64_t continuations = 0;
    std::uint64_t dropped = 0;
    const char *between = "\n";
    out << "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":["; // the events are not in memory all at once
    for (std::size_t i = 0; i < ends.size(); ++i) {
        timeline_reader reader(chosen.files[i]);
        for (trace_event event; reader.next_event(event); between = ",\n") {
            move(event, moves[i]);
            out << between << event;
        }
        continuations += ends[i].continuations;
        dropped += ends[i].dropped;
    }
    const trace_event about{{"ranks", ends.size()}, {"continuations", continuations}, {"dropped", dropped}};
    out << "\n],\n\"otherData\":" << about << "}\n";
}

// A join that fails leaves the file as it was.
int join(const join_options &chosen) {
    const std::vector<timeline_end> ends = check(chosen);
    const std::string part = chosen.output + ".part";
    errno = 0;
    std::ofstream out(part, std::ios::trunc);
    std::error_code ignored;
    try {
        write(out, chosen, ends);
        out.close();
        if (!out) {
            throw std::runtime_error("cannot write " + chosen.output + ": " + std::strerror(errno));
        }
        fs::rename(part, chosen.output);
    } catch (...) {
        fs::remove(part, ignored);
        throw;
    }
    std::cout << chosen.output << ": " << ends.size() << (ends.size() == 1 ? " rank\n" : " ranks\n");
    return done;
}

} // namespace

void add_trace(CLI::App &app, int &status) {
    CLI::App *trace = app.add_subcommand("trace", "work on timelines that THENCE_TRACE made");
    trace->require_subcommand(1);
    const auto chosen = std::make_shared<join_options>();
    CLI::App *join_command = trace->add_subcommand("join", "put the timelines of all ranks into one file");
    join_command->add_option("FILE", chosen->files, "timelines, one per rank, of one run")->required();
    join_command->add_option("-o,--output", chosen->output, "file to write; open it in ui.perfetto.dev")->required();
    join_command->callback([chosen, &status] {
        try {
            status = join(*chosen);
        } catch (const std::runtime_error &error) {
            std::cerr << "thence trace join: " << error.what() << '\n';
            status = failed;
        }
    });
}

} // namespace command
