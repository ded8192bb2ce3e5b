// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>

namespace command {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string &text) {
    throw std::runtime_error(text);
}

bool is_launcher(const fs::path &path) {
    static constexpr std::array known = {"mpirun", "mpiexec", "orterun", "prterun", "prun",
                                         "srun",   "aprun",   "jsrun",   "flux"};
    const std::string name = path.filename().string();
    return std::any_of(known.begin(), known.end(), [&](const std::string &each) {
        return name == each || ((each == "mpirun" || each == "mpiexec") && name.starts_with(each + "."));
    });
}

bool is_executable(const fs::path &path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// As the shell finds it.
fs::path find_program(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        std::error_code ignored;
        if (!fs::exists(name, ignored)) {
            fail("there is no file " + name);
        }
        if (!is_executable(name)) {
            fail(name + " is not executable");
        }
        return name;
    }
    const char *path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
    std::string found;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
        if (is_executable(file)) {
            return file;
        }
        std::error_code ignored; // as a shell does, it goes on after a folder that it may not search
        if (found.empty() && fs::exists(file, ignored)) {
            found = file.string();
        }
    }
    if (!found.empty()) {
        fail(found + " is not executable");
    }
    fail("there is no program " + name + " in PATH");
}

// The process of the program would have other rights than this one, so that its loader ignores LD_PRELOAD.
bool gets_other_rights(const fs::path &path) {
    struct stat facts {};
    struct statvfs mounted {};
    if (stat(path.c_str(), &facts) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOSUID) != 0)) {
        return false;
    }
    constexpr mode_t set_group = S_ISGID | S_IXGRP;
    return ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != getuid()) ||
           ((facts.st_mode & set_group) == set_group && facts.st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

// What a program prints that reads nothing, with what it reports as errors, and its status as waitpid() has it.
std::pair<std::string, int> output_of(const std::vector<std::string> &words) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        fail(std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    std::vector<char *> arguments;
    for (const std::string &word : words) {
        arguments.push_back(const_cast<char *>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; error == 0 && (size = read(ends[0], buffer.data(), buffer.size())) != 0;) {
        if (size < 0 && errno != EINTR) {
            break;
        }
        text.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
    close(ends[0]);
    if (error != 0) {
        fail("cannot run the loader " + words[0] + ": " + std::strerror(error));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return {text, status};
}

// While it lives, this process has no LD_PRELOAD.
class without_preload {
public:
    without_preload() {
        if (const char *text = std::getenv("LD_PRELOAD"); text != nullptr) {
            before_ = text;
            unsetenv("LD_PRELOAD");
        }
    }
    ~without_preload() {
        if (before_) {
            setenv("LD_PRELOAD", before_->c_str(), 1);
        }
    }
    without_preload &operator=(without_preload &&) = delete;

private:
    std::optional<std::string> before_;
};

bool interposes(const elf_file &library, const std::string &name) {
    return library.defines("thence_query") || (name.starts_with("libthence") && library.defines("MPI_Wait"));
}

// Finds the libraries that matter among those that the program is linked with, in the order in which the loader
// searches them.
void look_at_libraries(program &found) {
    const without_preload own;
    for (const loaded_library &each : list_libraries(found.file.interpreter, found.path)) {
        const elf_file library = read_elf(each.path);
        const std::string name = each.path.filename().string();
        if (name.starts_with("libthence-core")) {
            found.core = each.path;
        } else if (interposes(library, name)) {
            found.has_thence = true;
        }
        if (found.mpi.soname.empty() && library.defines("PMPI_Init")) {
            found.mpi = {library.soname.empty() ? name : library.soname, each.path};
        }
    }
}

// A libthence that is preloaded already stays, if it is for this MPI.
void look_at_preloaded(program &found) {
    if (std::getenv("LD_PRELOAD") == nullptr || found.has_thence) {
        return;
    }
    for (const loaded_library &each : list_libraries(found.file.interpreter, found.path)) {
        const std::string name = each.path.filename().string();
        if (name.starts_with("libthence-core")) {
            continue;
        }
        const elf_file library = read_elf(each.path);
        if (!interposes(library, name)) {
            continue;
        }
        const auto &needed = library.needed;
        if (!found.mpi.soname.empty() && std::find(needed.begin(), needed.end(), found.mpi.soname) == needed.end()) {
            fail(each.path.string() + " is in LD_PRELOAD, and is not for " + found.mpi.soname + ", the MPI of " +
                 found.path.string() + "; take it out");
        }
        found.has_thence = true;
    }
}

} // namespace

std::vector<loaded_library> list_libraries(const std::string &loader, const fs::path &file) {
    const auto [text, status] = output_of({loader, "--list", fs::absolute(file).string()});
    std::istringstream lines(text);
    std::vector<loaded_library> all;
    std::string line;
    while (std::getline(lines, line)) { // a tab, and NAME => PATH (ADDRESS) or PATH (ADDRESS)
        const std::size_t arrow = line.find(" => ");
        const std::size_t end = line.rfind(" (");
        if (line.starts_with('\t') && end != std::string::npos) {
            const std::size_t start = arrow == std::string::npos ? 1 : arrow + 4;
            const std::string path = line.substr(start, end - start);
            if (path.find('/') != std::string::npos) { // not the kernel's, which has no file
                all.push_back({line.substr(1, std::min(arrow, end) - 1), fs::absolute(path)});
            }
        }
    }
    if (status != 0) {
        const std::size_t last = text.find_last_not_of('\n');
        const std::size_t start = last == std::string::npos ? last : text.rfind('\n', last) + 1;
        fail("the loader cannot load " + file.string() + ": " +
             (last == std::string::npos ? "it ended with status " + std::to_string(status)
                                        : text.substr(start, last + 1 - start)));
    }
    return all;
}

mpi_library look_at_mpi(const std::string &name) {
    if (name.find('/') == std::string::npos) {
        return {name, {}};
    }
    const elf_file library = read_elf(name);
    if (!library.defines("PMPI_Init")) {
        fail(name + " is no shared library of an MPI: it does not define PMPI_Init");
    }
    return {library.soname.empty() ? fs::path(name).filename().string() : library.soname, fs::absolute(name)};
}

program look_at_program(const std::string &name) {
    if (name.find('/') == std::string::npos && is_launcher(name)) {
        fail(name + " is a launcher; put thence run behind it: " + name + " ... thence run -- PROGRAM");
    }
    program found;
    found.path = find_program(name);
    found.file = read_elf(found.path);
    // A program of MPI may be named like one.
    const bool may_be_launcher = is_launcher(name) || is_launcher(fs::canonical(found.path));
    const auto refuse_launcher = [&] {
        if (may_be_launcher) {
            fail(name +
                 " is named like a launcher, and is linked with no MPI. If it is one, put thence run behind it: " +
                 name + " ... thence run -- PROGRAM; if not, give it another name");
        }
    };
    if (found.file.is == elf_file::kind::script) {
        refuse_launcher();
        return found;
    }
    if (found.file.is == elf_file::kind::other) {
        fail(name + " is neither an ELF program nor a script that begins with #!");
    }
    if (!found.file.foreign.empty()) {
        fail(name + " is for another architecture than this Thence: " + found.file.foreign);
    }
    if (!found.file.damage.empty()) {
        fail(name + " is damaged: " + found.file.damage);
    }
    if (gets_other_rights(found.path)) {
        fail(name +
             " has the set-user-ID or the set-group-ID bit or file capabilities, so the loader preloads nothing; "
             "run a copy without them");
    }
    if (found.file.interpreter.empty()) {
        refuse_launcher();
        fail(name + " is linked statically, so nothing can be preloaded; link it dynamically, or with libthence.a");
    }
    look_at_libraries(found);
    look_at_preloaded(found);
    if (found.file.defines("thence_query")) {
        found.has_thence = true;
    } else if (found.file.defines("PMPI_Init") || (found.file.defines("MPI_Init") && found.mpi.soname.empty())) {
        fail(name + " contains its MPI, linked statically, so its calls cannot be interposed; link it with the shared "
                    "library of the MPI, or with libthence.a");
    } else if (found.mpi.soname.empty()) {
        refuse_launcher();
    }
    return found;
}

std::string become_program(const fs::path &path, const std::vector<std::string> &words) {
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string &word : words) {
        arguments.push_back(const_cast<char *>(word.c_str()));
    }
    arguments.push_back(nullptr);
    execv(path.c_str(), arguments.data());
    return "cannot run " + path.string() + ": " + std::strerror(errno);
}

} // namespace command
