#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: follow_the_error.sh COMMAND...
#
# The command succeeds, or prints an error that names an environment variable (NAME=value) with which it succeeds. Where the
# MPI gives no text to the codes of its classes, as MPICH 4.0, the variable is that of the documentation.
unset OMPI_MPI_THREAD_LEVEL MPIR_CVAR_DEFAULT_THREAD_LEVEL
if text=$("$@" 2>&1); then
    echo "it works without a variable"
    exit 0
fi
echo "$text"
if echo "$text" | grep -q 'thence_threadcomm_init: '; then
    variable=$(echo "$text" | grep -o '[A-Z][A-Z_]*=[A-Za-z0-9_]*' | head -n 1)
else
    echo "the error has no text of Thence: this MPI gives none to codes of its classes"
    variable=MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE
fi
if [ -z "$variable" ]; then
    echo "the error names no variable"
    exit 1
fi
echo "again with $variable"
exec env "$variable" "$@"
