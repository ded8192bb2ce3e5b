#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the documentation's checks and of its reader: each fault that is put into a small tree is found."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from docgen import links, page, picture  # noqa: E402
from docgen.headers import paragraphs, parse_header  # noqa: E402
from docgen.man import block  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_app_pages  # noqa: E402
import check_demo_table  # noqa: E402
import check_errors  # noqa: E402
import check_extensions  # noqa: E402

SITE = {
    "index.html": '<h1 id="top">Here</h1><a href="guide/a.html#more">a</a><script src="search-index.js"></script>',
    "guide/a.html": '<h1 id="a">A</h1><h2 id="more">More</h2><a href="../index.html">up</a><a href="#a">here</a>'
                    '<a href="https://example.org/">elsewhere</a>',
    "search-index.js": 'window.thenceIndex = {"pages":[["guide/a.html","A"]],"entries":[[0,"More","more","text"]]};',
}
REPOSITORY = {
    "README.md": "# Name\n\n[guide](docs/guide/a.md#two-words) ![picture](docs/p.svg) [site](https://example.org)\n",
    "docs/guide/a.md": "# A\n\n## Two words\n\n[up](../../README.md) [here](#a)\n\n    [no link](in/code.md)\n",
    "docs/p.svg": "<svg/>",
}


def tree(files):
    folder = tempfile.TemporaryDirectory()
    for name, text in files.items():
        path = Path(folder.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class Checks(unittest.TestCase):
    def expect(self, check, good, changes, words):
        with tree(good) as folder:
            self.assertEqual(list(check(folder)), [])
        with tree({**good, **changes}) as folder:
            faults = list(check(folder))
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def site(self, changes, words):
        self.expect(links.faults_of_site, SITE, changes, words)

    def sources(self, changes, words):
        self.expect(links.faults_of_sources, REPOSITORY, changes, words)

    def with_link(self, link):
        return {"guide/a.html": SITE["guide/a.html"] + link}

    def test_a_page_that_does_not_exist(self):
        self.site(self.with_link('<a href="b.html">b</a>'), "link to b.html, which does not exist")

    def test_an_anchor_that_does_not_exist(self):
        self.site(self.with_link('<a href="../index.html#nowhere">b</a>'), "no such anchor")

    def test_a_picture_that_does_not_exist(self):
        self.site(self.with_link('<img src="p.svg">'), "link to p.svg, which does not exist")

    def test_a_file_outside_of_the_site(self):
        self.site(self.with_link('<a href="../../README.md">b</a>'), "outside of the site")

    def test_something_from_the_network(self):
        self.site(self.with_link('<script src="https://example.org/x.js"></script>'), "<script> would fetch")

    def test_an_anchor_that_stands_twice(self):
        self.site(self.with_link('<h2 id="more">More</h2>'), "stands there twice")

    def test_a_row_of_a_table_without_a_head(self):
        self.site(self.with_link("<p>| name | text |\n| other | text |</p>"), "a row of a table without a head: | name |")

    def test_a_page_that_nothing_links_to(self):
        self.site({"alone.html": ""}, "alone.html: no page links to it")

    def test_a_result_that_leads_nowhere(self):
        self.site({"search-index.js": SITE["search-index.js"].replace('"more"', '"less"')}, "'More' leads to guide/a.html#less")

    def test_a_source_that_links_to_nothing(self):
        self.sources({"docs/b.md": "[x](guide/none.md)\n"}, "docs/b.md: link to guide/none.md, which does not exist")

    def test_a_source_that_links_to_no_heading(self):
        self.sources({"docs/b.md": "[x](guide/a.md#three)\n"}, "no heading with that anchor")

    def test_a_source_that_links_out_of_the_repository(self):
        self.sources({"docs/b.md": "[x](../../etc)\n"}, "does not exist in the repository")

    def names(self, changes, words):
        good = {"docs/architecture.md": "| 1 | `src/a.cpp`, `go()`, `b.cpp`, `stop()` | it goes |\n", "src/a.cpp": "void go() {}",
                "src/b.cpp": "void stop() {}"}
        self.expect(links.faults_of_names, good, changes, words)

    def test_a_file_that_is_named_and_does_not_exist(self):
        self.names({"README.md": "see `src/none/`"}, "README.md: there is no src/none/")

    def test_a_step_in_a_file_that_does_not_exist(self):
        self.names({"docs/architecture.md": "| 1 | `src/a.cpp` and `c.cpp` | x |\n"}, "in c.cpp, which does not exist")

    def test_a_step_whose_function_is_not_in_its_file(self):
        self.names({"src/b.cpp": "void halt() {}"}, "calls stop(), which is not in src/b.cpp")

    def test_a_source_without_its_picture(self):
        self.sources({"docs/b.md": "![x](none.svg)\n"}, "link to none.svg, which does not exist")

    def test_situations_in_another_order_than_in_the_picture_are_found(self):
        page = "# P\n\n| situation | speed | `--only` |\n|---|---|---|\n| a `b` | 2 | `first` |\n| c | 1 | `then-this` |\n\n| other | x |\n|---|---|\n"
        rows = [{"name": name, "ratio": 1} for name in ("first", "then-this")]
        files = {"docs/guide/when-it-pays.md": page, "docs/images/demo.json": json.dumps({"situations": rows})}
        other = {"docs/images/demo.json": json.dumps({"situations": rows[::-1]})}
        self.expect(check_demo_table.faults, files, other, "first, then-this; in the picture, by docs/images/demo.json, they are then-this, first")
        self.expect(check_demo_table.faults, files, {"docs/images/demo.json": json.dumps({"situations": rows[:1]})}, "they are first")
        unnamed = {"docs/guide/when-it-pays.md": page.replace("`first`", "first")}
        self.expect(check_demo_table.faults, files, unnamed, "no name of a situation")


class Picture(unittest.TestCase):
    ROWS = [["pmpi", "c_api"], ["base"]]

    def faults(self, *rooms):
        return list(picture.faults(self.ROWS, [(room, "text", "") for room in rooms], "the table"))

    def test_a_table_with_each_room_in_order_has_no_fault(self):
        self.assertEqual(self.faults("c_api", "pmpi", "base"), [])

    def test_a_room_that_the_table_lacks(self):
        self.assertEqual(self.faults("c_api", "pmpi"), ["docs/architecture.md: the table has no row for base"])

    def test_a_room_that_does_not_exist(self):
        self.assertIn("a row for attic, which does not exist", self.faults("c_api", "pmpi", "base", "attic")[0])

    def test_rooms_in_another_order_than_the_layers(self):
        self.assertIn("not in the order", self.faults("base", "c_api", "pmpi")[0])

    def test_the_meaning_of_each_room_is_in_the_picture(self):
        drawing = picture.Drawing("rooms")
        drawing.row([("one", "alone", "", "box")])
        drawing.row([("two", "a < b", "note", "box"), ("three", "c", "", "box")])
        for words in (">one<", ">alone<", ">a &lt; b<", ">note<", ">three<"):
            self.assertIn(words, drawing.svg())


class Errors(unittest.TestCase):
    SOURCES = {
        "src/core/api/errors.hpp": 'failure null{MPI_ERR_ARG, "null"}; failure both{MPI_ERR_ARG,\n"one " "text"};',
        "include/thence/a.hpp": 'static_assert(good<T>(), "text of three words"); // "no text of code"\n',
        "tools/thence/a.cpp": 'help("this is no error"); throw error("cannot read file " + name);',
        "docs/guide/errors.md": "# Errors\n\n> `one\n> text`\n\nnull, cannot read file NAME\n",
    }

    def faults(self, changes):
        with tree({**self.SOURCES, **changes}) as folder:
            return check_errors.check(Path(folder))[0]

    def added(self, name, text):
        faults = self.faults({name: self.SOURCES.get(name, "") + text})
        self.assertEqual(len(faults), 1, faults)
        return faults[0]

    def test_a_page_with_every_text_has_no_fault(self):
        self.assertEqual(self.faults({}), [])

    def test_a_reason_without_a_cure(self):
        self.assertIn("cure for: short", self.added("src/core/api/a.cpp", 'return fail(call, {MPI_ERR_ARG, "short"});'))

    def test_an_exception_of_a_header_without_a_cure(self):
        self.assertIn("for: all is lost", self.added("include/thence/a.hpp", 'throw error("all is " "lost");'))

    def test_a_message_with_a_value_in_it_without_a_cure(self):
        self.assertIn("for: : no such way", self.added("src/b.cpp", 'fprintf(stderr, "thence: %s: no such way.\\n", a);'))

    def test_an_error_of_the_command_without_a_cure(self):
        self.assertIn("for: is no file", self.added("tools/thence/a.cpp", 'std::cerr << name << " is no file\\n";'))


class AppPages(unittest.TestCase):
    PAGE = """# A

Source: [apps/a](../../apps/a/README.md). Run it:

    mpiexec -n 2 a

| variant | file | lines |
|---|---|---|
| `one` | `one.cpp`, `all.hpp` | 8 |
| `two`, `three` | `one.cpp` `f()` | 5 |

- `one`

  ```cpp
  void f(int a) {
      g(a, ...);
      ...
      h("// no comment", a);
  ```
"""
    FILES = {
        "docs/guide/app-a.md": PAGE,
        "docs/guide/other.md": "| variant | file | lines |\n|---|---|---|\n| x | `y.cpp` | 1 |\n",
        "apps/a/one.cpp": "// SPDX\n#include <a>\n\nvoid f(int a) {\n    /* two\n       lines */\n    g(a, 1); // why\n"
                          "    left_out();\n    h(\"// no comment\", a);\n}\nint b;\n",
        "apps/a/all.hpp": "// SPDX\nint late(int b);\n",
    }

    def faults(self, old="", new="", files=None):
        self.assertIn(old, self.PAGE)
        with tree({**self.FILES, "docs/guide/app-a.md": self.PAGE.replace(old, new) if old else self.PAGE, **(files or {})}) as folder:
            return check_app_pages.check(folder)[0]

    def refused(self, old, new, *words):
        faults = self.faults(old, new)
        self.assertEqual(len(faults), 1, faults)
        for text in words:
            self.assertIn(text, faults[0])

    def test_a_page_that_says_what_the_sources_are_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_a_wrong_number_of_lines(self):
        self.refused("| 8 |", "| 9 |", "app-a.md:9: one.cpp, all.hpp: expected 8 lines (7 + 1), the page says 9")

    def test_a_wrong_number_of_lines_of_a_function(self):
        self.refused("| 5 |", "| 12 |", "app-a.md:10: one.cpp f(): expected 5 lines, the page says 12")

    def test_a_change_of_the_sources(self):
        self.assertIn("expected 9 lines (7 + 2)", self.faults(files={"apps/a/all.hpp": "int late(int b);\nint more;\n"})[0])

    def test_a_line_that_is_not_in_the_sources(self):
        self.refused("g(a, ...)", "g(b, ...)", "app-a.md:16: no source has this line", "g(b, ...)", "apps/a/one.cpp:7: g(a, 1);")

    def test_the_beginning_of_a_word_is_not_the_word(self):
        self.refused('h("// no comment", a);', "int lat", "app-a.md:18: ", "int lat")

    def test_lines_in_another_order(self):
        self.refused("void f(int a) {", "h(\"// no comment\", a);", "app-a.md:16: ")

    def test_a_block_from_two_files(self):
        self.refused('h("// no comment", a);', "int late(int b);", "app-a.md:18: ")

    def test_code_left_out_without_saying_so(self):
        self.refused("g(a, ...);\n      ...\n", "g(a, 1);\n", "app-a.md:17: ", "no comment")

    def test_a_wrong_comment(self):
        self.refused("      ...\n", "      // wherefore\n", "app-a.md:17: ", "// wherefore")

    def test_a_block_that_is_no_more_than_dots(self):
        block = self.PAGE[self.PAGE.index("  void"):self.PAGE.rindex("  ```")]
        self.refused(block, "  ...\n", "app-a.md:15: a block without code")

    def test_code_that_the_page_does_not_mark_as_code(self):
        self.refused("mpiexec -n 2 a", "f(1);", "app-a.md:5: an indented block of code that is not checked")

    def test_a_page_without_code(self):
        faults = self.faults("```cpp", "```")
        self.assertIn("app-a.md:14: a block of code that is not checked", faults[0])
        self.assertIn("no C++ block", faults[1])

    def test_a_file_that_does_not_exist(self):
        self.refused("`all.hpp`", "`none.hpp`", "app-a.md:9: there is no apps/a/none.hpp")

    def test_a_function_that_does_not_exist(self):
        self.refused("`f()`", "`late()`", "app-a.md:10: apps/a/one.cpp has no function late()")

    def test_a_row_without_a_number(self):
        self.refused("| 5 |", "| five |", "app-a.md:10: expected | variant | file | number of lines |")

    def test_a_page_without_a_table(self):
        self.assertIn("app-a.md:1: no table", self.faults("| variant | file |", "| name | file |")[0])

    def test_a_page_without_a_folder(self):
        self.refused("[apps/a](../../apps/a/README.md)", "apps/a", "app-a.md:1: no link to the folder")


class Reader(unittest.TestCase):
    def test_anchors_are_those_of_github(self):
        text = "# A `code_span()`, and: more\n\n## Same\n\n## Same\n\n## `name` {#own}\n"
        anchors = [section.anchor for section in page.read("a.md", "a.html", text).sections]
        self.assertEqual(anchors, ["a-code_span-and-more", "same", "same-1", "own"])

    def test_the_text_of_a_section_has_paragraphs_tables_and_code(self):
        text = "# A\n\none `two`\n\n| three |\n|---|\n| four |\n\n    five\n\n## B\n\nsix\n"
        first, second = page.read("a.md", "a.html", text).sections
        self.assertEqual(first.text.split(), ["one", "two", "three", "four", "five"])
        self.assertEqual(second.text.split(), ["six"])

    def test_html_in_a_text_is_shown_and_not_obeyed(self):
        self.assertIn("vector&lt;int&gt;", page.read("a.md", "a.html", "# A\n\nstd::vector<int> x\n").body)

    def test_a_list_of_code_is_set_side_by_side(self):
        def lists(text):
            return page.read("a.md", "a.html", "# A\n\n" + text).body.count('<ul class="side-by-side">')
        item = "- one\n\n  ```cpp\n  int i;\n  ```\n\n"
        self.assertEqual(lists(2 * item), 1)
        self.assertEqual(lists(2 * item + "text\n\n" + 3 * item), 2)
        self.assertEqual(lists(item), 0)
        self.assertEqual(lists(item + "- text\n"), 0)
        self.assertEqual(lists("- a\n  - b\n- c\n"), 0)

    def test_a_comment_keeps_its_lists_and_code(self):
        text = "One\ntwo:\n- a\n  b\n- c\n\n        int i;\n            j;\n"
        self.assertEqual(paragraphs(text), ["One two:\n- a b\n- c", "    int i;\n        j;"])
        self.assertEqual(block("One:\n- a\n- b"), ["One:", r".IP \(bu 2", "a", r".IP \(bu 2", "b"])
        self.assertEqual(block("    int i;"), [".nf", "    int i;", ".fi"])
        self.assertEqual(paragraphs("  | a | b |\n  |---|---|\n  | c | d |\n"), ["| a | b |\n|---|---|\n| c | d |"])
        self.assertEqual(block("| a | b |\n|---|---|\n| `c` | d |"), [".TP", r"\fBc\fR", "d"])

    def test_members_are_those_of_their_class_and_public(self):
        text = """/** @brief A. */
class [[nodiscard]] owner final : public base {
  public:
    /** @brief B. @throws an error. */
    explicit owner(int a) : a_(a) {}

  private:
    /** @brief C. */
    void secret();
};
/** @brief D. */
template <class T> concept good = requires(T t) { t; };
"""
        with tree({"a.hpp": text}) as folder:
            items = parse_header(Path(folder) / "a.hpp", Path(folder)).items
        self.assertEqual([(i.scope, i.name) for i in items], [("", "owner"), ("owner", "owner"), ("", "good")])
        self.assertEqual(items[1].prototype(), "explicit owner(int a)")
        self.assertEqual(items[1].comment.notes, ["Throws an error."])

    def test_a_member_that_points_to_a_function_is_no_function(self):
        text = "typedef struct table {\n    /** Blocks. */\n    int (*block)(void *task);\n} table;\n/** F. */\nint f(void);\n"
        with tree({"a.h": text}) as folder:
            header = parse_header(Path(folder) / "a.h", Path(folder))
        self.assertEqual([(i.kind, i.name) for i in header.items], [("other", "block"), ("function", "f")])

    def test_a_promise_without_a_test_on_every_mpi_is_found(self):
        page = "# E\n`examples/a.c`\n\n## What the paper promises\n\n| says | test |\n|---|---|\n" \
               "| 1 | `s.core` |\n| 2 | `s.other` |\n| 3 | `s.none` |\n| 4 | nothing |\n\n## More\n\n| 5 | `s.other` |\n"
        files = {
            "docs/guide/mpich-extensions.md": page,
            "tests/mpi/CMakeLists.txt": 'set(two core.cpp)\nrank_test(a "${two}" RANKS 1 LABELS every_mpi)\nrank_test(b b.cpp RANKS 1)\n',
            "tests/mpi/core.cpp": "TEST(s, core) {}",
            "tests/mpi/b.cpp": "TEST_F(s, other) {}",
        }
        with tree(files) as folder:
            found = "\n".join(check_extensions.faults(Path(folder)))
        for text in ("no test s.none", "s.other does not run on every MPI", "no test in this row: | 4", "no examples/a.c"):
            self.assertIn(text, found)
        self.assertNotIn("s.core", found)
        self.assertEqual(len(found.splitlines()), 4)

    def test_a_file_that_runs_with_2_ranks_runs_on_every_mpi(self):
        page = "## What the paper promises\n\n| says | test |\n|---|---|\n| 1 | `s.both` |\n| 2 | `s.also` |\n| 3 | `s.alone` |\n"
        files = {
            "docs/guide/mpich-extensions.md": page,
            "tests/mpi/CMakeLists.txt": "rank_file(both RANKS 1 2 ALSO also)\nrank_file(alone RANKS 1)\n",
            **{f"tests/mpi/{name}.cpp": f"TEST(s, {name}) {{}}" for name in ("both", "also", "alone")},
        }
        with tree(files) as folder:
            found = list(check_extensions.faults(Path(folder)))
        self.assertEqual([fault.split(": ")[1] for fault in found], ["s.alone does not run on every MPI"])


if __name__ == "__main__":
    unittest.main()
