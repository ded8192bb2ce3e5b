#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: use_installed.sh cmake|pkg_config BUILD_DIR WORK_DIR
# Installs BUILD_DIR under WORK_DIR, moves the installed tree (it must not remember where it was) and lets consume.sh use
# it. Of what else is installed it looks that it is there and works. SUFFIX in the environment ends the installed names.
set -euo pipefail
way=$1 build=$2 work=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

rm -rf "$work"
mkdir -p "$work"
"$CMAKE_COMMAND" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

# The command, its benchmarks and the man pages are there, and work from where they are now.
fault() { echo "installed tree: $*" >&2; exit 1; }
bin=$prefix/bin/thence$SUFFIX
timeout 60 "$bin" info | tee "$work/info.txt"
grep -q '^engine  *[a-z]*: ' "$work/info.txt" || fault "$bin info names no engine"
if [ -x "$build/libexec/thence$SUFFIX/thence-bench" ]; then
    cmp -s <(timeout 60 "$bin" bench --list) <(timeout 60 "$build/bin/thence$SUFFIX" bench --list) ||
        fault "$bin bench --list differs from that of the build tree"
    for program in "$build/libexec/thence$SUFFIX"/*; do
        [ -x "$prefix/libexec/thence$SUFFIX/${program##*/}" ] || fault "libexec/thence/${program##*/} is missing, or no program"
    done
fi
for page in man1/thence.1 man3/thence_attach.3 man3/MPIX_Continue.3 man7/thence.7; do
    [ -s "$prefix/share/man/$page" ] || fault "share/man/$page is missing"
    if command -v groff >/dev/null; then
        output=$(groff -man -Tutf8 -ww -z "$prefix/share/man/$page" 2>&1) || true
        [ -z "$output" ] || fault "$page: $output"
    fi
done
grep -q 'Thence [0-9][0-9.]*"' "$prefix/share/man/man1/thence.1" || fault "man1/thence.1 names no version"

"$here/consume.sh" "$way" "$prefix" "$work/build" "$SUFFIX"
if [ "$way" = cmake ]; then # a component that is not there is refused, with the reason
    ! "$CMAKE_COMMAND" -S "$here/consumer" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" -DCAPABILITIES=nonesuch \
        -DTHENCE_PACKAGE="thence$SUFFIX" -DMPI_C_COMPILER="$MPI_C_COMPILER" >"$work/refused.log" 2>&1 ||
        fault "find_package(thence COMPONENTS nonesuch) finds it"
    grep -q 'built without nonesuch' "$work/refused.log" || { cat "$work/refused.log"; fault "no reason why nonesuch is refused"; }
fi
