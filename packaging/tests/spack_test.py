#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: spack_test.py check | configure WORK_DIR MPICC CMAKE_ARGUMENT... | build WORK_DIR MPICC CMAKE_ARGUMENT...

Loads the Spack recipe with a stand-in for the parts of Spack that it uses. check: every variant steers one option that
CMakeLists.txt or cmake/ declares, and every condition names a variant. configure: configures with each variant alone,
with all and with none; what a variant brings must be there with it, and only then. build: configures, builds and installs
the smallest variant; CMake must know every variable it is given, and what a variant leaves out must not be there.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECIPE = ROOT / "packaging/spack/packages/thence/package.py"
OF_CMAKE = {"BUILD_SHARED_LIBS", "MPI_C_COMPILER"}  # declared by CMake or its modules


class Mpi:
    """spec["mpi"]"""

    def __init__(self, mpicc):
        self.mpicc = mpicc


class Python:
    """spec["python"]"""

    def __init__(self):
        self.package = types.SimpleNamespace(platlib="lib/python3.11/site-packages")


class Spec(dict):
    """Which variants are on, and the dependencies."""

    def __init__(self, variants, mpicc):
        super().__init__(mpi=Mpi(mpicc), python=Python())
        self.variants = variants

    def __contains__(self, condition):
        return self.variants[condition[1:]] == condition.startswith("+")


class CMakePackage:
    """As in Spack, with what the directives of the class body declare."""

    def __init__(self, spec):
        self.spec = spec

    def define(self, name, value):
        kind = "BOOL" if isinstance(value, bool) else "STRING"
        return f"-D{name}:{kind}={('ON' if value else 'OFF') if kind == 'BOOL' else value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.variants[variant])


class Directives:
    """Notes each call of a directive: name -> [(arguments, keywords)]."""

    NAMES = ("version", "variant", "depends_on", "conflicts", "license", "extends")

    def __init__(self):
        self.calls = {name: [] for name in self.NAMES}

    def module(self):
        module = types.ModuleType("spack.package")
        for name in self.NAMES:
            setattr(module, name, lambda *words, _name=name, **more: self.calls[_name].append((words, more)))
        module.CMakePackage = CMakePackage
        return module

    def variants(self):
        return {words[0]: more["default"] for words, more in self.calls["variant"]}


def load():
    directives = Directives()
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = directives.module()
    loader = importlib.util.spec_from_file_location("thence_recipe", RECIPE)
    module = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    return module.Thence, directives


def options(package, variants, mpicc="/usr/bin/mpicc"):
    """{CMake variable: value} for one choice of variants."""
    arguments = package(Spec(variants, mpicc)).cmake_args()
    parsed = dict(re.fullmatch(r"-D(\w+):\w+=(.*)", argument).groups() for argument in arguments)
    assert len(parsed) == len(arguments), f"a variable is set twice: {arguments}"
    return parsed


def declared():
    text = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    return set(re.findall(r"option\((\w+)", text)) | set(re.findall(r"set\((\w+) [^)]*?\bCACHE\b", text)) | OF_CMAKE


