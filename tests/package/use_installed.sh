#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: use_installed.sh cmake|pkg_config BUILD_DIR WORK_DIR
# Installs BUILD_DIR under WORK_DIR, moves the installed tree (it must not remember where it was), builds the consumer
# project against it and runs its programs on two ranks. Of what else is installed it looks that it is there and works.
set -euo pipefail
way=$1 build=$2 work=$3
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/consumer

rm -rf "$work"
mkdir -p "$work"
"$CMAKE_COMMAND" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

# The command, its benchmarks and the man pages are there, and work from where they are now.
fault() { echo "installed tree: $*" >&2; exit 1; }
bin=$prefix/bin/thence
timeout 60 "$bin" info | tee "$work/info.txt"
grep -q '^engine  *[a-z]*: ' "$work/info.txt" || fault "bin/thence info names no engine"
cmp -s <(timeout 60 "$bin" bench --list) <(timeout 60 "$build/bin/thence" bench --list) ||
    fault "bin/thence bench --list differs from that of the build tree"
for program in "$build"/libexec/thence/*; do
    [ -x "$prefix/libexec/thence/${program##*/}" ] || fault "libexec/thence/${program##*/} is missing, or no program"
done
for page in man1/thence.1 man3/thence_attach.3 man3/MPIX_Continue.3 man7/thence.7; do
    [ -s "$prefix/share/man/$page" ] || fault "share/man/$page is missing"
    if command -v groff >/dev/null; then
        said=$(groff -man -Tutf8 -ww -z "$prefix/share/man/$page" 2>&1) || true
        [ -z "$said" ] || fault "$page: $said"
    fi
done
grep -q 'Thence [0-9][0-9.]*"' "$prefix/share/man/man1/thence.1" || fault "man1/thence.1 names no version"

case $way in
cmake)
    "$CMAKE_COMMAND" -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DMPI_C_COMPILER="$MPI_C_COMPILER"
    "$CMAKE_COMMAND" --build "$work/build"
    ;;
pkg_config)
    mkdir "$work/build"
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig
    pkg-config --atleast-version=0.1 thence
    compile() { # package, arguments of the compiler...
        local flags
        read -r -a flags < <(pkg-config --cflags --libs "$1")
        set -x
        "$MPI_C_COMPILER" -std=c11 -Wall -Wextra -Werror -Wl,--as-needed "$2" "${flags[@]}" "${@:3}" \
            -Wl,-rpath,"$prefix/$LIBDIR"
        { set +x; } 2>/dev/null
    }
    "$MPI_C_COMPILER" -shared -fPIC "$consumer/waiter.c" -o "$work/build/libwaiter.so"
    compile thence "$consumer/interposed.c" -o "$work/build/interposed"
    compile thence "$consumer/through_library.c" -o "$work/build/through_library" \
        "$work/build/libwaiter.so" -Wl,-rpath,"$work/build"
    compile thence-core "$consumer/core_only.c" -o "$work/build/core_only"
    ;;
*)
    echo "no way named $way" >&2
    exit 2
    ;;
esac
programs="interposed through_library core_only"
[ "$way" = cmake ] && programs="$programs from_cxx senders"
for program in $programs; do
    timeout 60 "$MPIEXEC" -n 2 "$work/build/$program"
done
