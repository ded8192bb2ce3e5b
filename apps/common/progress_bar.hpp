// SPDX-License-Identifier: BSD-3-Clause
// A progress bar in one line of standard error. It is drawn at most ten times a second, by one thread at a time; other
// threads skip drawing.
#pragma once

#include "recorder.hpp"

#include <mutex>
#include <string>

namespace apps {

enum class When { automatic, always, never };
// Whether this rank draws a bar: rank 0 does, with `automatic` only on a terminal.
bool draws_bar(When when, int rank);

class ProgressBar {
public:
    // Draws the text, and how much of `count` is done: `count` is a number of what `counted` says, in the plural.
    ProgressBar(bool show_it, std::string text, int count, std::string counted = "iterations")
        : shown(show_it && count > 0), label(std::move(text)), unit(std::move(counted)), total(count) {}
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar &) = delete;
    ProgressBar &operator=(const ProgressBar &) = delete;

    void show(int done);
    void clear();

private:
    const bool shown;
    const std::string label, unit;
    const int total;
    std::mutex drawing;
    Nanoseconds next = 0;
};

} // namespace apps
