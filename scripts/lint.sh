#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Format (clang-format), static checks (clang-tidy) and the checks of tests/lint. Runs all parts and fails if one fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
jobs=${JOBS:-$(nproc)}

usage() {
    cat <<'EOF'
usage: scripts/lint.sh [format] [tidy] [checks]

  format   checks the format of all C and C++ sources with clang-format; scripts/lint.sh --fix format corrects it
  tidy     clang-tidy over the compiled sources, with the checks of .clang-tidy
  checks   the checks of tests/lint: layers, each public header compiled alone, licence lines, lengths, documentation
EOF
}

fix=
parts=()
for argument; do
    case $argument in
    --help | -h) usage; exit 0 ;;
    --fix) fix=1 ;;
    format | tidy | checks) parts+=("$argument") ;;
    *) usage >&2; exit 2 ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(format tidy checks)

# The two headers that Fortran sources include are not C.
sources() {
    git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' ':!bindings/fortran/TAMPIf.h' ':!tests/fortran/kinds.h'
}

run_format() {
    if [ -n "$fix" ]; then
        sources | xargs -r clang-format -i
    else
        sources | xargs -r clang-format --dry-run --Werror
    fi
}

# clang-tidy needs the compilation database of a configured build. Unknown GCC flags are ignored. GCC's omp.h comes last
# in the include path, since some Clang packages have none, without GCC's other headers: Clang's <stdatomic.h> would take
# GCC's. Its attribute `malloc` with
# arguments is replaced, since Clang does not know it. clang-tidy before 19 does not compile the senders; newer ones
# have more checks.
tidy_command() {
    for command in clang-tidy-{19,20,21,22} clang-tidy; do
        command -v "$command" && return
    done
    echo clang-tidy
}
run_tidy() { # in a build of its own: with a precompiled header a source that lacks an include would pass
    cmake --preset release -B build/tidy -DTHENCE_PRECOMPILE_HEADERS=OFF >build/lint-configure.log 2>&1 ||
        { cat build/lint-configure.log; return 1; }
    mkdir -p build/tidy/gcc && ln -sf "$(gcc -print-file-name=include/omp.h)" build/tidy/gcc/
    sources | grep -E '\.(c|cpp)$' | grep -vE '^tests/package/consumer/' | while read -r file; do
        grep -qF "\"$PWD/$file\"" build/tidy/compile_commands.json && echo "$file"
    done | xargs -r -P "$jobs" -n 1 "$(tidy_command)" -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option \
        '--extra-arg=-D__malloc__(...)=__malloc__' --extra-arg="-idirafter$PWD/build/tidy/gcc" 2> >(
        grep -vE '^[0-9]+ warnings? |^Suppressed |^Use -header-filter' >&2)
}

run_checks() {
    cmake --preset release >build/lint-configure.log 2>&1 || { cat build/lint-configure.log; return 1; }
    ctest --test-dir build/release -L '^lint$' --output-on-failure --no-tests=error
}

mkdir -p build
failed=()
for part in "${parts[@]}"; do
    echo "+ $part"
    "run_$part" || failed+=("$part")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "lint: failed: ${failed[*]}"
    exit 1
fi
echo "lint: clean"
