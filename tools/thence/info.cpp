// SPDX-License-Identifier: BSD-3-Clause
// `thence info`: what the library runs on here, and why. It asks the library as any program can, with thence_cr_query.
#include "json.hpp"
#include "subcommands.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <thence/thence.h>

namespace command {
namespace {

struct thread_level {
    const char *option;
    const char *name;
    int value;
};

const thread_level levels[] = {{"single", "MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                               {"funneled", "MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                               {"serialized", "MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                               {"multiple", "MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

const char *name_of(int level) {
    for (const thread_level &known : levels) {
        if (known.value == level) {
            return known.name;
        }
    }
    return "unknown";
}

struct setting {
    const char *name;
    const char *unset; // what holds while it is not set
};

const setting settings[] = {{"THENCE_ENGINE", "the native engine if it proves to work, else testsome"},
                            {"THENCE_PROGRESS", "progress inside MPI calls only, no helper thread"},
                            {"THENCE_STALL", "no stall report"},
                            {"THENCE_SLOW_CONTINUATION", "slow continuations are not reported"},
                            {"THENCE_POOLS_MODE", "continuation,inline-request in thence::pools"},
                            {"THENCE_TRACE", "no timeline"},
                            {"THENCE_TRACE_LIMIT", "250000 continuations in a timeline"}};

// Some MPIs tell their whole build configuration; the first line says which MPI it is.
std::string first_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
}

struct facts {
    std::string version;      // of Thence
    std::string mpi;          // which MPI: the first line of `mpi_version`
    std::string mpi_version;  // all that MPI says of itself
    std::string mpi_standard; // of the MPI standard
    const char *level_asked;
    const char *level;
    thence_cr_info library;
};

std::string dotted(int major, int minor) {
    return std::to_string(major) + "." + std::to_string(minor);
}

facts gather(int asked, int provided) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    return {dotted(THENCE_VERSION_MAJOR, THENCE_VERSION_MINOR) + "." + std::to_string(THENCE_VERSION_PATCH),
            first_line(text),
            text,
            dotted(major, minor),
            name_of(asked),
            name_of(provided),
            {}};
}

bool in_completion(const facts &all) {
    return (all.library.flags & THENCE_CR_IN_COMPLETION) != 0;
}

void print_json(const facts &all) {
    json_writer json(std::cout);
    json.open();
    json.member("version", all.version);
    json.open("mpi");
    json.member("library", all.mpi);
    json.member("library_version_string", all.mpi_version);
    json.member("standard", all.mpi_standard);
    json.member("thread_level", all.level);
    json.member("thread_level_asked", all.level_asked);
    json.close();
    json.member("engine", all.library.engine);
    json.member("engine_why", all.library.engine_why);
    json.member("hook", all.library.hook);
    json.member("helper", all.library.helper);
    json.member("abi", all.library.abi);
    json.member("in_completion", in_completion(all));
    json.member("detects_persistent", all.library.detects_persistent != 0);
    json.open("settings");
    for (const setting &each : settings) {
        json.member(each.name, std::getenv(each.name));
    }
    json.close();
    json.close();
}

void print_row(const std::string &name, const std::string &value) {
    std::cout << std::left << std::setw(28) << name << value << '\n';
}

void print_text(const facts &all) {
    print_row("Thence", all.version);
    print_row("MPI", all.mpi + " (MPI " + all.mpi_standard + ")");
    print_row("thread level", std::string(all.level) + " (asked for: " + all.level_asked + ")");
    print_row("engine", std::string(all.library.engine) + ": " + all.library.engine_why);
    print_row("progress hook", all.library.hook);
    print_row("helper thread", all.library.helper);
    print_row("binary interface", all.library.abi);
    print_row("callbacks in completion",
              in_completion(all)
                  ? "yes, with THENCE_CR_IN_COMPLETION"
                  : "no: they need Open MPI with its ob1 layer, the native engine and MPI_THREAD_MULTIPLE");
    print_row("persistent requests", all.library.detects_persistent != 0
                                         ? "recognized"
                                         : "noted by libthence when they are created; with libthence-core alone, "
                                           "pass THENCE_PERSISTENT when attaching to one");
    std::cout << "settings\n";
    for (const setting &each : settings) {
        const char *value = std::getenv(each.name);
        print_row(std::string("  ") + each.name, value == nullptr ? std::string("not set: ") + each.unset : value);
    }
}

struct info_options {
    bool json = false;
    std::string level = "multiple";
};

int info(const info_options &chosen) {
    int asked = MPI_THREAD_MULTIPLE;
    for (const thread_level &known : levels) {
        asked = chosen.level == known.option ? known.value : asked;
    }
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, asked, &provided);
    facts all = gather(asked, provided);
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_IN_COMPLETION, -1, MPI_INFO_NULL, &cr);
    thence_cr_query(cr, &all.library);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        (chosen.json ? print_json : print_text)(all);
    }
    thence_free(&cr);
    MPI_Finalize();
    return done;
}

} // namespace

void add_info(CLI::App &app, int &status) {
    const auto chosen = std::make_shared<info_options>();
    CLI::App *info_command =
        app.add_subcommand("info", "say which MPI, engine, hook and settings are in force, and why");
    info_command->add_flag("--json", chosen->json, "print JSON");
    info_command->add_option("--level", chosen->level, "thread level to ask MPI for")
        ->check(CLI::IsMember({"single", "funneled", "serialized", "multiple"}))
        ->capture_default_str();
    info_command->callback([chosen, &status] { status = info(*chosen); });
}

} // namespace command
