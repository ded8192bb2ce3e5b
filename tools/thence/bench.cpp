// SPDX-License-Identifier: BSD-3-Clause
// `thence bench` and `thence doctor`: become the programs thence-bench and thence-doctor, which are there if the
// benchmarks were built.
#include "program.hpp"
#include "subcommands.hpp"

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace command {
namespace {

namespace fs = std::filesystem;

// Where it is in an installed tree, or else in a build tree.
fs::path find_program(const std::string &name) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path installed = (here / THENCE_LIBEXEC_FROM_BIN / name).lexically_normal();
    const fs::path built = (here / "../libexec" / THENCE_LIBEXEC_FOLDER / name).lexically_normal();
    return !fs::exists(installed) && fs::exists(built) ? built : installed;
}

// Returns only if the program could not be started.
int run(const std::string &subcommand, std::vector<std::string> words) {
    const fs::path program = find_program("thence-" + subcommand);
    if (!fs::exists(program)) {
        std::cerr
            << "thence " << subcommand << ": the benchmarks are not installed: there is no " << program.string()
            << "\nConfigure Thence with -DTHENCE_BUILD_BENCH=ON, which needs nlohmann-json, then build and install "
               "it.\n";
        return failed;
    }
    words.insert(words.begin(), program.string());
    const std::string reason = become_program(program, words);
    std::cerr << "thence " << subcommand << ": " << reason << '\n';
    return failed;
}

} // namespace

void add_bench(CLI::App &app, int &status) {
    const std::pair<const char *, const char *> all[] = {
        {"bench", "measure what the library costs, against what it replaces"},
        {"doctor", "test this cluster, and say which switches of thence run pay here"}};
    for (const auto &[name, about] : all) {
        CLI::App *own = app.add_subcommand(name, about);
        own->set_help_flag(); // the program has the options, --help among them
        own->prefix_command();
        own->callback([own, &status] { status = run(own->get_name(), own->remaining()); });
    }
}

} // namespace command
