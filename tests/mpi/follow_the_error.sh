#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: follow_the_error.sh COMMAND...
#
# The command succeeds, or prints an error that names an environment variable (NAME=value) with which it succeeds.
unset OMPI_MPI_THREAD_LEVEL MPIR_CVAR_DEFAULT_THREAD_LEVEL I_MPI_THREAD_LEVEL_DEFAULT
if text=$("$@" 2>&1); then
    echo "it works without a variable"
    exit 0
fi
echo "$text"
variable=$(echo "$text" | grep -o '[A-Z][A-Z_]*=[A-Za-z0-9_]*' | head -n 1)
if [ -z "$variable" ]; then
    echo "the error names no variable"
    exit 1
fi
echo "again with $variable"
exec env "$variable" "$@"
