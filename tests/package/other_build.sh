#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: other_build.sh static|side_by_side BUILD_DIR WORK_DIR
# static: installs BUILD_DIR, which has static libraries, and lets consume.sh use them.
# side_by_side: installs BUILD_DIR, whose names have a suffix, and a build with another MPI into one prefix, and lets consume.sh
# use each of the two. `thence doctor` of the former must also work alone.
# From the environment: what consume.sh reads; SUFFIX of BUILD_DIR; BENCH, whether it has benchmarks; BESIDE, the build without suffix, with its compiler
# BESIDE_MPICC and its launcher BESIDE_MPIEXEC.
set -euo pipefail
what=$1 build=$2 work=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fault() { echo "$what: $*" >&2; exit 1; }

# Of the capabilities that are headers alone, which do not depend on how libraries are built, one will do.
CAPABILITIES=$(tr ' ' '\n' <<<"$CAPABILITIES" | grep -xE 'senders|tampi|pools|omp' | paste -sd' ')
export CAPABILITIES

install_into() { # build folder, prefix
    "$CMAKE_COMMAND" --install "$1" --prefix "$2" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
}
linked_with() { ldd "$1" | grep -E "$2"; }

mkdir -p "$work"
rm -rf "$work/prefix" "$work/alone" "$work/use"
prefix=$work/prefix
case $what in
static)
    install_into "$build" "$prefix"
    for library in thence thence-core thence-senders; do
        [ -s "$prefix/$LIBDIR/lib$library.a" ] || fault "no lib$library.a"
        ! compgen -G "$prefix/$LIBDIR/lib$library.so*" >/dev/null || fault "there is a lib$library.so"
    done
    for way in cmake pkg_config; do
        "$here/consume.sh" "$way" "$prefix" "$work/use/$way"
        for program in "$work/use/$way"/{interposed,through_library,through_plugin,core_only,with_*}; do
            [ ! -x "$program" ] || ! linked_with "$program" 'libthence' || fault "$program needs a shared libthence"
        done
    done
    timeout 60 "$prefix/bin/thence" info | grep '^engine '
    # No function of the library calls its diagnosis, which the linker must take all the same.
    rm -f "$work"/trace.*
    THENCE_TRACE=$work/trace timeout 60 "$MPIEXEC" -n 1 "$work/use/cmake/core_only"
    [ -s "$work/trace.0.json" ] || fault "a program with static libraries writes no timeline"
    if [ "$BENCH" = OFF ]; then
        status=0
        output=$("$prefix/bin/thence" bench --list 2>&1) || status=$?
        [ $status = 3 ] && grep -q DTHENCE_BUILD_BENCH=ON <<<"$output" || fault "thence bench without benchmarks: $status, $output"
    fi
    ;;
side_by_side)
    suffix=$SUFFIX
    install_into "$BESIDE" "$prefix"
    (cd "$prefix" && find bin "$LIBDIR" ! -type d -exec sha256sum {} +) >"$work/before"
    install_into "$build" "$prefix"
    (cd "$prefix" && sha256sum --quiet --check "$work/before") || fault "one build has overwritten files of the other"
    for way in cmake pkg_config; do
        MPI_C_COMPILER=$BESIDE_MPICC MPIEXEC=$BESIDE_MPIEXEC \
            "$here/consume.sh" "$way" "$prefix" "$work/use/$way" ""
        "$here/consume.sh" "$way" "$prefix" "$work/use/$way$suffix" "$suffix"
        linked_with "$work/use/$way/interposed" 'libthence\.so' || fault "the first build is not linked"
        linked_with "$work/use/$way$suffix/interposed" "libthence$suffix\.so" || fault "the build with suffix is not linked"
        ! linked_with "$work/use/$way$suffix/interposed" 'libthence(-core)?\.so' || fault "both builds are linked"
    done
    timeout 60 "$prefix/bin/thence" info | grep '^MPI ' >"$work/mpi"
    timeout 60 "$prefix/bin/thence$suffix" info | grep '^MPI ' >"$work/mpi$suffix"
    ! cmp -s "$work/mpi" "$work/mpi$suffix" || fault "both commands have one MPI: $(cat "$work/mpi")"
    if [ "$BENCH" != OFF ]; then # their programs run the command by its name with the suffix: there is no other in this prefix
        install_into "$build" "$work/alone"
        timeout 200 "$work/alone/bin/thence$suffix" doctor --quick --bytes 1024 >"$work/doctor" 2>&1 ||
            fault "thence$suffix doctor: $(cat "$work/doctor")"
    fi
    ;;
*)
    fault "there is no such test"
    ;;
esac
