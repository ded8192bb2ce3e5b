# SPDX-License-Identifier: BSD-3-Clause
"""The page of the API reference about the Python package, as Markdown. Its sources are read, not imported: they need MPI."""

import ast
import inspect
import re

PACKAGE = "bindings/python/thence"
MODULES = (("thence", "__init__.py"), ("thence.executor", "executor.py"))
PAGE = "api/python.md"
BEGIN = """# Python package `thence`

Made from the docstrings of the package. [Python](../guide/python.md) says how to use it.
"""


def public_names(tree):
    """What `__all__` of a module has."""
    return next(ast.literal_eval(node.value) for node in tree.body
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")


def definitions(root):
    """{name: node} of all functions and classes of the package, without the forms of an overload."""
    found = {}
    for path in sorted((root / PACKAGE).glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if not any(getattr(each, "id", "") == "overload" for each in node.decorator_list):
                    found[node.name] = node
    return found


def signature(node):
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{kind} {node.name}({ast.unparse(node.args)}){result}"


def text(paragraphs):
    """reStructuredText's marks as Markdown's."""
    return re.sub(r"(?<!`)`(?!`)([\w.]+)`(?!`)", r"`\1`", paragraphs.replace("``", "`"))


def entries(section):
    """The (name, type, meaning) of a section such as Parameters."""
    for head, meaning in re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)*)", section + "\n", re.MULTILINE):
        name, _, kind = head.partition(" : ")
        yield name, kind, " ".join(meaning.split())


def documented(docstring):
    """A docstring in NumPy's style as lines of Markdown."""
    first, *sections = re.split(r"^(\w+)\n-+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    out = [text(first.strip()), ""]
    for title, body in zip(sections[::2], sections[1::2]):
        if title == "Notes":
            out += [text(body.strip()), ""]
            continue
        out += [f"| {title.lower()} | | meaning |", "|---|---|---|"]
        for name, kind, meaning in entries(body.strip("\n")):
            cells = (f"`{name}`", f"`{kind}`" if kind else "", text(meaning))
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        out.append("")
    return out


def item(prefix, node):
    name = f"{prefix}.{node.name}"
    out = [f"## `{name}` {{#{name.replace('.', '-').lower()}}}", ""]
    if not isinstance(node, ast.ClassDef):
        return [*out, "```python", signature(node), "```", "", *documented(ast.get_docstring(node))]
    out += documented(ast.get_docstring(node))
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
            out += [f"### `{method.name}`", "", "```python", signature(method), "```", "", *documented(ast.get_docstring(method))]
    return out


def page(root):
    """The Markdown of the page."""
    known, out = definitions(root), [BEGIN]
    for module, file in MODULES:
        for name in public_names(ast.parse((root / PACKAGE / file).read_text())):
            if name in known:  # a constant is none of them
                out += item(module, known[name])
    return "\n".join(out) + "\n"
