/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * At most one task of a runtime polls, and no operation of a task stays outstanding while none polls: in every race of
 * the end of the polling task with tasks that make operations outstanding.
 *
 * As in src/core/progress/polling_task.cpp (poll_in_task, require_polling_task). The helper thread, which may find the
 * completion of other operations meanwhile, is left out: it runs none of these.
 *
 * Mutations, each of which must be found:
 *   LOOKS_FIRST the polling task asks whether anything is outstanding before it says that it no longer runs
 *   READS_FIRST a task reads whether the polling task runs before it registers its operation
 *   TWO_STEPS   a task reads whether the polling task runs, and then says that it does
 */

#define TASKS 3

byte outstanding;
bool runs;
byte polling; /* at most one */

proctype polling_task() {
    bool ran;
    bool some;
again:
    polling++;
    assert(polling == 1);
    do
    :: outstanding > 0 -> outstanding--
    :: outstanding == 0 -> break
    od;
    polling--;
#ifdef LOOKS_FIRST
    some = outstanding > 0;
    runs = false;
#else
    runs = false;
    some = outstanding > 0;
#endif
    if
    :: some ->
        atomic { ran = runs; runs = true };
        if
        :: !ran -> goto again
        :: else
        fi
    :: else
    fi
}

proctype task() {
    bool ran;
#ifdef READS_FIRST
    ran = runs;
    outstanding++;
#else
    outstanding++;
    ran = runs;
#endif
    if
    :: !ran ->
#ifdef TWO_STEPS
        runs = true;
#else
        atomic { ran = runs; runs = true };
#endif
        if
        :: !ran -> run polling_task()
        :: else
        fi
    :: else
    fi
}

init {
    byte i;
    atomic {
        for (i : 1 .. TASKS) {
            run task()
        }
    };
    timeout -> assert(outstanding == 0) /* nothing happens any more */
}
