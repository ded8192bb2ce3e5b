// SPDX-License-Identifier: BSD-3-Clause
// What this process prints on standard error, for tests of reports.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

// Reads what this process prints on standard error.
class standard_error {
public:
    standard_error() {
        require(pipe(ends_) == 0);
        require((kept_ = dup(STDERR_FILENO)) >= 0);
        require(dup2(ends_[1], STDERR_FILENO) >= 0);
    }
    ~standard_error() {
        dup2(kept_, STDERR_FILENO);
        for (const int end : {ends_[0], ends_[1], kept_}) {
            close(end);
        }
    }
    standard_error(const standard_error &) = delete;
    standard_error &operator=(const standard_error &) = delete;

    // Waits until `words` have been printed. Returns all that was printed.
    std::string read_until(const std::string &words) {
        char more[4096];
        while (text_.find(words) == std::string::npos) {
            const ssize_t n = read(ends_[0], more, sizeof more);
            if (n <= 0) {
                std::printf("standard error has ended without: %s\n", words.c_str());
                std::abort();
            }
            text_.append(more, static_cast<std::size_t>(n));
        }
        return text_;
    }

private:
    static void require(bool good) {
        if (!good) {
            std::perror("standard_error");
            std::abort();
        }
    }
    int ends_[2] = {-1, -1};
    int kept_ = -1;
    std::string text_;
};
