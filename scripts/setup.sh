#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the missing packages for the given purposes through apt, and prints the reason for each. If nothing is
# missing, it does nothing and needs no root rights.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOF'
usage: scripts/setup.sh [--check] [build] [demo] [test] [lint] [docs] [bench] [packages]

Installs the missing packages for the named purposes (default: build) through apt; with sudo if not run as root. --check
installs nothing: it lists what is missing and exits with 1 if a required package is.
EOF
}

# Probes. Each returns true if the thing exists, however it was installed.
has_command() { command -v "$1" >/dev/null 2>&1; }
has_package() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }
has_header() { # searches where the compiler and CMake search
    local folder
    local -a folders prefixes
    IFS=: read -r -a folders <<<"${CPATH-}:${CPLUS_INCLUDE_PATH-}"
    IFS=':;' read -r -a prefixes <<<"${CMAKE_PREFIX_PATH-}"
    for folder in /usr/include /usr/local/include ${folders[@]+"${folders[@]}"} ${prefixes[@]+"${prefixes[@]/%//include}"}; do
        [ -z "$folder" ] || [ ! -e "$folder/$1" ] || return 0
    done
    return 1
}
has_python() { scripts/python_with.sh "$1" >/dev/null 2>&1; }
has_clang() { compgen -c clang++ | grep -qxE 'clang\+\+(-[0-9]+)?'; }
has_clang_tidy() { # 19 or newer
    compgen -c clang-tidy | grep -qxE 'clang-tidy-(19|20|21|22)' ||
        { has_command clang-tidy && ! clang-tidy --version | grep -q 'version 1[0-8]\.'; }
}
has_clang_openmp() { compgen -G '/usr/lib/llvm-*/lib/libomp.so' >/dev/null; }
has_openblas() { compgen -G '/usr/lib/*/libopenblas.so' >/dev/null || compgen -G '/usr/local/lib*/libopenblas.so' >/dev/null; }
has_cmake() {
    has_command cmake && [ "$(printf '%s\n' 3.25 "$(cmake --version | sed -n '1s/[^0-9.]*//gp')" | sort -V | head -n 1)" = 3.25 ]
}

# Columns: purpose | probe | Debian packages | reason. a/b: the first of them that apt knows. ?: optional; without it
# some tests are skipped, or some programs are not built.
table() {
    cat <<'EOF'
build|has_command g++|g++|the library is C++20
build|has_command make|make|runs the targets of the Makefile
build|has_cmake|cmake|build system, 3.25 or newer
build|has_command mpicc|libopenmpi-dev openmpi-bin|an MPI: Open MPI 4.1, unless an mpicc is in PATH already
build|has_header CLI/CLI.hpp|libcli11-dev|command line of the programs
build|has_header nlohmann/json.hpp|nlohmann-json3-dev|JSON of benchmarks and applications
build|has_header tbb/version.h|?libtbb-dev|oneTBB adapter, pools of senders, tasks
build|has_command gfortran|?gfortran|modules for Fortran
build|has_header boost/fiber/all.hpp|?libboost-fiber-dev ?libboost-context-dev|fiber adapter
demo|has_python numpy|python3-numpy|checks and plots of the demo
demo|has_python matplotlib|python3-matplotlib|plots of the demo
test|has_package libgtest-dev|libgtest-dev|GoogleTest
test|has_command mpicc.openmpi|libopenmpi-dev openmpi-bin|Open MPI 4.1
test|has_command mpicc.mpich|libmpich-dev mpich|MPICH 4.0
test|has_command gfortran|?gfortran|the modules for Fortran, and the calls of Fortran
test|has_command smpicc|?libsimgrid-dev|SimGrid's SMPI: tests on simulated ranks, scripts/simulate.py
test|has_command ip|?iproute2|scripts/two_hosts.py: tests on two hosts with a delay
test|has_python ensurepip|python3-venv|one environment for each of Open MPI 5, MPICH 5 and Intel MPI (pip wheels)
test|has_command pkg-config|pkg-config|test of the installed thence.pc
test|has_command spin|spin|model check of the native engine's protocol
test|has_command valgrind|valgrind|instruction counts
test|has_python numpy|python3-numpy|checks of the applications' results
test|has_python matplotlib|?python3-matplotlib|tests of the plots
test|has_python mpi4py|?python3-mpi4py|tests of the Python package
test|has_python pytest|?python3-pytest|the same
test|has_clang|?clang-19/clang|the public headers are compiled with Clang too
test|has_clang_openmp|?libomp-19-dev/libomp-dev|the OpenMP adapter is tested with Clang's runtime too
test|has_command groff|?groff|checks the man pages
test|has_command ccache|?ccache|several configurations and tests compile the same sources
test|has_command ninja|?ninja-build|builds of many small programs take less time
test|has_openblas|?libopenblas-dev|the benchmark cholesky is tested
bench|has_command valgrind|valgrind|instruction counts
bench|has_openblas|?libopenblas-dev|kernels of the benchmark cholesky
bench|has_python numpy|python3-numpy|figures
bench|has_python matplotlib|python3-matplotlib|figures
lint|has_command clang-format|clang-format|layout of the sources
lint|has_clang_tidy|clang-tidy-19/clang-tidy|static checks
lint|has_clang|?clang-19/clang|the public headers are compiled with Clang too
packages|has_command dpkg-buildpackage|dpkg-dev|builds the Debian packages
packages|has_command dh|debhelper|builds the Debian packages
packages|has_command gfortran|gfortran|the Debian package for Fortran
packages|has_package mpi-default-dev|mpi-default-dev|the MPI that the Debian packages are built with
packages|has_package pkg-config|pkg-config|test of the Debian packages
lint|has_python markdown_it|python3-markdown-it|the check of the documentation's links makes the site
lint|has_python pygments|python3-pygments|the same
lint|has_command mandoc|mandoc|the same
lint|has_command node|?nodejs|the search of the site is tested
docs|has_python markdown_it|python3-markdown-it|turns the guide into HTML
docs|has_python pygments|python3-pygments|colours of the code in it
docs|has_command mandoc|mandoc|turns the man pages into HTML
EOF
}

