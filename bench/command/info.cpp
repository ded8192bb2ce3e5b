// SPDX-License-Identifier: BSD-3-Clause
// `thence info`: what the library runs on here, and why. It asks the library as any program can, with thence_cr_query.
#include "command/info.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
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
                            {"THENCE_SLOW_CONTINUATION", "slow continuations are not told of"},
                            {"THENCE_MODE", "continuation,inline-request in thence::pools"},
                            {"THENCE_TRACE", "no timeline"},
                            {"THENCE_TRACE_LIMIT", "250000 continuations in a timeline"}};

// Some MPIs tell their whole build configuration; the first line says which MPI it is.
std::string first_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
}

nlohmann::ordered_json mpi_facts(int asked, int provided) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    return {{"library", first_line(text)},
            {"library_version_string", text},
            {"standard", std::to_string(major) + "." + std::to_string(minor)},
            {"thread_level", name_of(provided)},
            {"thread_level_asked", name_of(asked)}};
}

nlohmann::ordered_json settings_in_force() {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const setting &each : settings) {
        const char *value = std::getenv(each.name);
        all[each.name] = value == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
    }
    return all;
}

void print_row(const char *name, const std::string &value) {
    std::cout << std::left << std::setw(28) << name << value << '\n';
}

void print_for_people(const nlohmann::ordered_json &facts) {
    const auto text = [](const nlohmann::ordered_json &from, const char *key) {
        return from.at(key).get<std::string>();
    };
    const nlohmann::ordered_json &mpi = facts.at("mpi");
    print_row("Thence", text(facts, "version"));
    print_row("MPI", text(mpi, "library") + " (MPI " + text(mpi, "standard") + ")");
    print_row("thread level", text(mpi, "thread_level") + " (asked for: " + text(mpi, "thread_level_asked") + ")");
    print_row("engine", text(facts, "engine") + ": " + text(facts, "engine_why"));
    print_row("progress hook", text(facts, "hook"));
    print_row("helper thread", text(facts, "helper"));
    print_row("binary interface", text(facts, "abi"));
    print_row("callbacks in completion",
              facts.at("in_completion").get<bool>()
                  ? "yes, with THENCE_CR_IN_COMPLETION"
                  : "no: they need Open MPI with its ob1 layer, the native engine and MPI_THREAD_MULTIPLE");
    print_row("persistent requests", facts.at("detects_persistent").get<bool>()
                                         ? "recognized"
                                         : "noted by libthence when they are created; with libthence-core alone, "
                                           "pass THENCE_PERSISTENT when attaching to one");
    std::cout << "settings\n";
    for (const setting &each : settings) {
        const nlohmann::ordered_json &value = facts.at("settings").at(each.name);
        print_row((std::string("  ") + each.name).c_str(),
                  value.is_null() ? std::string("not set: ") + each.unset : value.get<std::string>());
    }
}

} // namespace

int info(const info_options &chosen) {
    int asked = MPI_THREAD_MULTIPLE;
    for (const thread_level &known : levels) {
        asked = chosen.level == known.option ? known.value : asked;
    }
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, asked, &provided);
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_info runs_on{};
    thence_cr_create(THENCE_CR_IN_COMPLETION, -1, MPI_INFO_NULL, &cr);
    thence_cr_query(cr, &runs_on);

    nlohmann::ordered_json facts;
    facts["version"] = std::to_string(THENCE_VERSION_MAJOR) + "." + std::to_string(THENCE_VERSION_MINOR) + "." +
                       std::to_string(THENCE_VERSION_PATCH);
    facts["mpi"] = mpi_facts(asked, provided);
    facts["engine"] = runs_on.engine;
    facts["engine_why"] = runs_on.engine_why;
    facts["hook"] = runs_on.hook;
    facts["helper"] = runs_on.helper;
    facts["abi"] = runs_on.abi;
    facts["in_completion"] = (runs_on.flags & THENCE_CR_IN_COMPLETION) != 0;
    facts["detects_persistent"] = runs_on.detects_persistent != 0;
    facts["settings"] = settings_in_force();

    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && chosen.json) {
        std::cout << facts.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    } else if (rank == 0) {
        print_for_people(facts);
    }
    thence_free(&cr);
    MPI_Finalize();
    return 0;
}

} // namespace command
