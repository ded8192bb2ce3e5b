#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: omp_with_clang.sh WORK_DIR 'LAUNCHER -n 2 ...' ARGUMENTS_OF_THE_COMPILER...
# Builds a program with the newest Clang and its OpenMP runtime, libomp, and runs it: GCC's runtime deals with detached
# tasks differently. Exits with 77, and says why, where there is no Clang or no libomp of it.
set -euo pipefail
work=$1
read -r -a launch <<<"$2"
shift 2

skip() { echo "skipped: $*"; exit 77; }
clang=$(compgen -c clang++ | grep -xE 'clang\+\+(-[0-9]+)?' | sort -t- -k2 -rn | head -n 1) || skip "no clang++ in PATH (Debian: clang-19)"
mkdir -p "$work"
printf '#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n' >"$work/probe.cpp"
"$clang" -fopenmp=libomp "$work/probe.cpp" -o "$work/probe" 2>"$work/probe.log" ||
    skip "$clang has no OpenMP runtime (Debian: libomp-19-dev for clang-19): $(head -n 1 "$work/probe.log")"

echo "+ $clang -fopenmp=libomp $*"
"$clang" -fopenmp=libomp "$@" -o "$work/omp_with_clang"
linked=$(ldd "$work/omp_with_clang")
grep -q 'libomp\.so' <<<"$linked" || { echo "not linked with libomp: $linked"; exit 1; }
grep -q 'libgomp' <<<"$linked" && { echo "linked with GCC's OpenMP runtime too: $linked"; exit 1; }
timeout 100 "${launch[@]}" "$work/omp_with_clang"
