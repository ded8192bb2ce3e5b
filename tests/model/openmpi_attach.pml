/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaching in the native Open MPI engine concurrently with MPI's completion: every request that is pushed is reported
 * exactly once, in all interleavings.
 *
 * As in src/core/engine/push.hpp and src/core/engine/openmpi.cpp. Processes: one attacher per request
 * (continuation::attach_single, engine::push), COMPLETERS threads that complete the requests in any order
 * (ompi_request_complete), SEARCHERS threads that poll until all are reported (openmpi_engine::poll and search). As in
 * the code, a request is released only by the thread that runs its continuation, which waits until the continuation is
 * attached. Afterwards another request uses the same memory.
 *
 * The model has sequentially consistent memory. The code needs the order of each thread's own steps; its comments name
 * the memory orders that ensure it.
 *
 * Mutations, each of which must be found:
 *   NO_SYNC       attach does not swap the wait-sync in: a lost completion is never noticed
 *   NO_REARM      a loss is noticed, but the count is set back after the search instead of before
 *   NO_CLAIM      attach ignores a failed swap: the request is complete already, but is not reported
 *   NO_PHASE      the search accesses requests that are still being attached
 *   EARLY_RUN     a continuation runs before it is attached: the swap changes another request in the same memory
 */

#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef COMPLETERS
#define COMPLETERS 2
#endif
#ifndef SEARCHERS
#define SEARCHERS 1
#endif
#define MARK 8

mtype = { pending, sync, completed };     /* req_complete */
mtype = { attaching, attached, visited, running }; /* phase of the continuation, see continuation_phase.pml */
mtype = { mpi_ok, mpi_error };

mtype complete[REQUESTS] = pending;
bool callback[REQUESTS];      /* the callback slot has the callback of Thence */
mtype phase[REQUESTS] = attaching;
bool begun[REQUESTS];         /* its completion has begun, so no other completer takes it */
bool released[REQUESTS];      /* another request uses its memory */
byte reported[REQUESTS];      /* to the sink, or by attach */
byte ran[REQUESTS];
byte count = MARK;
bool searching;

inline report(r) {
    reported[r]++;
    assert(reported[r] == 1)
}

/* can_push(), push() and their callers, attach_single() and attach(). */
proctype attacher(byte r) {
    bool pushed = true;
    /* MPI may complete it before it is attached. */
    if
    :: complete[r] != pending -> pushed = false; goto decided
    :: complete[r] == pending
    fi;
    callback[r] = true;
#ifndef NO_SYNC
    atomic {
        assert(!released[r]); /* the swap must change the right request */
        if
        :: complete[r] == pending -> complete[r] = sync; goto decided
        :: else
        fi
    };
#else
    if
    :: complete[r] == pending -> goto decided
    :: else
    fi;
#endif
#ifndef NO_CLAIM
    /* Complete. Was the callback called for it? */
    if
    :: callback[r] -> callback[r] = false; pushed = false
    :: else
    fi;
#endif
decided:
    if
    :: !pushed -> report(r) /* flag == 1, or into the queue */
    :: else
    fi;
    phase[r] = attached
}

/* ompi_request_complete() of requests in any order. */
proctype completer() {
    byte r;
    bool saw;
    mtype before;
    mtype how;
    do
    :: atomic {
           select (r : 0 .. REQUESTS - 1);
           if
           :: !begun[r] -> begun[r] = true
           :: else -> goto next
           fi
       };
       if
       :: how = mpi_ok
       :: how = mpi_error
       fi;
       saw = callback[r]; /* (1) */
       if
       :: saw ->
           callback[r] = false; /* (2) */
           complete[r] = completed;
           report(r)
       :: else ->
           atomic { before = complete[r]; complete[r] = completed }; /* (3) */
           if
           :: before == sync ->
               if
               :: how == mpi_ok -> count--
               :: how == mpi_error -> count = 0
               fi
           :: else
           fi
       fi;
next:
       if
       :: atomic { begun[0] && begun[REQUESTS - 1] -> break }
       :: else
       fi
    od
}

/* A runner pops reported requests and releases their memory. */
proctype runner(byte r) {
#ifndef EARLY_RUN
    atomic { reported[r] == 1 && phase[r] == attached -> phase[r] = running };
#else
    atomic { reported[r] == 1 -> phase[r] = running };
#endif
    released[r] = true;
    ran[r]++
}

/* poll(): the count differs from the expected one, so search. */
proctype searcher() {
    byte r;
    do
    :: atomic { count != MARK && !searching -> searching = true };
#ifndef NO_REARM
       count = MARK;
#endif
       for (r : 0 .. REQUESTS - 1) {
           if
#ifndef NO_PHASE
           :: phase[r] == running
           :: atomic { phase[r] == attached -> phase[r] = visited };
#else
           :: !released[r] -> /* in any phase */
#endif
               if
               :: complete[r] == completed ->
                   if
                   :: callback[r] -> callback[r] = false; report(r)
                   :: else
                   fi
               :: else
               fi;
#ifndef NO_PHASE
               phase[r] = attached
#else
           :: released[r]
#endif
           fi
       };
#ifdef NO_REARM
       count = MARK;
#endif
       searching = false
    :: timeout -> break
    od
}

init {
    byte r;
    atomic {
        for (r : 0 .. REQUESTS - 1) {
            run attacher(r);
            run runner(r)
        };
        for (r : 1 .. COMPLETERS) {
            run completer()
        };
        for (r : 1 .. SEARCHERS) {
            run searcher()
        }
    };
    /* In the final state every request must have been reported and its continuation must have run. */
    timeout -> 
    for (r : 0 .. REQUESTS - 1) {
        assert(reported[r] == 1 && ran[r] == 1)
    }
}
