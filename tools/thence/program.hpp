// SPDX-License-Identifier: BSD-3-Clause
// The program that `thence run` starts: where it is, what the loader will load for it, and which of that is its MPI.
#pragma once

#include "elf_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace command {

struct loaded_library {
    std::string name; // as the program names it
    std::filesystem::path path;
};

struct mpi_library {
    std::string soname;         // empty: no MPI is visible
    std::filesystem::path path; // empty: only the name is known
};

struct program {
    std::filesystem::path path;
    elf_file file;
    mpi_library mpi;            // empty for scripts, and for programs that load their MPI later
    std::filesystem::path core; // the libthence-core that it loads; empty: none
    bool has_thence = false;    // the calls of MPI are interposed already
};

// @throws std::runtime_error with the reason if the library cannot be preloaded into this program
program look_at_program(const std::string &name);

// @throws std::runtime_error if this is no library of an MPI
mpi_library look_at_mpi(const std::string &name);

// What the loader would load for `file`, a program or a library, in the environment of this process. Nothing of it
// runs.
// @throws std::runtime_error if something is missing
std::vector<loaded_library> list_libraries(const std::string &loader, const std::filesystem::path &file);

// This process becomes that program, with `words` as its arguments; the first one is its name. Returns only if it
// could not be started, with the reason.
std::string become_program(const std::filesystem::path &path, const std::vector<std::string> &words);

} // namespace command
