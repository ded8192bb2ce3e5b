// SPDX-License-Identifier: BSD-3-Clause
// `thence run`: becomes a program that nobody changed, with the library that fits its MPI preloaded, and the settings
// that the options name. It does not start MPI itself, so it may stand between a launcher and the program.
#include "builds.hpp"
#include "program.hpp"
#include "subcommands.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thence/thence.h>

namespace command {
namespace {

namespace fs = std::filesystem;

struct run_options {
    bool progress = false;
    bool print = false;
    std::string wait;
    std::string progress_cpu;
    std::string report;
    std::string stall;
    std::string trace;
    std::string mpi;
    std::vector<std::string> words; // the program and its arguments
};

// What the environment of the program has more than that of this process had.
class environment {
public:
    void set(const std::string &name, const std::string &value) {
        setenv(name.c_str(), value.c_str(), 1);
        changed_[name] = value;
    }
    // In front of what a list with colons has.
    void put_first(const std::string &name, const std::string &value) {
        const char *before = std::getenv(name.c_str());
        set(name, before == nullptr || *before == '\0' ? value : value + ":" + before);
    }
    bool sets(const std::string &name) const { return changed_.count(name) != 0; }
    // For a shell.
    void print() const {
        for (const auto &[name, value] : changed_) {
            std::string quoted;
            for (const char each : value) {
                quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
            }
            std::cout << "export " << name << "='" << quoted << "'\n";
        }
    }

private:
    std::map<std::string, std::string> changed_;
};

void set_options(const run_options &chosen, environment &changed) {
    const std::pair<const char *, std::string> all[] = {{"THENCE_PROGRESS", chosen.progress ? "always" : ""},
                                                        {"THENCE_PROGRESS_CPU", chosen.progress_cpu},
                                                        {"THENCE_WAIT", chosen.wait},
                                                        {"THENCE_REPORT", chosen.report},
                                                        {"THENCE_STALL", chosen.stall},
                                                        {"THENCE_TRACE", chosen.trace}};
    for (const auto &[name, value] : all) {
        if (!value.empty()) {
            changed.set(name, value);
        }
    }
}

// Why the library would not use a value that an option sets; empty if it would use all.
std::string complaint_of(const environment &changed) {
    thence_setting_info each{};
    for (int i = 0; thence_setting_query(i, &each, sizeof each) == MPI_SUCCESS && each.name != nullptr; ++i) {
        if (each.values != nullptr && each.complaint != nullptr && changed.sets(each.name)) {
            return each.complaint;
        }
    }
    return {};
}

bool is_preloaded(const fs::path &library) {
    const char *text = std::getenv("LD_PRELOAD");
    std::string all = text != nullptr ? text : "";
    std::replace(all.begin(), all.end(), ':', ' ');
    std::istringstream entries(all);
    for (std::string entry; entries >> entry;) {
        std::error_code ignored;
        if (fs::equivalent(entry, library, ignored)) {
            return true;
        }
    }
    return false;
}

void preload(const fs::path &library, environment &changed) {
    if (library.string().find_first_of(" :") != std::string::npos) {
        throw std::runtime_error("the name " + library.string() +
                                 " has a blank or a colon, which LD_PRELOAD cannot have; install Thence elsewhere");
    }
    if (!is_preloaded(library)) {
        changed.put_first("LD_PRELOAD", library.string());
    }
}

// The preloaded library names the same MPI, but may find another file of it, and before the program does. Then the
// folder of the program's own is searched first.
void keep_mpi(const std::string &loader, const fs::path &listed, const mpi_library &mpi, environment &changed) {
    fs::path found;
    for (const bool searched_first : {false, true}) {
        for (const loaded_library &each : list_libraries(loader, listed)) {
            found = each.name == mpi.soname || each.path.filename() == mpi.soname ? each.path : found;
        }
        std::error_code ignored;
        if (found.empty() || fs::equivalent(found, mpi.path, ignored)) {
            return;
        }
        if (!searched_first) {
            changed.put_first("LD_LIBRARY_PATH", mpi.path.parent_path().string());
        }
    }
    throw std::runtime_error("with the library preloaded, the loader would take " + found.string() + " in place of " +
                             mpi.path.string() + " as the MPI; no build of Thence is for that one");
}

// The libthence beside the libthence-core that a program is linked with: a process must have only one copy.
fs::path beside_core(const fs::path &core) {
    std::string name = core.filename().string();
    name.erase(0, std::string_view("libthence-core").size());
    const fs::path library = core.parent_path() / ("libthence" + name);
    return fs::exists(library) ? library : fs::path();
}

void prepare(const run_options &chosen, program &found, environment &changed) {
    if (found.has_thence) {
        return;
    }
    if (!chosen.mpi.empty()) {
        const mpi_library named = look_at_mpi(chosen.mpi);
        if (!found.mpi.soname.empty() && named.soname != found.mpi.soname) {
            throw std::runtime_error("the MPI of " + chosen.words[0] + " is " + found.mpi.soname +
                                     ", not that of --mpi-library");
        }
        found.mpi = found.mpi.soname.empty() ? named : found.mpi;
    }
    fs::path library = found.core.empty() ? fs::path() : beside_core(found.core);
    if (library.empty() && found.mpi.soname.empty()) {
        library = builds().own().path;
    } else if (library.empty()) {
        const std::string whose = chosen.mpi.empty() ? "the MPI of " + chosen.words[0] : "named by --mpi-library";
        library = builds().for_mpi(found.mpi, whose).path;
    }
    preload(library, changed);
    if (!found.mpi.path.empty()) {
        const bool is_elf = !found.file.interpreter.empty();
        keep_mpi(is_elf ? found.file.interpreter : read_elf("/proc/self/exe").interpreter,
                 is_elf ? found.path : library, found.mpi, changed);
    }
}

int run(const run_options &chosen) {
    if (!chosen.words.empty() && chosen.words[0].starts_with('-')) {
        std::cerr << "thence run: there is no option " << chosen.words[0] << "; thence run --help lists them\n";
        return wrong_usage;
    }
    if (chosen.words.empty() && !chosen.print) {
        std::cerr << "thence run: name the program that shall run: thence run [OPTIONS] -- PROGRAM [ARGUMENTS]\n";
        return wrong_usage;
    }
    environment changed;
    set_options(chosen, changed);
    if (const std::string complaint = complaint_of(changed); !complaint.empty()) {
        std::cerr << "thence run: " << complaint << '\n';
        return wrong_usage;
    }
    try {
        program found;
        if (!chosen.words.empty()) {
            found = look_at_program(chosen.words[0]);
        }
        prepare(chosen, found, changed);
        if (chosen.print) {
            changed.print();
            return done;
        }
        throw std::runtime_error(become_program(found.path, chosen.words));
    } catch (const std::exception &error) {
        std::cerr << "thence run: " << error.what() << '\n';
    }
    return failed;
}

} // namespace

void add_run(CLI::App &app, int &status, const std::vector<std::string> &from_dashes) {
    const auto chosen = std::make_shared<run_options>();
    CLI::App *own = app.add_subcommand("run", "run a program that nobody changed with the library preloaded");
    own->footer("Usage: mpirun -n 4 thence run [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
                "       thence run --print-env [OPTIONS] [-- PROGRAM]\n"
                "The exit status is that of the program; 3 if it cannot run so.");
    own->add_flag("--progress", chosen->progress,
                  "a thread makes progress while nonblocking operations are outstanding (THENCE_PROGRESS=always)");
    own->add_option("--progress-cpu", chosen->progress_cpu,
                    "the processors on which that thread may run, as in 0-3,8 (THENCE_PROGRESS_CPU)");
    own->add_option("--wait", chosen->wait, "how blocking calls wait (THENCE_WAIT)")
        ->check(CLI::IsMember({"spin", "yield", "sleep"}));
    own->add_flag("--report{on}", chosen->report,
                  "say at the end what was waited for; --report=FILE also writes JSON (THENCE_REPORT)");
    own->add_option(
        "--stall", chosen->stall,
        "report continuations, and calls of MPI of a program that does not use Thence, that wait for this long, as in "
        "30s (THENCE_STALL)");
    own->add_option(
        "--trace", chosen->trace,
        "write a timeline for each rank: of continuations, or of the calls of MPI of a program that does not "
        "use Thence (THENCE_TRACE)");
    own->add_option(
        "--mpi-library", chosen->mpi,
        "the MPI, if the program does not show it, as Python or a script: a path, or a name as libmpi.so.12");
    own->add_flag("--print-env", chosen->print, "print the variables for a shell in place of running");
    own->prefix_command();
    own->callback([own, chosen, from_dashes, &status] {
        chosen->words = own->remaining();
        // The first `--` ends the options of this command. Behind the program it is an argument of the program.
        const std::ptrdiff_t skipped = chosen->words.empty() && !from_dashes.empty() ? 1 : 0;
        chosen->words.insert(chosen->words.end(), from_dashes.begin() + skipped, from_dashes.end());
        status = run(*chosen);
    });
}

} // namespace command
