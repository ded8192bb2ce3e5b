#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: am_killed.sh LAUNCHER... PROGRAM
# A process is killed while others wait for quiescence: the launcher ends the job within some seconds, and not with success.
# (What the others are told if MPI goes on with errors: am_broken.cpp.)
timeout 40 "$@" killed >/dev/null 2>&1
code=$?
if [ $code -eq 0 ] || [ $code -eq 124 ]; then
    echo "the job has ended with $code; it should be told of the killed process, and end"
    exit 1
fi
