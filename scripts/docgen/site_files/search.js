// SPDX-License-Identifier: BSD-3-Clause
// Search over search-index.js, which make_docs.py writes. A result is a section of a page; each word of the query has to
// occur in the page's title, in the section's heading or in its text.
"use strict";

// How well a word matches a text: as a whole word, as the beginning of one, inside of one, or not at all.
function quality(text, word) {
    let best = 0;
    for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
        const begins = at === 0 || !/[a-z0-9]/.test(text[at - 1]);
        const ends = !/[a-z0-9]/.test(text[at + word.length] ?? " ");
        best = Math.max(best, begins && ends ? 3 : begins ? 2 : 1);
    }
    return best;
}

// Points that a page loses, so that of sections that match equally well the guide comes first. Man pages repeat what the
// pages of the API say.
function penalty(page) {
    return page.startsWith("man/") ? 12 : page.startsWith("guide/") ? 0 : page.startsWith("api/") ? 1 : 3;
}

// Results, best first: {page, title, heading, anchor, text}.
function find(index, query, most = 30) {
    const words = query.toLowerCase().split(/\s+/).filter((word) => word);
    if (words.length === 0) {
        return [];
    }
    const found = [];
    for (const [number, heading, anchor, text] of index.entries) {
        const [page, title] = index.pages[number];
        const texts = [title.toLowerCase(), heading.toLowerCase(), text.toLowerCase()];
        let score = 0;
        for (const word of words) {
            const [inTitle, inHeading, inText] = texts.map((one) => quality(one, word));
            const points = 3 * inTitle + 10 * inHeading + inText;
            if (points === 0) {
                score = 0;
                break;
            }
            score += points;
        }
        if (score > 0) {
            if (words.length > 1 && texts[2].includes(words.join(" "))) {
                score += 10; // the words stand beside each other
            }
            found.push({ page, title, heading, anchor, text, score: score - penalty(page) });
        }
    }
    return found.sort((a, b) => b.score - a.score).slice(0, most);
}

// About `length` characters of the text, around the whole query or else the first of its words, as [part, isMatch] pairs.
function excerpt(text, query, length = 200) {
    const words = query.toLowerCase().split(/\s+/).filter((word) => word);
    const lower = text.toLowerCase();
    const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
    const whole = lower.indexOf(words.join(" "));
    let start = Math.max(0, (whole >= 0 ? whole : places.length > 0 ? Math.min(...places) : 0) - 60);
    if (start > 0) {
        start = text.indexOf(" ", start) + 1;
    }
    const shown = (start > 0 ? "... " : "") + text.slice(start, start + length) + (start + length < text.length ? " ..." : "");
    const parts = [];
    let rest = shown;
    while (rest) {
        let first = -1;
        let size = 0;
        for (const word of words) {
            const at = rest.toLowerCase().indexOf(word);
            if (at >= 0 && (first < 0 || at < first)) {
                first = at;
                size = word.length;
            }
        }
        if (first < 0) {
            parts.push([rest, false]);
            break;
        }
        if (first > 0) {
            parts.push([rest.slice(0, first), false]);
        }
        parts.push([rest.slice(first, first + size), true]);
        rest = rest.slice(first + size);
    }
    return parts;
}

function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) {
        made.setAttribute(key, value);
    }
    return made;
}

function show(query) {
    const results = document.getElementById("results");
    const article = document.querySelector("article");
    const searching = query.trim() !== "";
    results.hidden = !searching;
    article.hidden = searching;
    document.querySelector("aside").hidden = searching;
    results.replaceChildren();
    if (!searching) {
        return;
    }
    const found = find(window.thenceIndex, query);
    results.append(element("h1", found.length ? `Results for “${query.trim()}”` : `No results for “${query.trim()}”`));
    if (found.length === 0) {
        results.append(element("p", "Try fewer words, or the beginning of a word."));
    }
    for (const one of found) {
        const link = element("a", "", { href: `${siteRoot}${one.page}#${one.anchor}` });
        const same = one.heading === one.title;
        link.append(element("span", one.title, { class: "where" }));
        if (!same) {
            link.append(element("span", " › ", { class: "where" }), element("span", one.heading, { class: "heading" }));
        }
        link.addEventListener("click", () => show("")); // the target may be on this page
        const text = element("p", "");
        for (const [part, matches] of excerpt(one.text, query)) {
            text.append(matches ? element("mark", part) : part);
        }
        const entry = element("div", "", { class: "result" });
        entry.append(link, text);
        results.append(entry);
    }
}

// Loads the index when it is needed first: most visits search for nothing.
let loading = null;
function withIndex(then) {
    loading ??= new Promise((resolve, reject) => {
        const script = element("script", "", { src: `${siteRoot}search-index.js` });
        script.addEventListener("load", resolve);
        script.addEventListener("error", reject);
        document.head.append(script);
    });
    loading.then(then, () => {});
}

if (typeof document === "undefined") {
    module.exports = { find, excerpt };
} else {
    const input = document.getElementById("search");
    input.addEventListener("focus", () => withIndex(() => {}));
    input.addEventListener("input", () => withIndex(() => show(input.value)));
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== input) {
            event.preventDefault();
            input.focus();
        } else if (event.key === "Escape" && input.value) {
            input.value = "";
            show("");
        } else if (event.key === "Enter" && document.activeElement === input) {
            document.querySelector("#results a")?.click();
        }
    });
    const asked = new URLSearchParams(location.search).get("q");
    if (asked) {
        input.value = asked;
        withIndex(() => show(asked));
    }
}
