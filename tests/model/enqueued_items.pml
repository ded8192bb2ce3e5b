/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enqueued calls begin exactly once, in their order, one at a time, and not before the queue has reached them; and no
 * trigger is lost, though no thread looks again after the queue's own.
 *
 * As in src/mpix/queues/queue.hpp, src/mpix/queues/queue.cpp and src/mpix/queues/queue_progress.cpp (push, triggered,
 * is_triggered, begin_triggered, take_first): a thread that enqueues appends an item under a mutex and then launches
 * the store of its number to the trigger word. The queue stores and looks. Other threads look at any time. Reads of
 * is_triggered() are steps of their own.
 *
 * Mutations, each of which must be found:
 *   NO_LOCK         a thread begins items although another one does
 *   NOT_AGAIN       a thread that has begun items leaves without another look
 *   LOOK_BEFORE     a thread looks before it has the lock, and not under it
 *   LAUNCH_FIRST    the store is launched before the item is in the list
 */

#define ITEMS 2

byte unbegun;           /* items in the list */
byte first_number = 1;  /* of the first one; else that of the last one that there was */
byte word;              /* the trigger word */
byte launched;          /* items of which the queue knows */
bool beginning;         /* the lock */
byte begun;             /* items that have begun */
byte inside;            /* threads that begin an item */

inline is_triggered(result) {
    result = unbegun != 0;
    if
    :: result -> seen = word; result = seen >= first_number
    :: else
    fi
}

/* Under the lock, so only push() runs beside it; begin() starts the operation without the mutex. */
inline begin_first() {
    inside++;
    assert(inside == 1);
    atomic {
        number = first_number;
        assert(unbegun > 0);
        unbegun--;
        if
        :: unbegun > 0 -> first_number++
        :: else
        fi
    };
    assert(number == begun + 1);
    assert(word >= number);
    begun = number;
    inside--
}

inline begin_triggered() {
    is_triggered(yes);
    do
    :: !yes -> break
    :: else ->
#ifdef NO_LOCK
        got = true;
#else
        atomic { got = !beginning; beginning = true };
#endif
        if
        :: !got -> break
        :: else
        fi;
#ifdef LOOK_BEFORE
        begin_first();
#else
        is_triggered(yes);
        do
        :: yes -> begin_first(); is_triggered(yes)
        :: else -> break
        od;
#endif
        beginning = false;
#ifdef NOT_AGAIN
        break;
#endif
        is_triggered(yes)
    od
}

/* One number after the other, as under `enqueueing_`. */
proctype program() {
    byte k = 1;
    do
    :: k > ITEMS -> break
    :: else ->
#ifdef LAUNCH_FIRST
        launched = k;
#endif
        atomic { /* under the mutex */
            if
            :: unbegun == 0 -> first_number = k
            :: else
            fi;
            unbegun++
        };
#ifndef LAUNCH_FIRST
        launched = k;
#endif
        k++
    od
}

proctype queue() {
    byte k = 1;
    byte seen;
    byte number;
    bool yes;
    bool got;
    do
    :: k > ITEMS -> break
    :: else ->
        launched >= k;
        word = k;
        begin_triggered();
        k++
    od
}

proctype looker() {
    byte seen;
    byte number;
    bool yes;
    bool got;
    byte looks = 0;
    do
    :: looks == 2 -> break
    :: else -> begin_triggered(); looks++
    od
}

init {
    atomic {
        run program();
        run queue();
        run looker();
        run looker()
    };
    (_nr_pr == 1);
    assert(begun == ITEMS && unbegun == 0)
}
