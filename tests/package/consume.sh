#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: consume.sh cmake|pkg_config PREFIX WORK_DIR [SUFFIX]
# Builds the consumer project, and an example per capability, against the Thence that is installed in PREFIX under names
# that end with SUFFIX, as a user would, and runs the programs on two ranks. From the environment: CMAKE_COMMAND,
# MPI_C_COMPILER, MPI_Fortran_COMPILER, MPIEXEC, LIBDIR (of the prefix), CC, CXX, CAPABILITIES (which must be there, with blanks between them).
set -euo pipefail
way=$1 prefix=$2 work=$3 suffix=${4-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
consumer=$here/consumer
examples=$here/../../examples
export OMP_NUM_THREADS=2

declare -A source_of=([senders]=$consumer/senders.cpp [omp]=$examples/omp_halo.c [tbb]=$examples/tbb_halo.cpp
    [fiber]=$examples/fiber_ring.cpp [pools]=$consumer/with_pools.cpp [tasks]=$examples/dataflow_heat.cpp
    [tampi]=$consumer/with_tampi.c [gaspi]=$consumer/with_gaspi.c [tagaspi]=$consumer/with_tagaspi.c [am]=$examples/active_messages.c [alpi]=$consumer/with_alpi.c [queues]=$examples/enqueue_saxpy.c
    [fortran]=$consumer/with_fortran.F90
    [tampi-fortran]=$consumer/with_tampi_fortran.F90 [tagaspi-fortran]=$consumer/with_tagaspi_fortran.F90)
programs="interposed through_library through_plugin core_only from_cxx"
for capability in $CAPABILITIES; do programs="$programs with_$capability"; done

rm -rf "$work"
mkdir -p "$work"
case $way in
cmake)
    with=()
    for capability in $CAPABILITIES; do with+=("-DSOURCE_OF_$capability=${source_of[$capability]}"); done
    "$CMAKE_COMMAND" -S "$consumer" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" -DMPI_C_COMPILER="$MPI_C_COMPILER" \
        -DMPI_Fortran_COMPILER="${MPI_Fortran_COMPILER-}" \
        -DTHENCE_PACKAGE="thence$suffix" -DCAPABILITIES="${CAPABILITIES// /;}" "${with[@]}"
    "$CMAKE_COMMAND" --build "$work"
    ;;
pkg_config)
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig
    pkg-config --atleast-version=0.1 "thence$suffix"
    in_work() { (cd "$work" && "$@"); } # where a compiler for Fortran leaves modules
    compile() { # packages with commas between them, source, result, further arguments of the compiler...
        local flags packages compiler=$CC
        IFS=, read -r -a packages <<<"$1"
        read -r -a flags < <(pkg-config --cflags --libs "${packages[@]/%/$suffix}")
        local mpi_compiler=$MPI_C_COMPILER
        [ "${2##*.}" = c ] || compiler=$CXX
        [ "${2##*.}" != F90 ] || mpi_compiler=$MPI_Fortran_COMPILER
        set -x
        OMPI_CC=$compiler MPICH_CC=$compiler I_MPI_CC=$compiler \
            in_work "$mpi_compiler" -Wall -Wextra -Werror -Wl,--as-needed "$2" "${flags[@]}" -o "$work/$3" "${@:4}" \
            -Wl,-rpath,"$prefix/$LIBDIR"
        { set +x; } 2>/dev/null
    }
    "$MPI_C_COMPILER" -shared -fPIC "$consumer/waiter.c" -o "$work/libwaiter.so"
    compile thence "$consumer/interposed.c" interposed -std=c11
    compile thence "$consumer/through_library.c" through_library -std=c11 "$work/libwaiter.so" -Wl,-rpath,"$work"
    compile thence "$consumer/through_plugin.c" through_plugin -std=c11 -ldl -Wl,-rpath,"$work"
    compile thence-core "$consumer/core_only.c" core_only -std=c11
    if [ -e "$prefix/$LIBDIR/libthence$suffix.so" ]; then # its name alone brings the core that the program calls
        "$MPI_C_COMPILER" -I"$prefix/include" "$consumer/core_only.c" -L"$prefix/$LIBDIR" "-lthence$suffix" \
            -o "$work/one_name" -Wl,-rpath,"$prefix/$LIBDIR"
        programs="$programs one_name"
    fi
    compile thence-core "$consumer/from_cxx.cpp" from_cxx
    for capability in $CAPABILITIES; do # the flags of the package and no others
        interposing=
        [ "$capability" != omp ] || interposing=thence, # on MPICH its helper thread needs the interposed calls
        compile "${interposing}thence-$capability" "${source_of[$capability]}" "with_$capability"
    done
    ;;
*)
    echo "no way named $way" >&2
    exit 2
    ;;
esac
for program in $programs; do
    timeout 60 "$MPIEXEC" -n 2 "$work/$program"
done
