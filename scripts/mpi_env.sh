#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs one MPI of the test matrix, or prints the settings to build with it and to run programs on it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=${THENCE_MPI_CACHE:-$root/build/mpi}

usage() {
    cat <<EOF
usage: scripts/mpi_env.sh --list
       scripts/mpi_env.sh --install NAME    install it if it is missing; exit 1 with the reason if that fails
       scripts/mpi_env.sh --cmake NAME      print the CMake arguments that build with it
       scripts/mpi_env.sh NAME              print shell exports (MPICC, MPIEXEC, PATH, ...) to build and run by hand:
                                            eval "\$(scripts/mpi_env.sh impi)"; mpicc hello.c; mpiexec -n 4 ./a.out

Wheels are installed in \$THENCE_MPI_CACHE (now $wheels).
EOF
}
rows() { grep -E '^[a-z0-9]+\|' "$root/cmake/mpis.txt" | sed "s|@WHEELS@|$wheels|g"; }
die() { echo "mpi_env: $*" >&2; exit 1; }

action=exports
case ${1-} in
--help | -h) usage; exit 0 ;;
--list) rows | awk -F'|' '{ printf "%-10s %-30s %s\n", $1, $4, $5 }'; exit 0 ;;
--install | --cmake) action=${1#--}; shift ;;
esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
name=$1
row=$(rows | grep "^$name|") || die "no MPI named $name; scripts/mpi_env.sh --list shows them"
IFS='|' read -r _ compiler launcher source what <<<"$row"
environment=$(dirname "$(dirname "$compiler")")

install_wheel() { # packages...
    local log
    log=$(mktemp)
    echo "mpi_env: $what: pip install $* in $environment"
    rm -rf "$environment"
    if ! { python3 -m venv "$environment" && "$environment/bin/pip" install --disable-pip-version-check --no-input "$@"; } \
        >"$log" 2>&1; then
        local reason
        reason=$(grep -iE 'error' "$log" | tail -n 1 || tail -n 1 "$log")
        rm -rf "$environment" "$log"
        die "$what: pip install $* failed: ${reason:-no message}"
    fi
    rm -f "$log"
}

case $action in
install)
    [ -x "$compiler" ] && exit 0
    read -r -a packages <<<"$source"
    case ${packages[0]} in
    pip) install_wheel "${packages[@]:1}" ;;
    apt) die "$what: no $compiler; install it with: scripts/setup.sh test" ;;
    esac
    [ -x "$compiler" ] || die "$what: installed, but $compiler does not exist"
    ;;
cmake)
    printf -- '-DTHENCE_MPI=%s\n' "$name"
    if [ "$wheels" != "$root/build/mpi" ]; then
        printf -- '-DTHENCE_MPI_CACHE=%s\n' "$wheels"
    fi
    ;;
exports)
    [ -x "$compiler" ] || die "$what: no $compiler; first: scripts/mpi_env.sh --install $name"
    printf 'export MPICC=%q MPIEXEC=%q\n' "$compiler" "$launcher"
    if [ "$environment" != /usr ]; then
        printf 'export PATH=%q:$PATH\n' "$environment/bin"
    fi
    if [ "$name" = impi ]; then
        printf 'export I_MPI_ROOT=%q FI_PROVIDER_PATH=%q\n' "$environment" "$environment/lib"
    fi
    grep '^[A-Z]' "$root/cmake/test_environment.txt" | sed 's/^/export /'
    ;;
esac
