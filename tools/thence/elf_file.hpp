// SPDX-License-Identifier: BSD-3-Clause
// What `thence run` has to know of a program or a shared library, read from its file. No code of the file is run.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace command {

using names = std::set<std::string, std::less<>>;

struct elf_file {
    enum class kind { elf, script, other };

    kind is = kind::other;
    std::string foreign;     // if it is of another architecture than this command: which; then the rest is empty
    std::string damage;      // if a part that is loaded is not in the file: which
    std::string interpreter; // the dynamic loader of a program; empty: statically linked
    std::string soname;
    std::vector<std::string> needed;
    std::vector<std::string> folders; // where the loader searches, as the file has it
    names defined;                    // of the names of MPI and of Thence
    names undefined;                  // of the names of MPI: those that another library must have

    bool needs(std::string_view library) const;
    bool defines(std::string_view name) const { return defined.contains(name); }
};

// @throws std::runtime_error if the file cannot be read
elf_file read_elf(const std::filesystem::path &path);

} // namespace command
