# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe of Thence. Spack clones branch `main` of the repository that the recipe lies in: only what is committed
there is built."""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0 it is in spack.package
    pass


class Thence(CMakePackage):
    """Thence gives any stock MPI completion callbacks: a continuation is attached to one or more MPI requests of any kind,
    and runs once they are complete. On top of the callbacks it couples MPI to OpenMP, oneTBB, fibers, futures and C++
    senders."""

    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))
    homepage = git

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("shared", default=True, description="Shared libraries; without it, static ones")
    variant("openmp", default=True, description="Adapter to OpenMP, thence::omp")
    variant("tbb", default=False, description="oneTBB: thence::tbb, thence::pools, thence::queues, thence::tasks, thence::alpi")
    variant("fiber", default=False, description="Adapter to Boost.Fiber, thence::fiber")
    variant("fortran", default=False, description="Modules for Fortran, thence::fortran, thence::tampi-fortran, thence::tagaspi-fortran")
    variant("python", default=False, description="The package `thence` for Python: await on requests of mpi4py")
    variant("tools", default=True, description="The command thence")
    variant("bench", default=False, description="Benchmarks for `thence bench`")
    variant("tests", default=False, description="Build the tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type="build")  # makes the man pages
    depends_on("mpi@3:")
    extends("python", when="+python")
    depends_on("python@3.11:", type=("build", "run"), when="+python")
    depends_on("py-mpi4py", type="run", when="+python")
    depends_on("intel-tbb@2021.6:", when="+tbb")
    depends_on("boost@1.71:+fiber+context", when="+fiber")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json@3.10:", type="build", when="+tools")
    depends_on("valgrind", type="run", when="+bench")
    depends_on("openblas", when="+bench+tbb+openmp")  # benchmark cholesky
    depends_on("googletest", type=("build", "test"), when="+tests")

    conflicts("~tools", when="+bench", msg="the command runs the benchmarks: use +tools")
    conflicts("~shared", when="+python", msg="the package for Python loads a shared library")
    conflicts("%gcc@:11", msg="C++20 as Thence uses it needs GCC 12 or later")
    conflicts("%clang@:18", msg="C++20 as Thence uses it needs Clang 19 or later")

    def python_folder(self):
        """Where Spack's Python looks for packages, below the prefix."""
        if "+python" not in self.spec:
            return "lib/python3/site-packages"
        return self.spec["python"].package.platlib

    def cmake_args(self):
        return [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("THENCE_BUILD_EXAMPLES", False),
            self.define_from_variant("THENCE_BUILD_FORTRAN", "fortran"),
            self.define_from_variant("THENCE_INSTALL_PYTHON", "python"),
            self.define("THENCE_PYTHON_DIR", self.python_folder()),
            self.define("THENCE_BUILD_APPS", False),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("THENCE_OPENMP", "openmp"),
            self.define_from_variant("THENCE_TBB", "tbb"),
            self.define_from_variant("THENCE_FIBER", "fiber"),
            self.define_from_variant("THENCE_BUILD_TOOLS", "tools"),
            self.define_from_variant("THENCE_BUILD_BENCH", "bench"),
            self.define_from_variant("THENCE_BUILD_TESTS", "tests"),
        ]
