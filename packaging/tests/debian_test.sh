#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: debian_test.sh WORK_DIR VERSION
# Builds the Debian packages, unpacks them into a root of their own, and uses them there as a user would: the command, and
# the program of the README.
set -euo pipefail
work=$1 version=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fault() { echo "debian: $*" >&2; exit 1; }
for tool in dpkg-buildpackage dh dpkg-deb; do
    command -v $tool >/dev/null || { echo "skipped: no $tool; make deps FOR=packages installs it"; exit 77; }
done

in_changelog=$(dpkg-parsechangelog -l "$root/packaging/debian/changelog" -S Version)
[ "$in_changelog" = "$version" ] || fault "packaging/debian/changelog has version $in_changelog; this is Thence $version"
rm -rf "$work"
mkdir -p "$work/debs" "$work/root"
"$root/packaging/debian-build.sh" "$work/debs" >"$work/build.log" 2>&1 || { tail -n 60 "$work/build.log"; fault "no packages"; }
tail -n 5 "$work/build.log"
for package in libthence0.1 libthence-pools0.1 libthence-fortran0.1 python3-thence libthence-dev thence-tools; do
    deb=$(compgen -G "$work/debs/${package}_*.deb") || fault "no package $package"
    dpkg-deb --extract "$deb" "$work/root"
    dpkg-deb --field "$deb" Depends >"$work/$package.depends"
done
grep -q 'libopenmpi\|libmpich' "$work/libthence0.1.depends" || fault "libthence0.1 does not depend on an MPI"
grep -q 'libthence0.1 (= ' "$work/libthence-dev.depends" || fault "libthence-dev does not depend on libthence0.1"
grep -q 'libthence0.1 (= ' "$work/thence-tools.depends" || fault "thence-tools does not depend on libthence0.1"
! grep -E 'libtbb|boost|gomp' "$work/libthence0.1.depends" || fault "libthence0.1 depends on a task runtime"
grep -q libtbb "$work/libthence-pools0.1.depends" || fault "libthence-pools0.1 does not depend on oneTBB"

grep -q libgfortran "$work/libthence-fortran0.1.depends" || fault "libthence-fortran0.1 does not depend on libgfortran"
grep -q 'python3-mpi4py' "$work/python3-thence.depends" || fault "python3-thence does not depend on mpi4py"

multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
libraries=$work/root/usr/lib/$multiarch
export LD_LIBRARY_PATH=$libraries PKG_CONFIG_PATH=$libraries/pkgconfig
timeout 60 "$work/root/usr/bin/thence" info | grep '^engine '
[ -s "$work/root/usr/share/man/man1/thence.1.gz" ] || fault "no page thence(1)"
[ -s "$work/root/usr/share/man/man3/thence_attach.3.gz" ] || fault "no page thence_attach(3)"
! readelf -d "$libraries"/libthence*.so | grep -E 'R(UN)?PATH' || fault "a library has a run path"

sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$work/hello.c"
read -r -a flags < <(pkg-config --cflags --libs thence)
mpicc "$work/hello.c" "${flags[@]}" -o "$work/hello"
timeout 60 mpiexec -n 2 "$work/hello" >"$work/hello.txt"
cat "$work/hello.txt"
[ "$(grep -c '^42 from rank 0$' "$work/hello.txt")" = 2 ] || fault "the program of the README does not say what it should"

if command -v gfortran >/dev/null && command -v mpif90 >/dev/null; then
    read -r -a flags < <(pkg-config --cflags --libs thence-fortran)
    (cd "$work" && mpif90 "$root/tests/package/consumer/with_fortran.F90" "${flags[@]}" -o "$work/with_fortran")
    timeout 60 mpiexec -n 2 "$work/with_fortran" || fault "the program in Fortran has failed"
fi
export PYTHONPATH=$work/root/usr/lib/python3/dist-packages
if /usr/bin/python3 -c 'import mpi4py, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    timeout 60 mpiexec -n 2 /usr/bin/python3 "$root/bindings/python/examples/task_farm.py" || fault "the program in Python has failed"
else
    echo "python3-thence was not tried: no mpi4py"
fi
