// SPDX-License-Identifier: BSD-3-Clause
// Used by the judge: what is written beside a bar. A limit is what no variant can surpass on this machine, such as the
// time of the computation alone. It is measured in the same run as the figure. What another program reaches is no
// limit, and is written under its name.
#pragma once

#include "measure/figure.hpp"

namespace measure {

struct limit {
    std::string what; // in words
    double value = 0; // of the figure at the limit, in its unit
    // The best that other programs reached in this run, in the same unit, if the limit holds for them, too.
    std::optional<double> reached = {};
};

// Adds a text to the note, behind what is there already.
void add_note(figure &to, const std::string &text);
// What another program reaches in the same run, in the unit of the figure.
void add_peer(figure &to, const std::string &name, double value);
// If the bar is missed, the text says whether the limit allows it. Times vary, so the figure or another program may
// also surpass the limit; then the text says so.
void add_limit(figure &to, const limit &found);
// Says that no limit is known, and why, if the bar is missed.
void add_no_limit(figure &to, const std::string &why);

} // namespace measure
