// SPDX-License-Identifier: BSD-3-Clause
// Runs another program and returns its output. If it exceeds its time limit, it is killed with its process group.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace measure {

struct outcome {
    int exit_code = -1; // 128 + signal if a signal ended it
    bool timed_out = false;
    std::string output; // standard output
    std::string errors; // standard error
};

// Thrown for a program that was killed since it exceeded its time limit.
class exceeded_limit : public std::runtime_error {
public:
    exceeded_limit(std::chrono::seconds limit, const std::string &program_and_output)
        : std::runtime_error("still running after " + std::to_string(limit.count()) + " s: " + program_and_output),
          limit_(limit) {}
    std::chrono::seconds limit() const { return limit_; }

private:
    std::chrono::seconds limit_;
};

enum class errors { keep, show }; // show: the program inherits standard error

// `environment` changes the environment of this process for the program: NAME=value sets a variable, NAME removes one.
// Throws std::runtime_error if the program cannot be started.
outcome run_program(const std::vector<std::string> &command, const std::vector<std::string> &environment,
                    std::chrono::seconds limit, errors standard_error = errors::keep);

// The folder that holds the running executable.
std::string own_folder();

// The command `thence` of the installation or the build tree of the running executable. Its name ends as those of the
// libraries do (THENCE_LIBRARY_SUFFIX).
std::string thence_command();

// Splits the text at white space. Quotes have no meaning.
std::vector<std::string> words(const std::string &text);

} // namespace measure
