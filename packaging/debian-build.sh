#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages from this tree, in a copy of it that has packaging/debian at its top.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
    cat <<'EOF'
usage: packaging/debian-build.sh OUT_DIR [ARGUMENT...]

Leaves libthence0.1, libthence-pools0.1, libthence-fortran0.1, python3-thence, libthence-dev and thence-tools (*.deb, *.changes,
*.buildinfo) in OUT_DIR. What the build needs is in packaging/debian/control; `make deps FOR=packages` installs it. ARGUMENTs go to dpkg-buildpackage.
EOF
}
case ${1-} in
'' | --help | -h)
    usage
    [ $# -gt 0 ] || exit 2
    exit 0
    ;;
esac
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/thence"
# The files that git knows or would take; without git, all but build folders.
cd "$root"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -co --exclude-standard -z | while IFS= read -r -d '' file; do
        [ ! -e "$file" ] || printf '%s\0' "$file"
    done
else
    find . -path ./build -prune -o -type f -print0
fi | tar --create --null --files-from=- | tar --extract --directory "$work/thence"
mv "$work/thence/packaging/debian" "$work/thence/debian"

cd "$work/thence"
dpkg-buildpackage -us -uc -b "$@"
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
echo "packages in $out:"
(cd "$out" && ls -- *.deb)
