// SPDX-License-Identifier: BSD-3-Clause
// Counts the instructions of marked calls in another process with valgrind's callgrind.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace measure {

// The function whose calls are counted; see measure/work.cpp.
inline constexpr const char *counted_function = "thence_bench_counted";

// Other threads make their own use of the processor, which valgrind's order of threads changes.
enum class count_of { process, main_thread };

// Runs `command` under callgrind and returns how many instructions each call of the counted function took, in all
// threads of the process or in its main thread, in the order of the calls. Throws std::runtime_error, with the output
// of the program, if that fails.
std::vector<double> instructions_per_call(const std::vector<std::string> &command,
                                          const std::vector<std::string> &environment, std::chrono::seconds limit,
                                          count_of whose);

} // namespace measure