def check():
    package, directives = load()
    variants = directives.variants()
    known = declared()
    assert "THENCE_TBB" in known and len(variants) >= 7, (known, variants)
    base = options(package, {name: False for name in variants})
    unknown = set(base) - known
    assert not unknown, f"the recipe sets {sorted(unknown)}, which no CMake file declares"
    steered = set()
    for name in variants:
        changed = options(package, {other: other == name for other in variants})
        differing = {key for key in base if base[key] != changed[key]} - {"THENCE_PYTHON_DIR"}
        assert len(differing) == 1 and not differing & steered, f"variant {name} changes {sorted(differing)}"
        assert {base[key] for key in differing} == {"OFF"}, f"{name} off leaves {differing} on"
        steered |= differing
    parts = set(re.findall(r"^option\((THENCE_BUILD_\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert parts <= set(base), f"the recipe leaves {sorted(parts - set(base))} to chance"
    conditions = [more.get("when", "") for _, more in directives.calls["depends_on"] + directives.calls["conflicts"]]
    for condition in conditions + [words[0] for words, _ in directives.calls["conflicts"]]:
        for name in re.findall(r"[+~]([a-z]\w*)", condition):
            assert name in variants, f"{condition}: there is no variant {name}"
    needed = {words[0].split("@")[0].split("+")[0] for words, _ in directives.calls["depends_on"]}
    assert {"mpi", "cmake", "c", "cxx"} <= needed, needed
    minimum = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert f"cmake@{minimum}:" in [words[0] for words, _ in directives.calls["depends_on"]], minimum
    git = package.git.removeprefix("file://")
    assert Path(git) == ROOT, f"the recipe builds {git}"
    assert directives.calls["version"] and directives.calls["license"] == [(("BSD-3-Clause",), {})]
    print(f"{len(variants)} variants: {', '.join(f'{name} -> {key}' for name, key in pairs(package, variants, base))}")


def pairs(package, variants, base):
    for name in variants:
        changed = options(package, {other: other == name for other in variants})
        yield from ((name, key) for key in base if base[key] != changed[key] and key != "THENCE_PYTHON_DIR")


def run(*command):
    print("+", *command, flush=True)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    print(done.stdout[-4000:], done.stderr[-4000:], sep="")
    assert done.returncode == 0, f"exit {done.returncode}"
    return done.stdout + done.stderr


# What each variant brings: .pc files and targets of the build.
BRINGS = {
    "openmp": {"thence-omp.pc"},
    "tbb": {"thence-tbb.pc", "thence-pools.pc", "thence-queues.pc", "thence-tasks.pc", "thence-alpi.pc"},
    "fiber": {"thence-fiber.pc"},
    "fortran": {"thence-fortran.pc", "thence-tampi-fortran.pc", "thence-tagaspi-fortran.pc"},
    "python": {"thence_python_package"},
    "tools": {"thence_cli"},
    "bench": {"bench_attach_vs_waitall"},
    "tests": {"continuation_rules"},
}
NEEDS = {"bench": {"tools"}, "python": {"shared"}}  # the recipe's conflicts


def configure(work, mpicc, *more):
    package, directives = load()
    variants = set(directives.variants())
    assert variants == {"shared", *BRINGS}, variants
    choices = [{name} | NEEDS.get(name, set()) for name in sorted(variants)] + [variants, set()]
    for chosen in choices:
        name = "+".join(sorted(chosen)) or "none"
        folder = Path(work) / "configured" / name
        shutil.rmtree(folder, ignore_errors=True)
        values = options(package, {variant: variant in chosen for variant in variants}, mpicc)
        output = run("cmake", "-S", str(ROOT), "-B", str(folder), *more, *(f"-D{key}={value}" for key, value in values.items()))
        assert "not used by the project" not in output, f"{name}: CMake does not know a variable of the recipe"
        targets = set(re.findall(r"[\w.-]+", run("cmake", "--build", str(folder), "--target", "help")))
        there = {path.name for path in (folder / "package").glob("*.pc")} | targets
        for variant, brought in BRINGS.items():
            wanted = brought if variant in chosen else set()
            if variant == "fortran" and "No Fortran: " in output:
                continue  # no compiler here, or the MPI has no Fortran
            if "shared" not in chosen:
                wanted = wanted - {"thence-alpi.pc"}  # users of ALPI find its functions in a shared library only
            assert brought & there == wanted, f"{name}: of {variant} there is {sorted(brought & there)}"
        libraries = re.search(r"^BUILD_SHARED_LIBS:\w+=(\w+)", (folder / "CMakeCache.txt").read_text(), re.MULTILINE)
        assert (libraries.group(1) == "ON") == ("shared" in chosen), name
    print(f"{len(choices)} choices of variants")


def build(work, mpicc, *more):
    package, directives = load()
    chosen = {name: name == "shared" for name in directives.variants()}
    arguments = [f"-D{name}={value}" for name, value in options(package, chosen, mpicc).items()]
    shutil.rmtree(Path(work) / "prefix", ignore_errors=True)
    output = run("cmake", "-S", str(ROOT), "-B", f"{work}/build", *more, *arguments)
    assert "not used by the project" not in output, "CMake does not know a variable of the recipe"
    run("cmake", "--build", f"{work}/build", "--parallel", str(os.cpu_count()))
    run("cmake", "--install", f"{work}/build", "--prefix", f"{work}/prefix")
    files = [str(path.relative_to(f"{work}/prefix")) for path in Path(f"{work}/prefix").rglob("*") if path.is_file()]
    for wanted in (r"lib\S*/libthence\.so", r"lib\S*/libthence-core\.so", r"include/thence/thence\.h"):
        assert any(re.fullmatch(wanted, name) for name in files), f"{wanted} is not installed"
    for left_out in ("bin/", "thence-tbb.pc", "thence-pools.pc", "thence-queues.pc", "thence-tasks.pc", "thence-alpi.pc", "thence-fiber.pc",
                     "thence-omp.pc", ".a"):
        found = [name for name in files if left_out in (name if left_out.endswith(("/", ".pc")) else Path(name).suffix)]
        assert not found, f"the variant without it installs {found}"


def main():
    if sys.argv[1:2] == ["check"]:
        check()
    elif sys.argv[1:2] == ["configure"] and len(sys.argv) > 3:
        configure(*sys.argv[2:])
    elif sys.argv[1:2] == ["build"] and len(sys.argv) > 3:
        build(*sys.argv[2:])
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
