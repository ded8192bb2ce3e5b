// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/process_identity.hpp"

#include "core/mpi/calls.hpp"

#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

namespace thence::diagnose {

namespace {

// Never destroyed: a thread may report while the process exits.
identity &stored() noexcept {
    static auto *object = new identity;
    return *object;
}

} // namespace

void read_process_identity() {
    identity &result = stored();
    mpi::table.Comm_rank(MPI_COMM_WORLD, &result.rank);
    result.pid = static_cast<int>(getpid());
    MPI_Comm parent = MPI_COMM_NULL;
    result.spawned = mpi::table.comm_get_parent != nullptr && mpi::table.comm_get_parent(&parent) == MPI_SUCCESS &&
                     parent != MPI_COMM_NULL;
    char name[256] = "";
    result.host = gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

const identity &process_identity() noexcept {
    return stored();
}

std::string spawned_file_name(const std::string &name, int pid) {
    struct stat facts {};
    if (stat(name.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
        return name;
    }
    const std::size_t slash = name.rfind('/');
    const std::size_t begin = slash == name.npos ? 0 : slash + 1;
    const std::size_t dot = name.rfind('.');
    const std::size_t at = dot == name.npos || dot <= begin ? name.size() : dot; // a name may begin with a dot
    return std::string(name).insert(at, ".spawned-" + std::to_string(pid));
}

std::string own_file_name(const std::string &name) {
    return stored().spawned ? spawned_file_name(name, stored().pid) : name;
}

std::string seconds(std::uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
    return text;
}

void print_to_stderr(std::string_view text) noexcept {
    const std::string prefix = "thence[" + std::to_string(stored().rank) + "]: ";
    std::string all;
    while (!text.empty()) {
        const std::size_t length = text.find('\n') == text.npos ? text.size() : text.find('\n');
        all.append(prefix).append(text.substr(0, length)).append(1, '\n');
        text.remove_prefix(length == text.size() ? length : length + 1);
    }
    for (std::size_t done = 0; done < all.size();) {
        const ssize_t n = write(STDERR_FILENO, all.data() + done, all.size() - done);
        if (n < 0 && errno != EINTR) {
            return;
        }
        done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
}

} // namespace thence::diagnose
