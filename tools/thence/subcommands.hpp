// SPDX-License-Identifier: BSD-3-Clause
// The sub-commands of `thence`, one source file each. Each function adds its sub-command to `app`; if the user names
// it, it runs while `app` parses the command line, and writes its exit status to `status`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace command {

// Exit statuses of every sub-command but `bench`, which has one more: 1, a bar is not met.
enum exit_status { done = 0, wrong_usage = 2, failed = 3 };

void add_info(CLI::App &app, int &status);
// `from_dashes`: the words of the command line from the first `--` on, which `app` does not parse.
void add_run(CLI::App &app, int &status, const std::vector<std::string> &from_dashes);
void add_trace(CLI::App &app, int &status);
void add_bench(CLI::App &app, int &status);

} // namespace command
