// SPDX-License-Identifier: BSD-3-Clause
#include "command/print.hpp"

#include <cmath>
#include <cstdio>
#include <iostream>

namespace command {
namespace {

std::string number(double value) {
    char text[64];
    const double size = std::fabs(value);
    std::snprintf(text, sizeof text,
                  size >= 100000 ? "%.3g"
                  : size >= 100  ? "%.0f"
                  : size >= 10   ? "%.1f"
                                 : "%.3g",
                  value);
    return text;
}

std::string verdict(const measure::figure &figure) {
    if (figure.kind == measure::bar_kind::none) {
        return "";
    }
    return std::string(figure.passed() ? "pass" : "FAIL") +
           "  bar: " + (figure.kind == measure::bar_kind::at_most ? "at most " : "at least ") + number(figure.bar) +
           (figure.aim ? ", aim " + number(*figure.aim) : "");
}

void print(const measure::figure &figure) {
    std::cout << "  " << figure.name << '\n'
              << "      " << number(figure.found.value) << ' ' << figure.unit << "   " << verdict(figure) << '\n';
    if (!figure.against.empty()) {
        std::cout << "      against " << figure.against;
        if (figure.ours && figure.baseline) {
            std::cout << ": " << number(*figure.ours) << " to " << number(*figure.baseline) << ' ' << figure.side_unit;
        }
        std::cout << '\n';
    }
    if (figure.found.low != figure.found.high) {
        std::cout << "      repeats between " << number(figure.found.low) << " and " << number(figure.found.high)
                  << (figure.doubtful() ? ", on both sides of the bar: measure again on an idle machine" : "") << '\n';
    }
    if (!figure.to_beat.empty()) {
        std::cout << "      to beat: " << figure.to_beat << '\n';
    }
    if (!figure.note.empty()) {
        std::cout << "      " << figure.note << '\n';
    }
}

} // namespace

void print(const measure::report &report) {
    std::cout << report.name << ": " << report.about << '\n';
    for (const measure::figure &figure : report.figures) {
        print(figure);
    }
    if (!report.failed.empty()) {
        std::cout << "  not measured: " << report.failed << '\n';
    } else if (!report.skipped.empty()) {
        std::cout << "  skipped: " << report.skipped << '\n';
    }
    std::cout << std::flush;
}

} // namespace command
