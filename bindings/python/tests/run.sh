#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: run.sh PACKAGE ABI LIBMPI LAUNCHER... -- [--alone] ARGUMENTS...
# Runs `python ARGUMENTS` below the launcher, or alone and with the launcher in MPI_LAUNCHER; with the package in folder PACKAGE and mpi4py on the given MPI. Ends with 77,
# and the reason, if there is no Python with what the tests need, or if its mpi4py is for another MPI.
set -euo pipefail
package=$1 abi=$2 libmpi=$3
shift 3
launcher=()
while [ "$1" != -- ]; do
    launcher+=("$1")
    shift
done
shift
here=$(dirname "${BASH_SOURCE[0]}")
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
export MPI4PY_LIBMPI=$libmpi # mpi4py 4.1 and later; one that is linked with an MPI ignores it
if ! python=$("$here/../../../scripts/python_with.sh" mpi4py numpy pytest 2>/dev/null); then
    echo "skipped: no Python 3 with mpi4py, numpy and pytest (Debian: python3-mpi4py python3-numpy python3-pytest)"
    exit 77
fi
# In a launcher, since the MPI of mpi4py may refuse to load without one.
if ! found=$("${launcher[@]:0:1}" -n 1 "$python" "$package/thence/_mpi.py" 2>/dev/null); then
    echo "skipped: mpi4py of $python does not run with $libmpi"
    exit 77
fi
read -r its_abi its_libmpi _ <<<"$found"
if [ "$its_abi" != "$abi" ] || [ "$(readlink -f "$its_libmpi")" != "$(readlink -f "$libmpi")" ]; then
    echo "skipped: mpi4py of $python uses $its_libmpi (ABI $its_abi), this build $libmpi (ABI $abi)"
    exit 77
fi
if [ "$1" = --alone ]; then # a test that starts programs itself
    shift
    export MPI_LAUNCHER="${launcher[*]}"
    exec "$python" "$@"
fi
exec "${launcher[@]}" "$python" "$@"
