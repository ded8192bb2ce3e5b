#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: with_tools.sh SCRIPT ARGUMENT...
# Runs a Python script with a Python that has what the site needs. Exits with 77, which means skipped, if it is missing.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
python=$(cd "$here/../.." && scripts/python_with.sh markdown_it pygments) || exit 77
command -v mandoc >/dev/null || { echo "no mandoc; scripts/setup.sh docs installs it" >&2; exit 77; }
exec "$python" -B "$@"
