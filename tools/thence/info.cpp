// SPDX-License-Identifier: BSD-3-Clause
// `thence info`: what the library runs on here, and why. It asks the library as any program can, with thence_query.
#include "subcommands.hpp"
#include "task_runtimes.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <thence/extensions.h>
#include <thence/notify.h>
#include <thence/pools/completion_mode.hpp>
#include <thence/thence.h>
#include <vector>

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

// Why the mode of pools that the environment names has no effect; null if it has. The library does not parse it.
const char *complaint_of_mode(const char *text) {
    static std::string complaint;
    try {
        if (text != nullptr && *text != '\0') {
            thence::parse_completion_mode(text);
        }
    } catch (const std::invalid_argument &error) {
        complaint = error.what();
    }
    return complaint.empty() ? nullptr : complaint.c_str();
}

// The settings of Thence, and after them the variables that look like one.
std::vector<thence_setting_info> all_settings() {
    std::vector<thence_setting_info> all;
    thence_setting_info each{};
    for (int i = 0; thence_setting_query(i, &each, sizeof each) == MPI_SUCCESS && each.name != nullptr; ++i) {
        if (std::string_view(each.name) == "THENCE_POOLS_MODE") {
            each.complaint = complaint_of_mode(each.text);
            if (each.complaint != nullptr) {
                each.in_force = "none, the pools throw std::invalid_argument";
            }
        }
        all.push_back(each);
    }
    return all;
}

std::vector<thence_extension_info> all_extensions() {
    std::vector<thence_extension_info> all;
    thence_extension_info each{};
    for (int i = 0; thence_extension_query(i, &each, sizeof each) == MPI_SUCCESS && each.name != nullptr; ++i) {
        all.push_back(each);
    }
    return all;
}

// How the first process reaches segments of the others, and of itself.
struct onesided_way {
    std::string memory; // of which kind
    std::string transport;
    std::string why;
    int processes;
};

// Collective.
void add_ways(std::vector<onesided_way> &ways, thence_segment segment, const char *memory, int processes) {
    for (int rank = processes == 1 ? 0 : 1; rank < processes; ++rank) {
        thence_segment_info part{};
        thence_segment_query(segment, rank, &part, sizeof part);
        const auto same = std::ranges::find_if(ways, [&](const onesided_way &each) {
            return each.memory == memory && each.transport == part.transport && each.why == part.why;
        });
        if (same != ways.end()) {
            ++same->processes;
        } else {
            ways.push_back({memory, part.transport, part.why, 1});
        }
    }
}

std::vector<onesided_way> all_ways() {
    int processes = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    std::vector<onesided_way> ways;
    thence_space space = nullptr;
    thence_segment made = nullptr;
    thence_segment given = nullptr;
    char memory[8] = {};
    if (thence_space_create(MPI_COMM_WORLD, 1, &space) == MPI_SUCCESS &&
        thence_segment_create(space, sizeof memory, 1, &made) == MPI_SUCCESS &&
        thence_segment_create_on(space, memory, sizeof memory, 1, &given) == MPI_SUCCESS) {
        add_ways(ways, made, "memory of Thence", processes);
        add_ways(ways, given, "memory of the program", processes);
        thence_segment_free(&given);
        thence_segment_free(&made);
        thence_space_free(&space);
    }
    return ways;
}

struct facts {
    std::string mpi_version;  // all that MPI says of itself
    std::string mpi_standard; // of the MPI standard
    const char *level_asked;
    thence_info library;
    std::vector<thence_extension_info> extensions;
    std::vector<onesided_way> ways;
};

facts gather(int asked) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    facts all{text, std::to_string(major) + "." + std::to_string(minor), name_of(asked), {}, {}, {}};
    thence_query(&all.library, sizeof all.library);
    all.extensions = all_extensions();
    all.ways = all_ways(); // last, since it may start the helper thread
    return all;
}

// Null for a null pointer.
nlohmann::ordered_json text_or_null(const char *text) {
    return text != nullptr ? nlohmann::ordered_json(text) : nlohmann::ordered_json();
}

