// SPDX-License-Identifier: BSD-3-Clause
// What every variant of an application says about itself. An application derives from it and adds its function.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace apps {

struct VariantInfo {
    const char *name;
    const char *about;
    int thread_level;      // minimum level that MPI must provide
    bool threaded;         // uses more than one thread
    bool continuations;    // couples messages to tasks with Thence
    bool tampi = false;    // uses TAMPI.h
    bool one_rank = false; // sends no messages
};

template <class Variant> const Variant *find_variant(std::span<const Variant> all, std::string_view name) {
    for (const Variant &v : all) {
        if (name == v.name) {
            return &v;
        }
    }
    return nullptr;
}

// The list of variants for the end of --help.
template <class Variant> std::string variant_list(std::span<const Variant> all) {
    std::string text = "Variants:\n";
    for (const Variant &v : all) {
        std::string name = v.name;
        name.resize(name.size() < 12 ? 12 : name.size() + 1, ' ');
        text += "  " + name + v.about + "\n";
    }
    return text;
}

} // namespace apps
