# SPDX-License-Identifier: BSD-3-Clause
"""The page of the API reference about the Fortran modules thence_f08 and thence, as Markdown, from their common text."""

import re

SOURCE = "bindings/fortran/module.inc"
PAGE = "api/fortran.md"
BEGIN = """# Fortran modules `thence_f08` and `thence`

Made from the text of the modules. It is shown as `thence_f08` has it. In `thence` requests, info objects and statuses are integers, and a
status is an array of `MPI_STATUS_SIZE`. Where nothing else is said, arguments and errors are those of the procedure of this name in
[C](thence-thence.h.md). [Fortran](../guide/fortran.md) says how to use them.

"""
# What thence_f08.F90 defines the names as.
MEANINGS = {"REQUEST": "type(MPI_Request)", "STATUS": "type(MPI_Status)", "INFO": "type(MPI_Info)", " ONE": "", " MANY": "",
            " SHAPED": "(:)", "ATTACH_ONE": "thence_attach", "WAIT_FOR": "thence_wait"}
# A procedure with the comment before it and the declarations of its arguments behind.
PROCEDURE = re.compile(r"((?:^ *! .*\n)*)^ *((?:logical )?(?:subroutine|function) (\w+)\(.*\).*)\n"
                       r"((?:^ *(?:import|!.*|(?:[\w()* ,]|_)+::.*)\n)*)", re.MULTILINE)
GENERIC = re.compile(r"((?:^ *! .*\n)*)^  interface (thence_\w+) *(?:! (.*))?\n((?:.*\n)*?)  end interface", re.MULTILINE)
ARGUMENT = re.compile(r"!   (\w+) +(.*)")  # of a comment that lists them
TYPE = re.compile(r"((?:^  ! .*\n)*)^(  type(?:, bind\(c\))? :: (thence_\w+)\n(?:.*\n)*?  end type)", re.MULTILINE)


def plain(text):
    for name, meaning in MEANINGS.items():
        text = re.sub(rf"{name}\b" if not name.startswith(" ") else rf"{name}(?!\w)", meaning, text)
    return text


def comment_of(lines):
    out = ""
    for line in map(str.strip, lines.splitlines()):
        argument = ARGUMENT.fullmatch(line) if not line.startswith("!    ") else None
        out += f"\n- `{argument[1]}`: {argument[2]}" if argument else " " + line.removeprefix("!").strip()
    return out.strip()


def declarations(body, arguments):
    """The lines that declare an argument or the result, and what is said of them."""
    lines = [line.strip() for line in body.splitlines() if not line.strip().startswith("import")]
    return [line for line in lines
            if line.startswith("!") or set(re.findall(r"(?:^|,) *(\w+)", line.split("::")[1])) & arguments]


def block(title, comment, code):
    anchor = title.replace("_", "-")
    text = [plain(comment).replace("<", "\\<"), ""] if comment else []
    return [f"## `{title}` {{#{anchor}}}", "", *text, "```fortran", code, "```", ""]


def page(root):
    """The Markdown of the page."""
    source = (root / SOURCE).read_text()
    public = set(re.findall(r"\bthence_\w+", " ".join(re.findall(r"^  public :: (.*)$", source, re.MULTILINE))))
    generic = {"ATTACH_ONE": "thence_attach", "WAIT_FOR": "thence_wait"}
    found = {}  # the comment and the forms of each
    for before, name, behind, body in GENERIC.findall(source):
        generic |= {each: name for line in re.findall(r"module procedure (.*)", body) for each in re.split(r",\s*", line)}
        found[name] = comment_of(before) or behind[:1].upper() + behind[1:], []
    for comment, head, name, body in PROCEDURE.findall(source):
        title = generic.get(name, name)
        if title not in public:
            continue
        arguments = set(re.findall(r"\w+", head.split("(", 1)[1]))
        code = "\n".join([head.replace(f" {name}(", f" {title}("), *("  " + line for line in declarations(body, arguments))])
        told, forms = found.get(title, ("", []))
        found[title] = told or comment_of(comment), [*forms, plain(code)]
    out = [BEGIN]
    for title in sorted(found):
        out += block(title, found[title][0], "\n\n".join(found[title][1]))
    for comment, code, name in TYPE.findall(source):
        if name in public:
            out += block(name, comment_of(comment), re.sub(r"^  ", "", code, flags=re.MULTILINE))
    missing = public - set(found) - {name for _, _, name in TYPE.findall(source)}
    if missing:
        raise ValueError(f"{SOURCE}: nothing found of {' '.join(sorted(missing))}")
    return "\n".join(out) + "\n"
