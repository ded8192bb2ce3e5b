/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notifications that are waited for: each arrival is found, though the owner looks at a slot only once when it begins
 * to wait, and later at what is marked. If one were missed, the owner would wait for ever. Who takes a value sees the
 * data that were put before it, and one thread takes it.
 *
 * As in src/onesided/notification/slots.hpp and src/onesided/notification/waiters.cpp. Two processes put data and set
 * one slot each, the first one twice: its second arrival comes before or after the first was taken. The marks of both
 * slots are in one word. The owner waits for both slots, for the first one again until it has the last value, and
 * disarms itself while it waits for none. Another thread of the owner resets the first slot at any time, and may take
 * any value of it.
 *
 * Mutations, each of which must be found:
 *   ARMED_FIRST    set() reads `armed` before it stores the slot
 *   LOOK_FIRST     the owner looks at the slot before it arms itself
 *   SUMMARY_FIRST  mark() sets the mark of the word before that of the slot
 *   MARKS_FIRST    the owner takes the marks of the slots before that of their word
 *   STAYS_DISARMED the owner does not arm itself again
 *   DATA_LAST      the slot is stored before the data
 *   TWO_STEPS      a value is read and then set to zero, in place of an exchange
 */

#define LAST 2

byte slot[2];
byte data[2];
byte taken[2]; /* the greatest value that was taken, so the last */
byte last_taken;
bool marked[2];
bool summary;
bool armed;
bool waits[2];
byte ended;

inline put_data(i, value) {
    data[i] = value
}

inline set(i, value) {
#ifndef DATA_LAST
    put_data(i, value);
#endif
#ifdef ARMED_FIRST
    is_armed = armed;
    slot[i] = value;
#else
    slot[i] = value;
    is_armed = armed;
#endif
#ifdef DATA_LAST
    put_data(i, value);
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
    fi
}

proctype writer(byte i; byte last) {
    bool is_armed;
    bool seen;
    byte next = 1;
    do
    :: next <= last -> set(i, next); next++
    :: else -> break
    od;
    ended++
}

/* `value`: 0 if there was none. */
inline take(i, value) {
    value = 0;
    if
    :: slot[i] != 0 ->
#ifdef TWO_STEPS
        value = slot[i];
        slot[i] = 0;
#else
        atomic { value = slot[i]; slot[i] = 0 };
#endif
        if
        :: value != 0 ->
            atomic {
                assert(data[i] >= value);
                taken[i] = (value > taken[i] -> value : taken[i]);
                if
                :: i == 0 && value == LAST -> last_taken++
                :: else -> skip
                fi
            }
        :: else -> skip
        fi
    :: else -> skip
    fi
}

active proctype resetter() {
    byte value;
    take(0, value);
    ended++
}

inline serve(i) {
    if
    :: waits[i] ->
        take(i, value);
        if
        :: value != 0 ->
            waits[i] = false;
            if
            :: !waits[0] && !waits[1] -> armed = false
            :: else -> skip
            fi
        :: else -> skip
        fi
    :: else -> skip
    fi
}

inline begin_to_wait(i) {
#ifdef LOOK_FIRST
    has_come = slot[i] != 0;
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
    bool has_begun;
    byte value;
    do
    :: taken[0] != LAST && !waits[0] -> begin_to_wait(0)
    :: !has_begun -> begin_to_wait(1); has_begun = true
    :: summary -> look()
    :: taken[0] == LAST && taken[1] != 0 -> break
    od;
    ended++
}

init {
    atomic {
        run writer(0, LAST);
        run writer(1, 1)
    };
    ended == 4;
    assert(last_taken == 1 && slot[0] == 0 && slot[1] == 0)
}
