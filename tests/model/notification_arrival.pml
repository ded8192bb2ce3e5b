/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notifications that are waited for (slots.hpp, waiters.cpp): each arrival is found, though the owner looks at a slot only
 * once when it begins to wait, and later at what is marked. If one were missed, the owner would wait for ever.
 *
 * Two processes set one slot each; the marks of both slots are in one word. The owner waits for the first, then for the
 * second, with looks at the marks between, and disarms itself while it waits for none.
 *
 * Mutations, each of which must be found:
 *   ARMED_FIRST    set() reads `armed` before it stores the slot
 *   LOOK_FIRST     the owner looks at the slot before it arms itself
 *   SUMMARY_FIRST  mark() sets the mark of the word before that of the slot
 *   MARKS_FIRST    the owner takes the marks of the slots before that of their word
 *   STAYS_DISARMED the owner does not arm itself again
 */

bool slot[2];
bool marked[2];
bool summary;
bool armed;
bool waits[2];
byte served;
byte ended;

proctype writer(byte i) {
    bool is_armed;
    bool seen;
#ifdef ARMED_FIRST
    is_armed = armed;
    slot[i] = true;
#else
    slot[i] = true;
    is_armed = armed;
#endif
    if
    :: is_armed ->
#ifdef SUMMARY_FIRST
        summary = true;
        marked[i] = true
#else
        marked[i] = true;
        seen = summary;
        if
        :: !seen -> summary = true
        :: else -> skip
        fi
#endif
    :: else -> skip
    fi;
    ended++
}

inline serve(i) {
    if
    :: atomic { waits[i] && slot[i] -> slot[i] = false; waits[i] = false; served++ };
        if
        :: !waits[0] && !waits[1] -> armed = false
        :: else -> skip
        fi
    :: else -> skip
    fi
}

inline begin_to_wait(i) {
#ifdef LOOK_FIRST
    has_come = slot[i];
    waits[i] = true;
    armed = true;
    if
    :: has_come -> serve(i)
    :: else -> skip
    fi
#else
    waits[i] = true;
#ifdef STAYS_DISARMED
    armed = armed || i == 0;
#else
    armed = true;
#endif
    serve(i)
#endif
}

inline take_marks() {
    atomic {
        first = marked[0];
        second = marked[1];
        marked[0] = false;
        marked[1] = false
    }
}

/* Only if something is marked. */
inline look() {
#ifdef MARKS_FIRST
    take_marks();
    summary = false;
#else
    summary = false;
    take_marks();
#endif
    if
    :: first -> serve(0)
    :: else -> skip
    fi;
    if
    :: second -> serve(1)
    :: else -> skip
    fi
}

active proctype owner() {
    bool first;
    bool second;
    bool has_come;
    begin_to_wait(0);
    do
    :: summary -> look()
    :: break
    od;
    begin_to_wait(1);
    do
    :: served == 2 -> break
    :: served < 2 && summary -> look()
    od;
    ended++
}

init {
    atomic {
        run writer(0);
        run writer(1)
    };
    ended == 3;
    assert(served == 2 && !slot[0] && !slot[1])
}
