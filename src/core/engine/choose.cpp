// SPDX-License-Identifier: BSD-3-Clause
// Which engine runs: the best that proves itself on this MPI, unless THENCE_ENGINE names another.
#include "core/base/settings.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/watched.hpp"

#include <cstdio>
#include <string>

namespace thence::engine {

engine *current = nullptr;
void (*visit_watched)(operation_visitor, void *) = nullptr;

namespace {

engine *make_native(const sinks &to, const char **reason) {
#if defined(OPEN_MPI)
    return make_openmpi(to, reason);
#else
    return make_mpich(to, reason);
#endif
}

engine *make_named(const std::string &name, const sinks &to, const char **reason) {
#if defined(OPEN_MPI)
    if (name == "openmpi") {
        return make_openmpi(to, reason);
    }
#else
    if (name == "mpich") {
        return make_mpich(to, reason);
    }
#endif
    *reason = "this MPI has no such engine (known: openmpi, mpich, testsome)";
    return nullptr;
}

} // namespace

engine &choose(const sinks &to) {
    reset(); // the one of a time before MPI_Finalize: its operations have been abandoned
    static auto &explanation = *new std::string; // the text of why() for testsome; used until the process ends
    const std::string &wanted = base::current_settings().engine;
    const char *reason = "";
    if (!wanted.empty()) {
        if (wanted == "testsome") {
            return *(current = make_testsome(to, "THENCE_ENGINE=testsome"));
        }
        if ((current = make_named(wanted, to, &reason)) != nullptr) {
            return *current;
        }
        explanation = "THENCE_ENGINE=" + wanted + " does not work here: " + reason;
        std::fprintf(stderr, "thence: %s; using testsome\n", explanation.c_str());
    } else {
        if ((current = make_native(to, &reason)) != nullptr) {
            return *current;
        }
        explanation = std::string("no native engine: ") + reason;
    }
    return *(current = make_testsome(to, explanation.c_str()));
}

void reset() noexcept {
    delete current;
    current = nullptr;
}

} // namespace thence::engine
