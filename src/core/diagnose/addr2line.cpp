// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/addr2line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

namespace thence::diagnose {

namespace {

constexpr std::size_t max_addresses_per_process = 256; // bounds the length of the argument list
constexpr long timeout_ms = 10000;

std::string hex(std::uintptr_t value) {
    char text[2 + 2 * sizeof value + 1];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

long elapsed_ms(const timespec &since) noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since.tv_sec) * 1000 + (now.tv_nsec - since.tv_nsec) / 1000000;
}

// The environment without LD_PRELOAD, so that a tool that is preloaded into this program is not loaded into addr2line,
// and without DEBUGINFOD_URLS, so that a report does not wait for a download.
std::vector<char *> child_environment() {
    std::vector<char *> kept;
    for (char **variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("DEBUGINFOD_URLS=")) {
            kept.push_back(*variable);
        }
    }
    kept.push_back(nullptr);
    return kept;
}

// Starts addr2line with `output` as its standard output. Returns the process id, or -1 if it is not installed.
pid_t start(std::vector<char *> &arguments, int output) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 34))
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1); // the child must not inherit MPI's sockets
#endif
    // The stall detector thread blocks all signals; the child must not inherit that mask.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

    std::vector<char *> environment = child_environment();
    pid_t child = -1;
    for (const char *program : {"addr2line", "llvm-addr2line"}) {
        if (posix_spawnp(&child, program, &files, &attributes, arguments.data(), environment.data()) == 0) {
            break;
        }
        child = -1;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return child;
}

// Returns what the child writes until it closes its output or the timeout expires. The child has ended on return.
std::string collect(pid_t child, int input) {
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    std::string text;
    char buffer[4096];
    bool open = true;
    while (open) {
        pollfd ready{input, POLLIN, 0};
        const long left = timeout_ms - elapsed_ms(begin);
        const int n = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
        if (n == 0) {
            kill(child, SIGKILL);
            break;
        }
        const ssize_t size = n > 0 ? read(input, buffer, sizeof buffer) : -1;
        if (size > 0) {
            text.append(buffer, static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            open = false;
        }
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) { // ECHILD is fine: the program may have reaped it
    }
    return text;
}

std::string run(const std::string &object, const std::uintptr_t *addresses, std::size_t count) {
    std::vector<std::string> words{"addr2line", "-e", object, "-a", "-f", "-C", "-i"};
    for (std::size_t i = 0; i < count; ++i) {
        words.push_back(hex(addresses[i]));
    }
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string &word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    const pid_t child = start(arguments, ends[1]);
    close(ends[1]);
    std::string text = child > 0 ? collect(child, ends[0]) : std::string();
    close(ends[0]);
    return text;
}

std::string_view next_line(std::string_view &text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// Parses `file:line`, which may be followed by ` (discriminator 3)`. An unknown position is `??:?`.
void read_position(std::string_view text, source_frame &frame) {
    text = text.substr(0, text.find(" (discriminator"));
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || text.starts_with("??") || text.substr(colon + 1) == "?" ||
        text.substr(colon + 1) == "0") {
        return;
    }
    frame.file = text.substr(0, colon);
    frame.line = text.substr(colon + 1);
}

// Parses the output of addr2line. It has one block per address: a line with the address, then for each frame a line
// with the function and a line with the position.
void read_blocks(std::string_view text, std::vector<std::vector<source_frame>> &result, std::size_t first,
                 std::size_t count) {
    std::size_t block = 0; // 1 while the block of the first address is read
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (line.starts_with("0x")) {
            ++block;
        } else if (block >= 1 && block <= count) {
            source_frame frame;
            frame.function = line == "??" ? std::string_view() : line;
            read_position(next_line(text), frame);
            result[first + block - 1].push_back(std::move(frame));
        }
    }
}

} // namespace

std::vector<std::vector<source_frame>> addr2line(const std::string &object,
                                                 const std::vector<std::uintptr_t> &addresses) {
    std::vector<std::vector<source_frame>> result(addresses.size());
    for (std::size_t first = 0; first < addresses.size(); first += max_addresses_per_process) {
        const std::size_t count = std::min(max_addresses_per_process, addresses.size() - first);
        const std::string text = run(object, addresses.data() + first, count);
        if (text.empty()) {
            break; // not installed, or not an object file
        }
        read_blocks(text, result, first, count);
    }
    return result;
}

} // namespace thence::diagnose
