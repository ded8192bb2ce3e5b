// SPDX-License-Identifier: BSD-3-Clause
#include "measure/limit.hpp"

namespace measure {
namespace {

// Whether a figure of this value would be better than one of the other, for this kind of bar.
bool better(const figure &judged, double value, double other) {
    return judged.kind == bar_kind::at_most ? value < other : value > other;
}

} // namespace

void add_note(figure &to, const std::string &text) {
    to.note += (to.note.empty() ? "" : "; ") + text;
}

void add_peer(figure &to, const std::string &name, double value) {
    add_note(to, name + ": " + text_of(value) + " " + to.unit);
}

void add_limit(figure &to, const limit &found) {
    const bool surpassed =
        better(to, to.found.value, found.value) || (found.reached && better(to, *found.reached, found.value));
    std::string text = "limit: " + found.what + ": ";
    text += (to.passed() ? text_of(found.value) : text_beside(found.value, to.bar)) + " " + to.unit;
    if (surpassed) {
        text += "; this run surpasses it, so it is no limit here";
    } else if (!to.passed()) {
        text += better(to, to.bar, found.value) ? ", so the bar cannot be met here" : ", which allows the bar";
    }
    add_note(to, text);
    to.limit = found.value;
}

void add_no_limit(figure &to, const std::string &why) {
    if (!to.passed()) {
        add_note(to, "no limit is known: " + why);
    }
}

} // namespace measure
