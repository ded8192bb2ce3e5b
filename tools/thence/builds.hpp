// SPDX-License-Identifier: BSD-3-Clause
// The builds of libthence that lie side by side in the library folder of this installation, each for one MPI.
#pragma once

#include "elf_file.hpp"
#include "program.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace command {

struct build {
    std::filesystem::path path;
    elf_file file;

    // The library of MPI that it is linked with.
    std::string mpi() const;
};

class builds {
public:
    builds();

    // The build that this command is linked with.
    // @throws std::runtime_error if there is none
    const build &own() const;
    // `whose`: for the text of an error
    // @throws std::runtime_error if none works with this MPI
    const build &for_mpi(const mpi_library &mpi, const std::string &whose) const;

private:
    std::filesystem::path folder_;
    std::vector<build> all_;
    elf_file self_;
};

} // namespace command
