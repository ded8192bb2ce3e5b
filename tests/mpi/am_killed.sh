#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: am_killed.sh [--goes-on] LAUNCHER... PROGRAM
# A process is killed while others wait for quiescence, or for tasks that were offloaded: the launcher ends the job within some
# seconds. No other process returns from the wait without an error, and none ends by a fault of its own.
# --goes-on: the launcher lets the others go on. Rank 0 is told that its tasks are lost. Skipped (77) where it cannot.
# (What the others are told if MPI goes on with errors: am_broken.cpp.)
goes_on=
if [ "$1" = --goes-on ]; then
    goes_on=--enable-recovery # Open MPI's
    shift
    if ! timeout 20 "$1" $goes_on -n 1 true >/dev/null 2>&1; then
        echo "skipped: $1 has no option $goes_on"
        exit 77
    fi
fi
launcher=$1
shift
output=$(timeout 40 "$launcher" $goes_on "$@" killed 2>&1)
code=$?
wrong() {
    echo "$1"
    echo "the job has ended with $code and the output:"
    echo "$output"
    exit 1
}
case $output in
*'is killed now'*) ;;
*) wrong "no process was killed" ;;
esac
case $output in
*'is told that all is quiet'*) wrong "a process was told that all is quiet, though another one has not taken part" ;;
esac
if [ "$code" -eq 124 ]; then
    wrong "the job has not ended within 40 s"
fi
if [ "$goes_on" ]; then
    case $code:$output in
    *'rank 0 is told of an error: offload: no results for '*' tasks on rank '*) exit 0 ;;
    9:* | 137:*)
        echo "skipped: $launcher $goes_on ends the job all the same"
        exit 77
        ;;
    *) wrong "rank 0 was not told that its tasks are lost" ;;
    esac
fi
case $code in
9 | 137) ;; # killed by signal 9, as the launcher says it of the process, or as the shell does
*)
    case $code:$output in
    1:*'is told of an error'*) ;;   # before the launcher ended it
    255:*'KILLED BY SIGNAL: 9'*) ;; # Intel MPI 2021.18
    *) wrong "the launcher should say that a process was killed (9 or 137)" ;;
    esac
    ;;
esac
