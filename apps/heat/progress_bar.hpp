// SPDX-License-Identifier: BSD-3-Clause
// One line on standard error that fills up. Invariant: drawing is rare (ten times a second at most) and done by one
// thread at a time; the others skip it.
#pragma once

#include "recorder.hpp"

#include <mutex>
#include <string>

namespace heat {

class ProgressBar {
public:
    ProgressBar(bool show_it, std::string text, int iterations)
        : shown(show_it), label(std::move(text)), total(iterations) {}
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar &) = delete;
    ProgressBar &operator=(const ProgressBar &) = delete;

    void show(int done);
    void clear();

private:
    const bool shown;
    const std::string label;
    const int total;
    std::mutex drawing;
    Nanoseconds next = 0;
};

} // namespace heat
