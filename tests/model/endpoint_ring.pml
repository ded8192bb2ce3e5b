/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of an endpoint: each pushed item is popped exactly once, and the items of a pusher in the order of its
 * pushes. A pusher that finds the ring full pops itself, if it gets the lock.
 *
 * As in src/mpix/messages/ring.hpp and src/mpix/messages/endpoint.cpp: the slot of position p is p mod CAPACITY; its
 * turn is p while it is free, p + 1 while it has the item, p + CAPACITY after the pop. A pusher takes a position by
 * compare-and-swap of `tail`, writes the item, then the turn.
 *
 * Mutations, each of which must be found:
 *   PLAIN_TAIL    a pusher takes its position by a load and a store
 *   TURN_FIRST    a pusher writes the turn before the item
 *   NO_LOCK       two threads may pop at a time
 *   NOT_FULL      a pusher does not look whether the slot is free
 */

#define CAPACITY 2
#define EACH 3 /* items of each pusher */
#define PUSHERS 2

byte turn[CAPACITY];
byte item[CAPACITY];
byte tail;
byte head;
bool locked;
byte next_of[PUSHERS]; /* the number of the next item of each pusher */
byte popped;

inline pop_all() {
    do
    :: turn[head % CAPACITY] == head + 1 ->
        got = item[head % CAPACITY];
        assert(got != 0);
        assert((got - 1) % EACH == next_of[(got - 1) / EACH]); /* in order, each once */
        next_of[(got - 1) / EACH]++;
        item[head % CAPACITY] = 0;
        turn[head % CAPACITY] = head + CAPACITY;
        head++;
        popped++
    :: else -> break
    od
}

inline try_to_pop() {
#ifndef NO_LOCK
    if
    :: atomic { !locked -> locked = true }; pop_all(); locked = false
    :: locked -> skip
    fi
#else
    pop_all()
#endif
}

proctype pusher(byte me) {
    byte n = 0;
    byte at;
    byte got;
    byte seen;
    do
    :: n == EACH -> break
    :: n < EACH ->
        at = tail;
again:
        seen = turn[at % CAPACITY];
        if
#ifndef NOT_FULL
        :: seen < at -> /* full */
            try_to_pop()
        :: seen > at -> at = tail; goto again
        :: seen == at ->
#else
        :: true ->
#endif
#ifndef PLAIN_TAIL
            atomic {
                if
                :: tail == at -> tail = at + 1
                :: else -> at = tail; goto again
                fi
            }
#else
            tail = at + 1;
#endif
#ifdef TURN_FIRST
            turn[at % CAPACITY] = at + 1;
            item[at % CAPACITY] = me * EACH + n + 1;
#else
            item[at % CAPACITY] = me * EACH + n + 1;
            turn[at % CAPACITY] = at + 1;
#endif
            n++
        fi
    od
}

proctype owner() {
    byte got;
    do
    :: popped == PUSHERS * EACH -> break
    :: else -> try_to_pop()
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. CAPACITY - 1) {
            turn[i] = i
        };
        run pusher(0);
        run pusher(1);
        run owner()
    };
    (_nr_pr == 1);
    assert(popped == PUSHERS * EACH && tail == PUSHERS * EACH && head == tail)
}