void print_json(const facts &all) {
    using object = nlohmann::ordered_json;
    object runtimes = object::object();
    for (const task_runtime_facts &each : known_task_runtimes()) {
        runtimes[each.name] = each.can;
    }
    object extensions = object::object();
    for (const thence_extension_info &each : all.extensions) {
        extensions[each.name] = {{"state", text_or_null(each.state)}, {"why", text_or_null(each.why)}};
    }
    object ways = object::array();
    for (const onesided_way &each : all.ways) {
        ways.push_back(
            {{"memory", each.memory}, {"transport", each.transport}, {"why", each.why}, {"processes", each.processes}});
    }
    object settings = object::object();
    object unknown = object::object();
    for (const thence_setting_info &each : all_settings()) {
        if (each.values == nullptr) {
            unknown[each.name] = text_or_null(each.complaint);
            continue;
        }
        settings[each.name] = {{"value", text_or_null(each.in_force)},
                               {"from", each.text != nullptr ? "environment" : "default"},
                               {"text", text_or_null(each.text)},
                               {"complaint", text_or_null(each.complaint)}};
    }
    const object json{{"version", all.library.version},
                      {"mpi",
                       {{"library", all.library.mpi},
                        {"library_version_string", all.mpi_version},
                        {"standard", all.mpi_standard},
                        {"thread_level", name_of(all.library.thread_level)},
                        {"thread_level_asked", all.level_asked}}},
                      {"engine", text_or_null(all.library.engine)},
                      {"engine_why", text_or_null(all.library.engine_why)},
                      {"hook", text_or_null(all.library.hook)},
                      {"helper", text_or_null(all.library.helper)},
                      {"abi", text_or_null(all.library.abi)},
                      {"interposed", all.library.interposed != 0},
                      {"interposed_why", text_or_null(all.library.interposed_why)},
                      {"fortran", text_or_null(all.library.fortran)},
                      {"any_thread", all.library.any_thread != 0},
                      {"in_completion", all.library.in_completion != 0},
                      {"detects_persistent", all.library.detects_persistent != 0},
                      {"task_runtimes", runtimes},
                      {"extensions", extensions},
                      {"one_sided", ways},
                      {"settings", settings},
                      {"unknown_settings", unknown}};
    std::cout << json.dump(2, ' ', false, object::error_handler_t::replace) << '\n';
}

void print_row(const std::string &name, const std::string &value) {
    std::cout << std::left << std::setw(28) << name << value << '\n';
}

std::string described(const thence_setting_info &setting) {
    if (setting.values == nullptr) {
        return setting.complaint;
    }
    std::string text = setting.in_force;
    text += setting.text == nullptr ? " (default)" : " (environment: " + std::string(setting.text) + ")";
    return setting.complaint == nullptr ? text + ": " + setting.meaning : text + ": " + setting.complaint;
}

void print_text(const facts &all) {
    print_row("Thence", all.library.version);
    print_row("MPI", std::string(all.library.mpi) + " (MPI " + all.mpi_standard + ")");
    print_row("thread level", std::string(name_of(all.library.thread_level)) + " (asked for: " + all.level_asked + ")");
    print_row("engine", std::string(all.library.engine) + ": " + all.library.engine_why);
    print_row("progress hook", all.library.hook);
    print_row("helper thread", all.library.helper);
    print_row("binary interface", all.library.abi);
    print_row("MPI's calls", all.library.interposed != 0
                                 ? "come to libthence first"
                                 : std::string("not interposed: ") + all.library.interposed_why);
    print_row("MPI's calls in Fortran", all.library.fortran);
    print_row("callbacks in completion",
              all.library.in_completion != 0
                  ? "yes, with THENCE_CR_IN_COMPLETION"
                  : "no: they need Open MPI with its ob1 layer, the native engine and MPI_THREAD_MULTIPLE");
    print_row("persistent requests", all.library.detects_persistent != 0
                                         ? "recognized"
                                         : "noted by libthence when they are created; with libthence-core alone, "
                                           "pass THENCE_PERSISTENT when attaching to one");
    std::cout << "task runtimes\n";
    for (const task_runtime_facts &each : known_task_runtimes()) {
        print_row("  " + each.name, each.can);
    }
    std::cout << "extensions of MPICH\n";
    for (const thence_extension_info &each : all.extensions) {
        print_row(std::string("  ") + each.name, std::string(each.state) + ": " + each.why);
    }
    std::cout << "one-sided operations, to other processes if there are any (mpirun -n 2 thence info)\n";
    for (const onesided_way &each : all.ways) {
        print_row("  " + each.memory,
                  each.transport + ": " + each.why +
                      (each.processes > 1 ? " (" + std::to_string(each.processes) + " processes)" : ""));
    }
    std::cout << "settings\n";
    for (const thence_setting_info &each : all_settings()) {
        print_row(std::string("  ") + each.name, described(each));
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
    const facts all = gather(asked);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        (chosen.json ? print_json : print_text)(all);
    }
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
