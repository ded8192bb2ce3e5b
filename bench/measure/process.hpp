// SPDX-License-Identifier: BSD-3-Clause
// Runs another program to its end and keeps what it printed. A program that runs too long is ended with all it started.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace measure {

struct outcome {
    int exit_code = -1; // 128 + signal if a signal ended it
    bool timed_out = false;
    std::string output; // standard output
    std::string errors; // standard error
};

enum class errors { keep, show }; // show: standard error goes where this process's goes

// `environment` holds NAME=value entries that are added to this process's own. Throws std::runtime_error if the
// program cannot be started.
outcome run_program(const std::vector<std::string> &command, const std::vector<std::string> &environment,
                    std::chrono::seconds limit, errors standard_error = errors::keep);

// The folder that holds the running executable.
std::string own_folder();

// Splits at white space, as a shell would without quotes.
std::vector<std::string> words(const std::string &text);

} // namespace measure
