// SPDX-License-Identifier: BSD-3-Clause
// `thence bench`: becomes the program thence-bench, which is there if the benchmarks were built.
#include "subcommands.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace command {
namespace {

namespace fs = std::filesystem;

// Where it is in an installed tree, or else in a build tree.
fs::path find_program() {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path installed = (here / THENCE_LIBEXEC_FROM_BIN / "thence-bench").lexically_normal();
    const fs::path built = (here / "../libexec" / THENCE_LIBEXEC_FOLDER / "thence-bench").lexically_normal();
    return !fs::exists(installed) && fs::exists(built) ? built : installed;
}

// Returns only if the program could not be started.
int become_program(const std::vector<std::string> &words) {
    const fs::path program = find_program();
    if (!fs::exists(program)) {
        std::cerr
            << "thence bench: the benchmarks are not installed: there is no " << program.string()
            << "\nConfigure Thence with -DTHENCE_BUILD_BENCH=ON, which needs nlohmann-json, then build and install "
               "it.\n";
        return failed;
    }
    std::vector<char *> arguments{const_cast<char *>(program.c_str())};
    for (const std::string &word : words) {
        arguments.push_back(const_cast<char *>(word.c_str()));
    }
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    std::cerr << "thence bench: cannot run " << program.string() << ": " << std::strerror(errno) << '\n';
    return failed;
}

} // namespace

void add_bench(CLI::App &app, int &status) {
    CLI::App *bench = app.add_subcommand("bench", "measure what the library costs, against what it replaces");
    bench->set_help_flag(); // thence-bench has the options, --help among them
    bench->prefix_command();
    bench->callback([bench, &status] { status = become_program(bench->remaining()); });
}

} // namespace command
