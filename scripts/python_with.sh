#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: scripts/python_with.sh [--all] MODULE...
#        scripts/python_with.sh --install [abi]
# Prints the path of a Python 3 that has the modules: the one in PATH, that of the system, for which setup.sh installs them,
# or that of an environment of the tests of the Python package. With --all it prints each of them.
# --install makes such an environment by pip, in THENCE_MPI_CACHE (default build/mpi), beside the MPIs that are wheels. The
# wheel of mpi4py serves every MPI with the ABI of Open MPI or MPICH; for the standard ABI (abi) it is compiled.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${THENCE_MPI_CACHE:-$root/build/mpi}

if [ "${1-}" = --install ]; then
    environment=$folder/python${2:+-$2} options=()
    [ ! -e "$environment/complete" ] || exit 0
    if [ "${2-}" = abi ]; then
        export MPICC=$folder/mpich/bin/mpicc_abi CFLAGS='-O0 -g0' # 20 s instead of minutes
        options=(--no-cache-dir --no-binary mpi4py)
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    rm -rf "$environment"
    echo "python_with: pip install mpi4py in $environment"
    if ! { python3 -m venv "$environment" && "$environment/bin/pip" install --disable-pip-version-check --no-input \
        ${options[@]+"${options[@]}"} 'mpi4py>=4.1' numpy pytest trio anyio uvloop mypy; } >"$log" 2>&1; then
        echo "python_with: pip install mpi4py failed: $(grep -iE error "$log" | tail -n 1 || tail -n 1 "$log")" >&2
        rm -rf "$environment"
        exit 1
    fi
    touch "$environment/complete"
    exit 0
fi
all=
if [ "${1-}" = --all ]; then
    all=1
    shift
fi
imports=$(printf 'import %s\n' "$@")
found=
for python in "$folder/python/bin/python" python3 /usr/bin/python3 "$folder/python-abi/bin/python"; do
    if "$python" -c "$imports" >/dev/null 2>&1; then
        command -v "$python"
        [ -n "$all" ] || exit 0
        found=1
    fi
done
[ -n "$found" ] && exit 0
echo "no Python 3 with $*; scripts/setup.sh installs it" >&2
exit 1
