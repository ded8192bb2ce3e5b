/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and finish of a thread communicator in a process: no thread is between start and finish before all
 * have called start, none leaves finish before all have called it, a new start does not mix with the finish
 * before, and no thread waits for ever.
 *
 * As in src/mpix/threadcomm/activation.cpp: under the mutex a thread adds its arrival to the list, and the last one
 * changes the state, empties the list and tells all. Each thread waits for its own word, and reads nothing of the
 * activation after that.
 *
 * Mutations, each of which must be found:
 *   SHARED_WORD   the threads wait for one word of the activation, which the next start clears
 *   EARLY_IDLE    the first thread at the finish makes the activation idle
 *   KEPT_LIST     the list is not emptied at the start
 */

#define THREADS 2
#define ROUNDS 2

mtype = { IS_IDLE, IS_GATHERING, IS_ACTIVE, IS_FINISHING };
mtype state = IS_IDLE;
byte arrived;
bool is_in_list[THREADS + 1];
bool told[THREADS + 1];
bool shared;
bool mutex;
byte inside;     /* threads between start and finish */
byte finished;   /* of this round */
byte rounds[THREADS + 1];

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

inline tell_all() {
    i = 0;
    do
    :: i <= THREADS ->
        if
        :: is_in_list[i] -> told[i] = true;
#ifndef KEPT_LIST
            is_in_list[i] = false
#endif
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
#ifndef KEPT_LIST
    arrived = 0;
#endif
    shared = true
}

inline add() {
    told[me] = false;
    is_in_list[me] = true;
    arrived++;
#ifdef SHARED_WORD
    if
    :: arrived == 1 -> shared = false
    :: else -> skip
    fi
#endif
}

inline wait_until_told() {
#ifdef SHARED_WORD
    (shared)
#else
    (told[me])
#endif
}

proctype thread(byte me) {
    byte i;
    byte round = 0;
    do
    :: round == ROUNDS -> break
    :: round < ROUNDS ->
        lock();
        if
        :: state == IS_ACTIVE || state == IS_FINISHING -> unlock() /* refused */
        :: else ->
            add();
            state = IS_GATHERING;
            if
            :: arrived == THREADS -> state = IS_ACTIVE; tell_all()
            :: else -> skip
            fi;
            unlock();
            wait_until_told();
            atomic { assert(state != IS_IDLE && state != IS_GATHERING); inside++; assert(inside <= THREADS); rounds[me]++ };
            /* between start and finish */
            lock();
            atomic { add() };
#ifdef EARLY_IDLE
            state = IS_IDLE;
#else
            state = IS_FINISHING;
#endif
            atomic { inside--; finished++ };
            if
            :: arrived == THREADS ->
                assert(finished == THREADS && inside == 0);
                finished = 0;
                state = IS_IDLE;
                tell_all()
            :: else -> skip
            fi;
            unlock();
            wait_until_told();
            round++
        fi
    od
}

init {
    atomic {
        run thread(0);
        run thread(1)
    };
    (_nr_pr == 1);
    assert(state == IS_IDLE && inside == 0 && rounds[0] == ROUNDS && rounds[1] == ROUNDS)
}
