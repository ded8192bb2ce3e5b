/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of one continuation. Its runner, its attacher, and visitors (search, cancel, report) change one word.
 * Invariant: while a visitor accesses the operations, no thread runs the continuation and no other visitor accesses it.
 *
 * As in src/core/continuation/continuation.hpp (for_each_attached) and src/core/continuation/run.cpp (run_one): the
 * runner exchanges `free` into the word. If the old value was not `attached`, it waits until the word is `attached`. It
 * runs the continuation in phase `free`, in which visitors skip it. The thread that completes the operation may run it
 * at once (run_in_completion) after a compare-and-swap from `attached`; otherwise it queues the continuation.
 *
 * Mutations, each of which must be found:
 *   PLAIN_TAKE    the waiting runner takes the word with a load and a store instead of a compare-and-swap
 *   PLAIN_VISIT   a visitor enters with a load and a store instead of a compare-and-swap
 *   PLAIN_RUN     the completing thread takes the word with a load and a store
 *   RUN_AND_QUEUE the completing thread also queues the continuation that it has run
 *   NO_WAIT       the runner runs the continuation for every old value of the exchange
 */

#ifndef VISITORS
#define VISITORS 2
#endif

mtype = { attaching, attached, visited, free };
mtype word = attaching;
bool queued;       /* the completion has put it into the ready queue */
bool attach_done;
byte visiting;
bool in_run;
byte ran;

active proctype attacher() {
    atomic { word = attached; attach_done = true }
}

inline run_it() {
    in_run = true;
    assert(attach_done); /* the attacher must not access it any more */
    assert(visiting == 0);
    ran++;
    in_run = false
}

/* The operation may complete while it is being attached. */
active proctype completer() {
    if
    :: queued = true /* for every value of the word */
#ifndef PLAIN_RUN
    :: atomic { word == attached -> word = free };
#else
    :: word == attached -> word = free;
#endif
       run_it();
#ifdef RUN_AND_QUEUE
       queued = true
#endif
    fi
}

active proctype runner() {
    mtype seen;
end_nothing_queued:
    queued;
    atomic { seen = word; word = free };
#ifndef NO_WAIT
    if
    :: seen == attached
    :: else ->
#ifndef PLAIN_TAKE
        atomic { word == attached -> word = free }
#else
        word == attached;
        word = free
#endif
    fi;
#endif
    run_it()
}

active [VISITORS] proctype visitor() {
    byte round;
    for (round : 1 .. 2) {
        if
        :: word == free
#ifndef PLAIN_VISIT
        :: atomic { word == attached -> word = visited };
#else
        :: word == attached -> word = visited;
#endif
           visiting++;
           assert(visiting == 1 && !in_run);
           assert(ran == 0);
           visiting--;
           word = attached
        fi
    }
}

active proctype observer() {
    timeout -> assert(ran == 1 && word == free)
}
