#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: use_installed.sh cmake|pkg_config BUILD_DIR WORK_DIR
# Installs BUILD_DIR under WORK_DIR, moves the installed tree (it must not remember where it was), builds the consumer
# project against it and runs its programs on two ranks.
set -euo pipefail
way=$1 build=$2 work=$3
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/consumer

rm -rf "$work"
mkdir -p "$work"
"$CMAKE_COMMAND" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

case $way in
cmake)
    "$CMAKE_COMMAND" -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DMPI_C_COMPILER="$MPI_C_COMPILER"
    "$CMAKE_COMMAND" --build "$work/build"
    ;;
pkg_config)
    mkdir "$work/build"
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig
    pkg-config --exact-version="$(sed -n 's/.*PACKAGE_VERSION "\(.*\)".*/\1/p' "$prefix/$LIBDIR"/cmake/thence/*Version.cmake | head -n 1)" thence
    for program in interposed core_only; do
        package=thence
        [ $program = core_only ] && package=thence-core
        read -r -a flags < <(pkg-config --cflags --libs $package)
        set -x
        "$MPI_C_COMPILER" -std=c11 -Wall -Wextra -Werror "$consumer/$program.c" "${flags[@]}" \
            -Wl,-rpath,"$prefix/$LIBDIR" -o "$work/build/$program"
        { set +x; } 2>/dev/null
    done
    ;;
*)
    echo "no way named $way" >&2
    exit 2
    ;;
esac
for program in interposed core_only from_cxx; do
    if [ -x "$work/build/$program" ]; then
        "$MPIEXEC" -n 2 "$work/build/$program"
    fi
done