check_only=
purposes=
for argument; do
    case $argument in
    --help | -h) usage; exit 0 ;;
    --check) check_only=1 ;;
    build | demo | test | lint | docs | bench | packages) purposes="$purposes $argument" ;;
    *) usage >&2; exit 2 ;;
    esac
done
purposes=${purposes:-build}
purposes=${purposes# }
case $purposes in *demo* | *test* | *bench*) purposes="build $purposes" ;; esac

missing=()
while IFS='|' read -r purpose probe packages why; do
    case " $purposes " in *" $purpose "*) ;; *) continue ;; esac
    if ! $probe; then
        for package in $packages; do
            case " ${missing[*]-} " in *" $package "*) continue ;; esac
            has_package "${package#\?}" && continue
            missing+=("$package")
            optional=
            case $package in \?*) optional=' (optional)' ;; esac
            printf 'setup: missing %-20s %s%s\n' "${package#\?}" "$why" "$optional"
        done
    fi
done < <(table)

if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
required=()
for package in "${missing[@]}"; do
    case $package in \?*) ;; *) required+=("$package") ;; esac
done
if [ -n "$check_only" ]; then
    [ ${#required[@]} -gt 0 ] || exit 0
    for_these=
    [ "$purposes" = build ] || for_these=" FOR=\"$purposes\""
    echo "setup: required packages are missing; this command installs them: make deps$for_these" >&2
    exit 1
fi
# Fails only if a required package is missing. Tests that need an optional one report that they are skipped.
give_up() {
    echo "setup: $1" >&2
    [ ${#required[@]} -gt 0 ] || exit 0
    exit 1
}
if ! has_command apt-get; then
    give_up "this system has no apt-get; install the things in the list above, then run the command again"
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! has_command sudo; then
        give_up "not run as root, and sudo is not installed; run as root: apt-get install ${missing[*]#\?}"
    fi
    sudo=sudo
fi
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -y "$@"; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
candidate() { grep -q 'Candidate: [^(]' <<<"$(apt-cache policy "$1" 2>/dev/null)"; }
# Sets `chosen` to the packages for the given entries. Fails if apt knows none for an entry: the package lists may be
# old then. If it succeeds, they are taken to be new enough, unless the installation fails.
choose() {
    local entry package unknown=0
    chosen=()
    for entry; do
        for package in $(tr / ' ' <<<"${entry#\?}"); do
            if candidate "$package"; then
                chosen+=("$package")
                continue 2
            fi
        done
        unknown=1
        case $entry in \?*) ;; *) chosen+=("$entry") ;; esac # so that apt-get reports it
    done
    return $unknown
}
install() {
    [ ${#chosen[@]} -gt 0 ] || return 0
    echo "setup: apt-get install --no-install-recommends ${chosen[*]}"
    apt install --no-install-recommends "${chosen[@]}" >"$log" 2>&1
}
if ! choose "${missing[@]}" || ! install; then
    echo "setup: apt-get update"
    apt update >"$log" 2>&1 || { cat "$log" >&2; give_up "apt-get update failed"; }
    choose "${missing[@]}" || true
    if ! install; then
        choose ${required[@]+"${required[@]}"} || true
        install || {
            cat "$log" >&2
            echo "setup: apt-get could not install: ${chosen[*]}" >&2
            exit 1
        }
        echo "setup: apt-get could not install all of: ${missing[*]#\?}; some tests will be skipped" >&2
    fi
fi
