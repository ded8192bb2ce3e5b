# SPDX-License-Identifier: BSD-3-Clause
"""What readers and type checkers are told of the public functions: complete docstrings in NumPy style, and types."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import thence
import thence.executor

PACKAGE = Path(thence._api.__file__).resolve().parent
CACHE = Path(thence.__file__).parent.parent / "mypy_cache"  # in the folder of the build: NumPy takes 8 s
SECTIONS = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes"]


def public_functions():
    for module in (thence, thence.executor):
        for name in module.__all__:
            what = getattr(module, name)
            if inspect.isclass(what):
                yield f"{name}", what
                for method, function in vars(what).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{name}.{method}", function
            elif callable(what):
                yield name, what


def sections_of(text):
    """The names of the sections in their order, and the text of each."""
    found = re.split(r"^(\w+)\n(-+)$", text, flags=re.MULTILINE)
    for title, line in zip(found[1::3], found[2::3]):
        assert len(title) == len(line), f"the line below {title} is as long as it"
    return dict(zip(found[1::3], found[3::3]))


@pytest.mark.parametrize("name, function", list(public_functions()))
def test_docstrings_are_complete_and_in_numpys_style(name, function):
    text = inspect.getdoc(function)
    assert text, "it has a docstring"
    summary = text.split("\n\n")[0]
    assert summary.endswith("."), "the summary is a sentence"
    sections = sections_of(text)
    assert list(sections) == [title for title in SECTIONS if title in sections], "in the order of numpydoc"
    if inspect.isclass(function):
        return
    signature = inspect.signature(function)
    named = [name for name in signature.parameters if name != "self"]
    told = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?$", sections.get("Parameters", ""), re.MULTILINE)
    assert [each.lstrip("*") for line in told for each in line.split(", ")] == named, "each parameter, in order"
    if signature.return_annotation is not None and not summary.startswith(("Return whether", "Return a future")):
        assert {"Returns", "Yields"} & set(sections), "what it returns"


@pytest.mark.parametrize("name, function", list(public_functions()))
def test_every_parameter_and_result_has_a_type(name, function):
    if inspect.isclass(function):
        function = function.__init__
        if not inspect.isfunction(function):
            return
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"] == []


@pytest.mark.parametrize("strict, what", [(True, "../examples"), (False, ".")])
def test_mypy_finds_nothing(strict, what, monkeypatch):
    pytest.importorskip("mypy", reason="mypy is not installed")
    # As in an environment where the package is installed: what is reported is about the program that uses it.
    options = ["--strict", "--follow-imports=silent"] if strict else ["--check-untyped-defs"]
    monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    files = [str(file) for file in (PACKAGE / what).glob("*.py")]
    assert files
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(CACHE), *files]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mpi_libraries_are_found_in_the_map_of_a_process():
    maps = """7f10-7f20 r-xp 00000000 08:01 123                        /opt/my mpi/lib/libmpi.so.40
7f20-7f30 r--p 00001000 08:01 123                        /opt/my mpi/lib/libmpi.so.40
7f30-7f40 r-xp 00000000 08:01 124                        /opt/cray/lib/libmpi_gnu_123.so.12
7f40-7f50 r-xp 00000000 08:01 125                        /usr/lib/libmpi_cxx.so.40
7f50-7f60 r-xp 00000000 08:01 126                        /usr/lib/libmpich.so.12.1.8
7f60-7f70 rw-p 00000000 00:00 0"""
    found = ["/opt/my mpi/lib/libmpi.so.40", "/opt/cray/lib/libmpi_gnu_123.so.12", "/usr/lib/libmpich.so.12.1.8"]
    assert thence._mpi.mpi_libraries(maps) == found
