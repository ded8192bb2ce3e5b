#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: run.sh PACKAGE ABI LIBMPI LAUNCHER... -- [--alone] ARGUMENTS...
# Runs `python ARGUMENTS` below the launcher, or alone and with the launcher in MPI_LAUNCHER; with the package in folder PACKAGE
# and mpi4py on the given MPI. Ends with 77, and the reason, if there is no Python with what the tests need, or if its mpi4py
# is for another MPI.
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
case $libmpi in
*/mpi/impi/*) export I_MPI_ROOT=${libmpi%/lib/*} FI_PROVIDER_PATH=${libmpi%/*} ;;
*/libmpich.so*) # Debian's name. The wheel of mpi4py asks for libmpi.so.12, as MPICH calls it.
    mkdir -p "$package/libmpich"
    ln -sfn "$libmpi" "$package/libmpich/libmpi.so.12"
    export LD_LIBRARY_PATH=$package/libmpich${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    ;;
esac

# Sets `python` to one whose mpi4py uses the MPI; else `reason`.
find_python() {
    local found its_abi its_libmpi
    reason="no Python 3 with mpi4py, numpy and pytest (scripts/python_with.sh --install makes an environment)"
    for python in $("$here/../../../scripts/python_with.sh" --all mpi4py 2>/dev/null); do
        if ! "$python" -c 'import numpy, pytest' 2>/dev/null; then
            reason="$python has no NumPy or no pytest (scripts/python_with.sh --install makes an environment)"
        elif ! found=$("$python" "$package/thence/_mpi.py" 2>/dev/null); then
            reason="mpi4py of $python does not load $libmpi"
        elif read -r its_abi its_libmpi _ <<<"$found" && [ "$its_abi" = "$abi" ] &&
            [ "$(readlink -f "$its_libmpi")" = "$(readlink -f "$libmpi")" ]; then
            return 0
        else
            reason="mpi4py of $python uses $its_libmpi (ABI $its_abi), this build $libmpi (ABI $abi)"
        fi
    done
    return 1
}
if ! find_python; then
    echo "skipped: $reason"
    exit 77
fi
if [ "$1" = --alone ]; then # a test that starts programs itself
    shift
    export MPI_LAUNCHER="${launcher[*]}"
    exec "$python" "$@"
fi
exec "${launcher[@]}" "$python" "$@"
