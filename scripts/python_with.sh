#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: scripts/python_with.sh MODULE...
# Prints the path of a Python 3 that has the modules: the one in PATH, or that of the system, for which setup.sh
# installs them.
set -euo pipefail
imports=$(printf 'import %s\n' "$@")
for python in python3 /usr/bin/python3; do
    if "$python" -c "$imports" >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "no Python 3 with $*; scripts/setup.sh installs it" >&2
exit 1
