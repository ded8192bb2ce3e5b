#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: am_killed.sh LAUNCHER... PROGRAM
# A process is killed while others wait for quiescence, or for tasks that were offloaded: the launcher ends the job within some seconds. No other process returns
# from the wait without an error, and none ends by a fault of its own.
# (What the others are told if MPI goes on with errors: am_broken.cpp.)
output=$(timeout 40 "$@" killed 2>&1)
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
case $code in
9 | 137) ;; # killed by signal 9, as the launcher says it of the process, or as the shell does
124) wrong "the job has not ended within 40 s" ;;
*)
    case $code:$output in
    1:*'is told of an error'*) ;; # before the launcher ended it
    *) wrong "the launcher should say that a process was killed (9 or 137)" ;;
    esac
    ;;
esac
