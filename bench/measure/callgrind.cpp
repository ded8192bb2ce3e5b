// SPDX-License-Identifier: BSD-3-Clause
#include "measure/callgrind.hpp"

#include "measure/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace measure {
namespace {

namespace fs = std::filesystem;

// A temporary folder for the dumps of one run.
class scratch_folder {
public:
    scratch_folder() {
        std::string pattern = (fs::temp_directory_path() / "thence-bench-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("cannot create a folder in " + fs::temp_directory_path().string());
        }
        path_ = pattern;
    }
    ~scratch_folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;
    const fs::path &path() const { return path_; }

private:
    fs::path path_;
};

// Returns the instructions of one dump, or a negative number if it has none. Sets `counted` if the dump is that of a
// call of the counted function.
double total_of(const fs::path &dump, bool &counted) {
    std::ifstream in(dump);
    double total = -1;
    counted = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("summary: ")) {
            total = std::stod(line.substr(9));
        } else if (line.starts_with("desc: Trigger: --dump-after=")) {
            counted = true;
        }
    }
    return total;
}

} // namespace

std::vector<double> instructions_per_call(const std::vector<std::string> &command,
                                          const std::vector<std::string> &environment, std::chrono::seconds limit,
                                          count_of whose) {
    const scratch_folder scratch;
    const fs::path dumps = scratch.path() / "dump";
    const std::string function = counted_function;
    std::vector<std::string> full{"valgrind", "--tool=callgrind", "--callgrind-out-file=" + dumps.string(),
                                  "--zero-before=" + function, "--dump-after=" + function};
    if (whose == count_of::main_thread) {
        full.emplace_back("--separate-threads=yes");
    }
    full.insert(full.end(), command.begin(), command.end());
    const std::string of_thread = whose == count_of::main_thread ? "-01" : "";

    outcome result;
    try {
        result = run_program(full, environment, limit);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(std::string(error.what()) +
                                 "; instruction counts need valgrind in PATH (Debian: apt install valgrind)");
    }
    if (result.timed_out) {
        throw exceeded_limit(limit, command[0]);
    }
    if (result.exit_code != 0) {
        throw std::runtime_error("exit code " + std::to_string(result.exit_code) + " from " + command[0] + "\n" +
                                 result.output + result.errors);
    }
    std::vector<double> totals;
    for (int i = 1;; ++i) {
        const fs::path dump = dumps.string() + "." + std::to_string(i) + of_thread;
        if (!fs::exists(dump)) {
            break;
        }
        bool counted = false;
        const double total = total_of(dump, counted);
        if (counted) {
            totals.push_back(total);
        }
    }
    if (totals.empty()) {
        throw std::runtime_error("callgrind counted no call; perhaps " + command[0] + " has no symbol table");
    }
    return totals;
}

} // namespace measure
