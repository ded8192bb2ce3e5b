// SPDX-License-Identifier: BSD-3-Clause
#include "builds.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace command {
namespace {

namespace fs = std::filesystem;

// One file of each build: that with the name by which programs load it. Other libraries of Thence interpose nothing.
std::vector<build> builds_in(const fs::path &folder) {
    std::vector<build> found;
    std::error_code ignored;
    for (const fs::directory_entry &each : fs::directory_iterator(folder, ignored)) {
        const std::string name = each.path().filename().string();
        if (!name.starts_with("libthence") || name.find(".so.") == std::string::npos ||
            !fs::exists(each.path(), ignored)) { // or a link that leads nowhere
            continue;
        }
        elf_file file = read_elf(each.path());
        if (file.soname != name || !file.defines("MPI_Wait")) {
            continue;
        }
        for (const std::string &core : file.needed) {
            if (core.starts_with("libthence-core") && fs::exists(folder / core)) {
                file.undefined.merge(read_elf(folder / core).undefined);
            }
        }
        found.push_back({each.path(), std::move(file)});
    }
    std::sort(found.begin(), found.end(), [](const build &a, const build &b) { return a.path < b.path; });
    return found;
}

bool searches(const elf_file &file, const fs::path &folder) {
    std::error_code ignored;
    return std::any_of(file.folders.begin(), file.folders.end(),
                       [&](const std::string &each) { return fs::equivalent(each, folder, ignored); });
}

} // namespace

std::string build::mpi() const {
    const auto found = std::find_if(file.needed.begin(), file.needed.end(),
                                    [](const std::string &each) { return each.starts_with("libmpi"); });
    return found != file.needed.end() ? *found : "an MPI";
}

builds::builds() : self_(read_elf("/proc/self/exe")) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char *each : {THENCE_LIBRARIES_FROM_BIN, "../lib"}) { // of an installed tree, of a build tree
        folder_ = (here / each).lexically_normal();
        all_ = builds_in(folder_);
        if (!all_.empty()) {
            break;
        }
    }
}

const build &builds::own() const {
    for (const build &each : all_) {
        if (self_.needs(each.file.soname)) {
            return each;
        }
    }
    throw std::runtime_error("there is no shared library libthence in " + folder_.string() +
                             " that this command is linked with; name the MPI of the program with --mpi-library");
}

const build &builds::for_mpi(const mpi_library &mpi, const std::string &whose) const {
    const elf_file library = mpi.path.empty() ? elf_file() : read_elf(mpi.path);
    const build *best = nullptr;
    std::tuple<bool, std::size_t, bool> best_rank;
    std::string known;
    for (const build &each : all_) {
        known += (known.empty() ? "" : ", ") + each.file.soname + " (for " + each.mpi();
        // An MPI of the same name may be another one, or an older one, that lacks functions.
        const auto lacking = std::find_if(each.file.undefined.begin(), each.file.undefined.end(),
                                          [&](const std::string &name) { return !library.defines(name); });
        const bool same_name = each.file.needs(mpi.soname);
        const bool complete = mpi.path.empty() || lacking == each.file.undefined.end();
        known += same_name && !complete ? " with " + *lacking + ")" : ")";
        const std::tuple rank(!mpi.path.empty() && searches(each.file, mpi.path.parent_path()),
                              each.file.undefined.size(), self_.needs(each.file.soname));
        if (same_name && complete && (best == nullptr || rank > best_rank)) {
            best = &each;
            best_rank = rank;
        }
    }
    if (best == nullptr) {
        throw std::runtime_error("no build of Thence in " + folder_.string() + " is for " + mpi.soname +
                                 (mpi.path.empty() ? "" : " (" + mpi.path.string() + ")") + ", " + whose + "; there " +
                                 (all_.empty() ? "is none" : "are " + known));
    }
    return *best;
}

} // namespace command
