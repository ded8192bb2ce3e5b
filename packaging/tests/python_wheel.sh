#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: python_wheel.sh WORK_DIR [WHEEL]
# Builds a wheel of the Python package for three ABIs as bindings/python/README.md says, or takes WHEEL; installs it into a
# fresh virtual environment outside of the repository; and runs an example there on each MPI that is installed. Skipped,
# with the reason, where pip has no packages.
set -euo pipefail
work=$1 wheel=${2-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${THENCE_MPI_CACHE:-$root/build/mpi}
fault() { echo "python_wheel: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"
python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet build 'mpi4py>=4.1' numpy || { echo "skipped: pip cannot install mpi4py"; exit 77; }
if [ -z "$wheel" ]; then
    for mpi in mpich5 abi impi; do "$root/scripts/mpi_env.sh" --install $mpi; done
    (cd "$root/bindings/python" && "$work/fresh/bin/python" -m build --wheel --outdir "$work" \
        "-Ccmake.define.THENCE_PYTHON_ALSO=mpich5;abi" -Ccmake.define.THENCE_MPI_CACHE="$cache") >"$work/build.log" 2>&1 ||
        { tail -n 40 "$work/build.log"; fault "no wheel"; }
    wheel=$(compgen -G "$work/thence-*.whl") || fault "no wheel"
fi
"$work/fresh/bin/pip" install --quiet "$wheel"
"$work/fresh/bin/python" -m zipfile --list "$wheel" | grep -o 'thence/lib/[a-z]*/libthence-python.so' | tee "$work/libraries.txt"
[ "$(wc -l <"$work/libraries.txt")" = 3 ] || fault "the wheel has not the libraries of three ABIs"
while read -r setting; do export "${setting?}"; done < <(grep '^[A-Z]' "$root/cmake/test_environment.txt")

cd "$work"
tried=0
try() { # ABI, MPI's library, launcher, settings...
    local abi=$1 library=$2 launcher=$3
    shift 3
    [ -e "$library" ] || { echo "$abi: there is no $library"; return; }
    env "$@" MPI4PY_LIBMPI="$library" timeout 120 "$launcher" -n 2 "$work/fresh/bin/python" -c '
import sys, thence
sys.exit(0 if thence.ABI == sys.argv[1] and thence.__file__.startswith(sys.prefix) else f"{thence.ABI} {thence.__file__}")' "$abi" ||
        fault "on $library another library than that of $abi"
    env "$@" MPI4PY_LIBMPI="$library" timeout 120 "$launcher" -n 2 "$work/fresh/bin/python" "$root/bindings/python/examples/task_farm.py" ||
        fault "task_farm.py has failed on $library"
    tried=$((tried + 1))
}
multiarch=$(gcc -print-multiarch)
try openmpi "/usr/lib/$multiarch/libmpi.so.40" /usr/bin/mpiexec.openmpi
try openmpi "$cache/openmpi/lib/libmpi.so.40" "$cache/openmpi/bin/mpiexec"
mkdir "$work/libmpich"
ln -s "/usr/lib/$multiarch/libmpich.so.12" "$work/libmpich/libmpi.so.12" # Debian's name; the wheel of mpi4py asks for libmpi.so.12
try mpich "$work/libmpich/libmpi.so.12" /usr/bin/mpiexec.mpich LD_LIBRARY_PATH="$work/libmpich"
try mpich "$cache/mpich/lib/libmpi.so.12" "$cache/mpich/bin/mpiexec"
try mpich "$cache/impi/lib/libmpi.so.12" "$cache/impi/bin/mpiexec" I_MPI_ROOT="$cache/impi" FI_PROVIDER_PATH="$cache/impi/lib"
[ "$tried" -gt 0 ] || fault "no MPI was found"
# The standard ABI: PyPI's wheel of mpi4py has none, so it is compiled.
if "$root/scripts/python_with.sh" --install abi && [ -x "$cache/python-abi/bin/python" ]; then
    "$work/fresh/bin/python" -m zipfile --extract "$wheel" "$work/unpacked"
    for mpi in mpich impi; do
        [ -e "$cache/$mpi/lib/libmpi_abi.so.1" ] || continue
        LD_LIBRARY_PATH=$cache/$mpi/lib I_MPI_ROOT=$cache/impi FI_PROVIDER_PATH=$cache/impi/lib PYTHONPATH=$work/unpacked timeout 120 \
            "$cache/$mpi/bin/mpiexec" -n 2 "$cache/python-abi/bin/python" "$root/bindings/python/examples/task_farm.py" ||
            fault "task_farm.py has failed on $mpi with the standard ABI"
        tried=$((tried + 1))
    done
fi
echo "one wheel, $tried MPIs"
