/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ready queue: each pushed item is popped exactly once, and one popper gets the items of a thread in the order in
 * which it pushed them.
 *
 * As in src/core/base/ready_queue.hpp: push changes the head of `inbox` (newest first). Where pop finds that `outbox`
 * has a list or is locked, it exchanges BUSY into it, which locks it, and takes the oldest item of its list. Where
 * `outbox` is empty, pop takes the whole inbox with one exchange, keeps the oldest item and appends the others to the
 * current `outbox`.
 *
 * Mutations, each of which must be found:
 *   PLAIN_PUSH    push writes the head without compare-and-swap
 *   NO_LOCK       the outbox is locked by a load and a store instead of an exchange
 *   OVERWRITE     the taken items replace the outbox instead of being appended
 */

#define ITEMS 4 /* 1 .. ITEMS; 0 is null */
#ifndef POPPERS
#define POPPERS 2
#endif

byte next[ITEMS + 1];
byte inbox;
byte outbox;
byte popped[ITEMS + 1];
byte done;

#define BUSY 255

/* Takes the list; waits while another thread has it. */
inline acquire(list) {
#ifndef NO_LOCK
    atomic { outbox != BUSY -> list = outbox; outbox = BUSY }
#else
    outbox != BUSY -> list = outbox;
    outbox = BUSY
#endif
}

proctype pusher(byte first; byte last) {
    byte item;
    byte head;
    for (item : first .. last) {
        head = inbox;
retry:
        next[item] = head;
#ifndef PLAIN_PUSH
        atomic {
            if
            :: inbox == head -> inbox = item
            :: else -> head = inbox; goto retry
            fi
        }
#else
        inbox = item
#endif
    };
    done++
}

proctype popper() {
    byte item;
    byte newest;
    byte oldest;
    byte link;
    do
    :: item = 0;
       if
       :: outbox == 0 -> skip /* it may change at once: what is in the inbox is popped by an exchange all the same */
       :: outbox != 0 ->
           acquire(item);
           if
           :: item != 0 -> outbox = next[item]
           :: else -> outbox = 0
           fi
       fi;
       if
       :: item != 0 -> skip
       :: else ->
           atomic { newest = inbox; inbox = 0 };
           if
           :: newest == 0 || next[newest] == 0 -> item = newest
           :: else ->
               oldest = 0;
               do
               :: newest != 0 -> link = next[newest]; next[newest] = oldest; oldest = newest; newest = link
               :: else -> break
               od;
               acquire(item);
#ifndef OVERWRITE
               if
               :: item == 0 -> item = oldest
               :: else ->
                   link = item;
                   do
                   :: next[link] != 0 -> link = next[link]
                   :: else -> break
                   od;
                   next[link] = oldest
               fi;
#else
               item = oldest;
#endif
               outbox = next[item]
           fi
       fi;
       if
       :: item != 0 -> popped[item]++; assert(popped[item] == 1); item = 0
       :: else ->
           if
           :: done == 2 && inbox == 0 && outbox == 0 -> break
           :: else
           fi
       fi
    od
}

init {
    byte i;
    atomic {
        run pusher(1, 2);
        run pusher(3, ITEMS);
        for (i : 1 .. POPPERS) {
            run popper()
        }
    };
    timeout ->
    for (i : 1 .. ITEMS) {
        assert(popped[i] == 1)
    }
}
