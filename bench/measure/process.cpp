// SPDX-License-Identifier: BSD-3-Clause
#include "measure/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace measure {
namespace {

using clock = std::chrono::steady_clock;

struct pipe_ends {
    int read = -1;
    int write = -1;
};

pipe_ends make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    }
    return {ends[0], ends[1]};
}

// Called in the child after fork(): sets up its streams and environment and executes the program.
[[noreturn]] void execute(char *const arguments[], const std::vector<std::string> &environment, int out, int err,
                          int failed) {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
    }
    dup2(out, STDOUT_FILENO);
    if (err >= 0) {
        dup2(err, STDERR_FILENO);
    }
    for (const std::string &entry : environment) {
        if (entry.find('=') == std::string::npos) {
            unsetenv(entry.c_str());
        } else {
            putenv(const_cast<char *>(entry.c_str()));
        }
    }
    execvp(arguments[0], arguments);
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = write(failed, &reason, sizeof reason);
    _exit(127);
}

// Reads once and appends the data. At end of file closes the descriptor and sets it to -1.
void drain(int &descriptor, std::string &into) {
    char buffer[4096];
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got > 0) {
        into.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
        close(descriptor);
        descriptor = -1;
    }
}

// Reads both streams until they end. Returns false if the deadline passes first.
bool collect(int out, int err, clock::time_point deadline, outcome &result) {
    while (out >= 0 || err >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
        if (left <= 0) {
            close(out);
            close(err);
            return false;
        }
        pollfd watched[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
        if (poll(watched, 2, static_cast<int>(left)) <= 0) {
            continue;
        }
        if (watched[0].revents != 0) {
            drain(out, result.output);
        }
        if (watched[1].revents != 0) {
            drain(err, result.errors);
        }
    }
    return true;
}

} // namespace

outcome run_program(const std::vector<std::string> &command, const std::vector<std::string> &environment,
                    std::chrono::seconds limit, errors standard_error) {
    std::vector<char *> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string &word : command) {
        arguments.push_back(const_cast<char *>(word.c_str()));
    }
    arguments.push_back(nullptr);

    const pipe_ends out = make_pipe();
    const pipe_ends err = make_pipe();
    const pipe_ends failed = make_pipe();
    const pid_t child = fork();
    if (child < 0) {
        throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    }
    if (child == 0) {
        execute(arguments.data(), environment, out.write, standard_error == errors::keep ? err.write : -1,
                failed.write);
    }
    close(out.write);
    close(err.write);
    close(failed.write);
    int reason = 0;
    const bool started = read(failed.read, &reason, sizeof reason) != sizeof reason;
    close(failed.read);

    outcome result;
    result.timed_out = !collect(out.read, err.read, clock::now() + limit, result);
    if (result.timed_out) {
        kill(-child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!started) {
        throw std::runtime_error("cannot run " + command[0] + ": " + std::strerror(reason));
    }
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

std::string own_folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::string thence_command() {
    const std::string installed = own_folder() + "/" THENCE_BIN_FROM_LIBEXEC "/" THENCE_COMMAND;
    return std::filesystem::exists(installed) ? installed : own_folder() + "/../../bin/" THENCE_COMMAND;
}

std::vector<std::string> words(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> result;
    for (std::string word; in >> word;) {
        result.push_back(word);
    }
    return result;
}

} // namespace measure
