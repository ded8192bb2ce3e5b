/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of sibling tasks to the same data run in order, each once, and nobody touches one that is dead.
 *
 * As in src/dataflow/access_chain.hpp: one thread appends accesses to a chain, each task completes its access on a
 * thread of its own, and flags are passed along the chain. Reads are unordered among each other; kinds are chosen in
 * all ways. Each task has one access here, so it runs when that may run and the task has been submitted. In some runs a
 * read does not end before the next one has begun: all of a group run together.
 *
 * Mutations, each of which must be found:
 *   COUNT_EARLY    a thread lets a task run before it has passed may_run to the next access
 *   KIND_LATE      the submitting thread looks at the kind of the access before, after it has been followed
 *   DEAD_ANYWAY    an access that could not be taken off the end of its chain is taken for dead
 *   FLAG_FIRST     the flag `followed` is set before `next`
 *   GROUP_FORGOTTEN the submitting thread does not pass may_run to an access of the same group
 *   NOT_TAKEN_OFF  an access at the end of its chain is dead, but stays there
 *   LEFT_FORGOTTEN the submitting thread takes an access for dead that another thread still tries to take off the chain
 */

#ifndef N
#define N 4
#endif

#define MAY_RUN 1
#define ALONE 2
#define COMPLETE 4
#define FOLLOWED 8
#define LEFT 16
#define DONE (ALONE | COMPLETE)
#ifdef LEFT_FORGOTTEN
#define DEAD DONE
#else
#define DEAD (DONE | LEFT)
#endif

byte flags[N + 1];   /* of accesses 1 to N */
byte nexts[N + 1];
bool reads[N + 2];
byte waits[N + 1];
bool ready[N + 2];
bool finished[N + 1];
bool dead[N + 1];
byte last;           /* of the chain; 0: none */
bool together;

inline touch(which) { assert(which != 0 && !dead[which]) }

inline count_down(which, by) {
    atomic {
        assert(waits[which] >= (by));
        waits[which] = waits[which] - (by);
        if
        :: waits[which] == 0 -> ready[which] = true
        :: else
        fi
    }
}

proctype completes(byte own) {
    byte at, set, old, now, next, passed, died, runs, runs_now;
    ready[own];
    (!together || own == N || !reads[own] || !reads[own + 1] || ready[own + 1]);
    atomic {
        for (at : 1 .. own - 1) {
            assert(finished[at] || (reads[at] && reads[own]))
        };
        finished[own] = true;
        at = own;
        set = COMPLETE
    };
    do
    ::
        atomic {
            touch(at);
            old = flags[at];
            now = old | set;
            flags[at] = now;
            next = 0;
            died = 0;
            runs_now = 0;
            if
            :: (now & MAY_RUN) && !(old & MAY_RUN) -> runs_now = at
            :: else
            fi
        };
#ifdef COUNT_EARLY
        if
        :: runs_now != 0 -> count_down(runs_now, 1)
        :: else
        fi;
#endif
        if
        :: (now & DONE) == DONE && (now & FOLLOWED) ->
            atomic { touch(at); next = nexts[at]; assert(next != 0); passed = MAY_RUN | ALONE; died = at }
        :: (now & DONE) == DONE && !(now & FOLLOWED) ->
            atomic {
                touch(at);
                if
                :: last == at ->
                    died = at;
#ifndef NOT_TAKEN_OFF
                    last = 0
#endif
                :: else ->
#ifdef DEAD_ANYWAY
                    died = at
#else
                    skip
#endif
                fi
            };
            if
            :: died == 0 ->
                atomic { touch(at); now = flags[at]; flags[at] = now | LEFT };
                if
                :: now & FOLLOWED ->
                    atomic { touch(at); next = nexts[at]; assert(next != 0); passed = MAY_RUN | ALONE; died = at }
                :: else
                fi
            :: else
            fi
        :: (now & DONE) != DONE && runs_now != 0 && (now & FOLLOWED) ->
            atomic {
                touch(at);
                next = nexts[at];
                touch(next);
                if
                :: reads[at] && reads[next] -> passed = MAY_RUN
                :: else -> next = 0
                fi
            }
        :: else
        fi;
        if
        :: died != 0 -> dead[died] = true
        :: else
        fi;
#ifndef COUNT_EARLY
        if
        :: runs != 0 -> count_down(runs, 1)
        :: else
        fi;
        runs = runs_now;
#endif
        if
        :: next == 0 -> break
        :: else -> at = next; set = passed
        fi
    od;
#ifndef COUNT_EARLY
    if
    :: runs != 0 -> count_down(runs, 1)
    :: else
    fi
#endif
}

proctype submits() {
    byte i, before, old, satisfied;
    bool grouped;
    for (i : 1 .. N) {
        atomic {
            waits[i] = 2;
            satisfied = 0;
            before = last;
            last = i;
            if
            :: before == 0 -> flags[i] = MAY_RUN | ALONE; satisfied = 1
            :: else
            fi
        };
        if
        :: before != 0 ->
#ifndef KIND_LATE
            atomic { touch(before); grouped = reads[before] && reads[i] };
#endif
#ifdef FLAG_FIRST
            atomic { touch(before); old = flags[before]; flags[before] = old | FOLLOWED };
            nexts[before] = i;
#else
            atomic { touch(before); nexts[before] = i };
            atomic { touch(before); old = flags[before]; flags[before] = old | FOLLOWED };
#endif
#ifdef KIND_LATE
            atomic { touch(before); grouped = reads[before] && reads[i] };
#endif
            if
            :: (old & DEAD) == DEAD ->
                atomic { assert(flags[i] == 0); flags[i] = MAY_RUN | ALONE; satisfied = 1; dead[before] = true }
#ifndef GROUP_FORGOTTEN
            :: (old & DEAD) != DEAD && grouped && (old & MAY_RUN) ->
                atomic {
                    if
                    :: !(flags[i] & MAY_RUN) -> satisfied = 1
                    :: else
                    fi;
                    flags[i] = flags[i] | MAY_RUN
                }
#endif
            :: else
            fi
        :: else
        fi;
        count_down(i, 1 + satisfied)
    }
}

init {
    byte i;
    atomic {
        if
        :: together = true
        :: together = false
        fi;
        for (i : 1 .. N) {
            if
            :: reads[i] = true
            :: reads[i] = false
            fi;
            run completes(i)
        };
        run submits()
    };
    timeout ->
    for (i : 1 .. N) {
        assert(finished[i] && dead[i])
    };
    assert(last == 0)
}
