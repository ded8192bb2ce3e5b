// SPDX-License-Identifier: BSD-3-Clause
#include "command/print.hpp"

#include <iostream>

namespace command {
namespace {

using measure::text_of;

std::string verdict(const measure::figure &figure) {
    if (figure.kind == measure::bar_kind::none) {
        return "";
    }
    return std::string(figure.passed() ? "pass" : "FAIL") +
           "  bar: " + (figure.kind == measure::bar_kind::at_most ? "at most " : "at least ") + text_of(figure.bar) +
           (figure.aim ? ", aim " + text_of(*figure.aim) : "");
}

// A value that misses its bar must not look like the bar.
std::string value_of(const measure::figure &figure) {
    return figure.kind == measure::bar_kind::none ? text_of(figure.found.value)
                                                  : measure::text_beside(figure.found.value, figure.bar);
}

void print(const measure::figure &figure) {
    std::cout << "  " << figure.name << '\n'
              << "      " << value_of(figure) << ' ' << figure.unit << "   " << verdict(figure) << '\n';
    if (!figure.against.empty()) {
        std::cout << "      against " << figure.against;
        if (figure.ours && figure.baseline) {
            std::cout << ": " << text_of(*figure.ours) << " to " << text_of(*figure.baseline) << ' '
                      << figure.side_unit;
        }
        std::cout << '\n';
    }
    if (figure.found.low != figure.found.high) {
        std::cout << "      repeats between " << text_of(figure.found.low) << " and " << text_of(figure.found.high)
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
