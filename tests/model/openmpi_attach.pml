/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native Open MPI engine's attaching against MPI's completion: every request that is pushed is reported exactly
 * once, in all interleavings.
 *
 * Processes: one attacher per request (continuation::attach, engine::try_push), COMPLETERS threads that complete the
 * requests in any order (ompi_request_complete), SEARCHERS threads that poll until everything is reported
 * (openmpi_engine::poll and search). As in the code, a request is released only by who runs its continuation, which
 * waits until it is attached; its memory is then used again by a request of somebody else.
 *
 * The memory is sequentially consistent here. What the code needs of the real one is the order of each thread's own
 * steps, which its comments name.
 *
 * Mutations, each of which must be found:
 *   NO_SYNC       attach does not swap the wait-sync in: a lost completion is never noticed
 *   NO_REARM      a loss is noticed, but the count is set back after the search instead of before
 *   NO_CLAIM      attach ignores a failed swap: complete already, and nobody reports it
 *   NO_PHASE      the search looks at requests that are being attached still
 *   EARLY_RUN     a continuation runs before it is attached: the swap meets another request in the same memory
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
bool callback[REQUESTS];      /* the slot holds our callback */
mtype phase[REQUESTS] = attaching;
bool begun[REQUESTS];         /* completion has begun: no second completer takes it */
bool released[REQUESTS];      /* its memory is another request's */
byte reported[REQUESTS];      /* to the sink, or as complete at once */
byte ran[REQUESTS];
byte count = MARK;
bool searching;

inline report(r) {
    reported[r]++;
    assert(reported[r] == 1)
}

/* try_push(), and what attach does around it. */
proctype attacher(byte r) {
    bool pushed = true;
    /* MPI may have completed it before anybody attached. */
    if
    :: complete[r] != pending -> pushed = false; goto decided
    :: complete[r] == pending
    fi;
    callback[r] = true;
#ifndef NO_SYNC
    atomic {
        assert(!released[r]); /* the swap must meet the request it is meant for */
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
    :: !pushed -> report(r) /* flag == 1 */
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

/* A runner pops what is reported; the request's memory is released then. */
proctype runner(byte r) {
#ifndef EARLY_RUN
    atomic { reported[r] == 1 && phase[r] == attached -> phase[r] = running };
#else
    atomic { reported[r] == 1 -> phase[r] = running };
#endif
    released[r] = true;
    ran[r]++
}

/* poll(): the count is off its mark, so search. */
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
           :: !released[r] -> /* and so be it, in whatever phase */
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
    /* Nothing can move any more: everything must have been reported and have run. */
    timeout -> 
    for (r : 0 .. REQUESTS - 1) {
        assert(reported[r] == 1 && ran[r] == 1)
    }
}
