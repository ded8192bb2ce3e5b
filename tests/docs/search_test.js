// SPDX-License-Identifier: BSD-3-Clause
// usage: node search_test.js SEARCH_JS: the rules of the search, on a small index.
"use strict";
const assert = require("node:assert");
const { find, excerpt } = require(process.argv[2]);

const index = {
    pages: [["guide/a.html", "Errors"], ["api/b.html", "<thence/thence.h>"], ["man/c.3.html", "thence_attach(3)"]],
    entries: [
        [0, "Attaching fails", "fails", "The call thence_attach() returns an error: flag is null."],
        [0, "Other", "other", "Nothing is attached, and the flag is not null either."],
        [1, "thence_attach", "thence_attach", "Attach one continuation."],
        [2, "thence_attach(3)", "thence_attach3", "Attach one continuation."],
    ],
};
const found = (query) => find(index, query).map((one) => one.anchor);

// A whole word in a heading comes before the beginning of one, that before the text, and man pages come after the rest.
assert.deepStrictEqual(found("attach"), ["thence_attach", "thence_attach3", "fails", "other"]);
assert.deepStrictEqual(found("THENCE_ATTACH")[0], "thence_attach");
// Each word has to occur somewhere.
assert.deepStrictEqual(found("flag error"), ["fails", "other"]);
assert.deepStrictEqual(found("flag unheard"), []);
assert.deepStrictEqual(found("  "), []);
// Words that stand beside each other come first.
assert.deepStrictEqual(found("is null")[0], "fails");
// What a user types is text, never a pattern.
assert.deepStrictEqual(found("attach()"), ["fails"]);
assert.deepStrictEqual(found("(["), []);

const marked = excerpt(`${"before ".repeat(40)}the Flag here${" after".repeat(80)}`, "flag");
assert.deepStrictEqual(marked.filter(([, matches]) => matches), [["Flag", true]]);
assert.ok(marked[0][0].startsWith("... ") && marked.at(-1)[0].endsWith(" ..."));
assert.ok(marked.map(([part]) => part).join("").length < 220);
// The excerpt shows the words where they stand together, not where the first of them occurs alone.
const together = excerpt(`flag ${"x ".repeat(300)}flag is null here`, "flag is null");
assert.ok(together.map(([part]) => part).join("").endsWith("flag is null here"));
console.log("search: all rules hold");
