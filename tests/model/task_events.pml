/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task is complete once, after its body, its events and its children; the body runs once, after the events of
 * onready; what lowers more events than there are changes nothing.
 *
 * As in src/dataflow/task.hpp, src/dataflow/flow.cpp and src/dataflow/events.cpp: one counter. BODY is held until the
 * body has ended, and while onready runs; CHILDREN while children are not complete. Two threads lower events, one of
 * them tries to lower one too many, and two children complete on threads of their own.
 *
 * Mutations, each of which must be found:
 *   NO_HOLD        nothing is held while onready runs
 *   UNCHECKED      events are lowered by a subtraction alone
 *   LOOKS_AGAIN    who has subtracted looks at the counter again to see whether it is zero
 *   PHASE_STAYS    the body begins in the phase of onready
 *   CHILD_APART    the body's end does not count as an open child of its scope
 */

#define BODY 64
#define CHILDREN 32
#define EVENTS 31

byte pending = BODY;
byte open;          /* children, and one for the body */
bool in_onready;    /* the phase */
bool onready_ended;
byte raised_ready;  /* events of onready that may be lowered */
byte raised_body;
byte children_run;
byte children_ended;
byte bodies;
byte completions;
byte lowered;
chan start = [2] of { bit };

inline zero_reached() {
    if
    :: in_onready ->
#ifndef NO_HOLD
        pending = BODY;
#endif
        assert(onready_ended);
        start ! 1
    :: else ->
        assert(bodies == 1 && lowered == 3 && children_ended == 2);
        completions++;
        assert(completions == 1)
    fi
}

inline subtract(part) {
#ifdef LOOKS_AGAIN
    pending = pending - part;
    if
    :: pending == 0 -> zero_reached()
    :: else
    fi
#else
    atomic { pending = pending - part; left = pending };
    if
    :: left == 0 -> zero_reached()
    :: else
    fi
#endif
}

proctype task() {
    byte left;
    in_onready = true;
#ifdef NO_HOLD
    pending = 0;
#endif
    pending = pending + 1;
    raised_ready = 1;
    onready_ended = true;
#ifdef NO_HOLD
    goto waits;
#else
    subtract(BODY);
#endif
waits:
    start ? 1;
#ifdef NO_HOLD
    pending = BODY;
#endif
#ifndef PHASE_STAYS
    in_onready = false;
#endif
    bodies++;
    assert(bodies == 1);
    /* Two children: the scope has one more while the body runs. */
    atomic { pending = pending + CHILDREN };
#ifndef CHILD_APART
    open = 1;
#endif
    atomic { open++ };
    atomic { children_run++ };
    atomic { open++ };
    atomic { children_run++ };
    atomic { pending = pending + 2 };
    raised_body = 2;
#ifdef CHILD_APART
    subtract(BODY)
#else
    atomic { open--; left = open };
    if
    :: left == 0 -> subtract((BODY + CHILDREN))
    :: else -> subtract(BODY)
    fi
#endif
}

proctype child() {
    byte left;
    atomic { children_run > 0; children_run-- };
    atomic { children_ended++ };
    atomic { open--; left = open };
    if
    :: left == 0 -> subtract(CHILDREN)
    :: else
    fi
}

/* Lowers one event of onready, then one of the body. */
proctype lowers() {
    byte left;
    raised_ready > 0;
    atomic { lowered++; raised_ready-- };
    subtract(1);
    raised_body > 0;
    atomic { lowered++; raised_body-- };
    subtract(1)
}

/* Lowers the other one of the body, and asks for more than there are. */
proctype asks_for_more() {
    byte left;
    raised_body > 0;
#ifdef UNCHECKED
    atomic { left = (pending & EVENTS) ; pending = pending - 3 };
    assert(left >= 3);
#else
    atomic {
        if
        :: (pending & EVENTS) >= 3 -> pending = pending - 3; assert(false)
        :: else
        fi
    };
#endif
    atomic { lowered++; raised_body-- };
    subtract(1)
}

init {
    atomic {
        run task();
        run child();
        run child();
        run lowers();
        run asks_for_more()
    };
    timeout -> assert(completions == 1 && pending == 0)
}
