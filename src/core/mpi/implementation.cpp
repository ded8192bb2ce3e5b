// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/implementation.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace thence::mpi {
namespace {

#if defined(MPI_H_ABI)
// The correction gave MPI_APPNUM, MPI_LASTUSEDCODE and MPI_UNIVERSE_SIZE the keys of each other. So if the header and
// this MPI differ, this MPI returns another attribute for the header's MPI_LASTUSEDCODE, or none. The value of
// MPI_LASTUSEDCODE is at least MPI_ERR_LASTCODE, which is 16383. The values of the other two are less: an application
// number, and a number of processes. (On more than 16383 processes, a header from before the correction is not found
// to differ from an MPI from after it.)
bool constants_agree() noexcept {
    int *value = nullptr;
    int flag = 0;
    table.Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, static_cast<void *>(&value), &flag);
    return flag != 0 && value != nullptr && *value >= MPI_ERR_LASTCODE;
}

bool agree() noexcept {
    static const bool result = constants_agree();
    return result;
}
#endif

std::string whole_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    table.Get_library_version(text.data(), &length);
    return text.data();
}

std::string first_line_of_version() {
    std::string line = whole_version();
    line.resize(std::min(line.find('\n'), line.size())); // MPICH adds its whole build configuration
    std::replace(line.begin(), line.end(), '\t', ' ');
    return line;
}

} // namespace

const char *library() {
    static const std::string &line = *new std::string(first_line_of_version()); // used until the process ends
    return line.c_str();
}

bool files_forbid_other_threads() noexcept {
    static const bool forbid = std::string_view(library()).starts_with("Open MPI");
    return forbid;
}

bool level_may_forbid_windows() noexcept {
    constexpr std::string_view begin = "Open MPI";
    static const std::string_view text = library(); // "Open MPI v4.1.4, package: ..."
    static const bool may = text.starts_with(begin) && text.size() > begin.size() + 3 && text[begin.size() + 2] < '5' &&
                            text[begin.size() + 3] == '.';
    return may;
}

bool asking_breaks_file_requests() noexcept {
    static const bool breaks = std::string_view(library()).starts_with("MPICH") &&
                               std::string_view(library()).find(" 4.0") == std::string_view::npos;
    return breaks;
}

namespace {

bool is_mpich_on_ucx_before_5(std::string_view version) noexcept {
    // "MPICH Version:\t4.0.2\n... MPICH Device:\tch4:ucx\n..."
    const std::string_view number = version.substr(std::min(version.find_first_of("0123456789"), version.size()));
    int major = 0;
    std::from_chars(number.begin(), number.end(), major);
    return version.starts_with("MPICH") && major > 0 && major < 5 && version.find("ch4:ucx") != std::string_view::npos;
}

bool are_on_several_nodes(int ranks, const char *on_this_node) noexcept {
    return ranks > 1 && (on_this_node == nullptr || std::atoi(on_this_node) != ranks);
}

} // namespace

bool finalize_may_not_return(std::string_view version, int ranks, const char *on_this_node) noexcept {
    return is_mpich_on_ucx_before_5(version) && are_on_several_nodes(ranks, on_this_node);
}

bool finalize_may_not_return() noexcept {
    int ranks = 1;
    return is_mpich_on_ucx_before_5(whole_version()) && // else nobody asks for the ranks
           table.Comm_size(MPI_COMM_WORLD, &ranks) == MPI_SUCCESS &&
           are_on_several_nodes(ranks, std::getenv("MPI_LOCALNRANKS"));
}

bool finalize_forbids_other_threads() noexcept {
    const std::string version = whole_version();
    constexpr std::array kin{"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"};
    return std::any_of(kin.begin(), kin.end(),
                       [&](const char *name) { return version.find(name) != std::string::npos; });
}

#if defined(MPI_H_ABI)
const char *abi() noexcept {
    return agree()
               ? "standard"
               : "standard, but this MPI and the header that was built with take MPI_ERRORS_RETURN, MPI_ERRORS_ABORT, "
                 "MPI_SEEK_* and attribute keys for each other (one is from before October 2025): build with the "
                 "mpi_abi.h of this MPI, or use a newer MPI";
}

MPI_Errhandler errors_return() noexcept {
    return agree() ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT;
}
#else
const char *abi() noexcept {
    return "native";
}

MPI_Errhandler errors_return() noexcept {
    return MPI_ERRORS_RETURN;
}
#endif

} // namespace thence::mpi
