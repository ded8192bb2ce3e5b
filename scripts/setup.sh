#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing for the given purposes, through apt, and says what and why. Does nothing, and asks for no
# rights, when all of it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOF'
usage: scripts/setup.sh [--check] [build] [demo] [test] [lint] [docs] [bench]

Makes sure that the packages for the named purposes (default: build) are installed. Installs through apt, with sudo
unless root. --check only reports, and exits with 1 if anything is missing.
EOF
}

# Each probe says whether the thing is there, however it was installed.
has_command() { command -v "$1" >/dev/null 2>&1; }
has_package() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }
has_header() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }
has_python() { scripts/python_with.sh "$1" >/dev/null 2>&1; }
has_clang() { compgen -c clang | grep -qxE 'clang(-[0-9]+)?'; }
has_cmake() {
    has_command cmake && [ "$(printf '%s\n' 3.25 "$(cmake --version | sed -n '1s/[^0-9.]*//gp')" | sort -V | head -n 1)" = 3.25 ]
}

# purposes | probe | Debian packages | why
table() {
    cat <<'EOF'
build|has_command g++|g++|the library is C++20
build|has_command make|make|runs the targets of the Makefile
build|has_cmake|cmake|build system, 3.25 or newer
build|has_command mpicc|libopenmpi-dev openmpi-bin|an MPI: Open MPI 4.1, unless an mpicc is in PATH already
build|has_header CLI/CLI.hpp|libcli11-dev|command line of the programs
build|has_header nlohmann/json.hpp|nlohmann-json3-dev|figures of the benchmarks as JSON
build|has_header tbb/version.h|libtbb-dev|oneTBB adapter
build|has_header boost/fiber/all.hpp|libboost-fiber-dev libboost-context-dev|fiber adapter
demo|has_python numpy|python3-numpy|checks and plots of the demo
demo|has_python matplotlib|python3-matplotlib|plots of the demo
test|has_package libgtest-dev|libgtest-dev|GoogleTest
test|has_command mpicc.openmpi|libopenmpi-dev openmpi-bin|Open MPI 4.1
test|has_command mpicc.mpich|libmpich-dev mpich|MPICH 4.0
test|has_python ensurepip|python3-venv|one environment for each of Open MPI 5, MPICH 5 and Intel MPI (pip wheels)
test|has_command pkg-config|pkg-config|test of the installed thence.pc
test|has_command spin|spin|model check of the native engine's protocol
test|has_command valgrind|valgrind|instruction counts
test|has_python numpy|python3-numpy|checks of the applications' results
bench|has_command valgrind|valgrind|instruction counts
bench|has_python numpy|python3-numpy|figures
bench|has_python matplotlib|python3-matplotlib|figures
lint|has_command clang-format|clang-format|layout of the sources
lint|has_command clang-tidy|clang-tidy|static checks
lint|has_clang|clang|the public headers are compiled with Clang too
docs|has_python markdown|python3-markdown|turns the guide into HTML
docs|has_command groff|groff|checks the man pages
EOF
}

check_only=
purposes=
for argument; do
    case $argument in
    --help | -h) usage; exit 0 ;;
    --check) check_only=1 ;;
    build | demo | test | lint | docs | bench) purposes="$purposes $argument" ;;
    *) usage >&2; exit 2 ;;
    esac
done
purposes=${purposes:-build}
case $purposes in *demo* | *test* | *bench*) purposes="build $purposes" ;; esac

missing=()
while IFS='|' read -r purpose probe packages why; do
    case " $purposes " in *" $purpose "*) ;; *) continue ;; esac
    if ! $probe; then
        for package in $packages; do
            case " ${missing[*]-} " in *" $package "*) continue ;; esac
            has_package "$package" && continue
            missing+=("$package")
            printf 'setup: missing %-20s %s\n' "$package" "$why"
        done
    fi
done < <(table)

if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ -n "$check_only" ]; then
    exit 1
fi
if ! has_command apt-get; then
    echo "setup: this system has no apt-get; install what the list above names, then run the command again" >&2
    exit 1
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! has_command sudo; then
        echo "setup: neither root nor sudo; as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    sudo=sudo
fi
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -y "$@"; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    echo "setup: apt-get install --no-install-recommends ${missing[*]}"
    apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1
}
# A package list that knows every package is new enough until an installation says otherwise.
known() {
    local package
    for package in "${missing[@]}"; do
        apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
    done
}
if ! known || ! install; then
    echo "setup: apt-get update"
    apt update >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    install || {
        cat "$log" >&2
        echo "setup: apt-get could not install: ${missing[*]}" >&2
        exit 1
    }
fi
