/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While operations are outstanding somebody polls: the counter of operations changes outside of the lock of the queue,
 * and still no drainer leaves behind what nobody else was called for.
 *
 * As in thence/pools/detail/work_queue.hpp (begin_operation, drain): who begins an operation counts it, and if it is
 * the first takes the lock and calls a drainer unless one looks or is on its way. A drainer leaves only if it sees no
 * operation while it holds the lock. An operation ends in a poll, or on another thread. A thread that waits for
 * something polls too, whether operations are counted or not, and may leave at any time between polls: then it calls a
 * drainer if operations are outstanding that nobody looks after.
 *
 * Mutations, each of which must be found:
 *   COUNT_LATE     who begins looks for drainers before it counts
 *   NOT_UNDER_LOCK a drainer looks at the counter before it takes the lock to leave
 *   ALWAYS_CALLED  only the first operation ever calls a drainer
 *   WAITER_LEAVES  a thread that has waited leaves without looking whether somebody else polls
 */

#ifndef STARTERS
#define STARTERS 3
#endif

byte operations;    /* the counter */
byte pending;       /* begun with MPI, to be completed */
byte looking;
byte coming;
bool polling;
bool mutex;
bool called;        /* once */

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

proctype drainer() {
    byte seen;
    lock();
    coming--;
    looking++;
    do
    :: polling -> break          /* another one polls, and will look again */
    :: !polling ->
#ifdef NOT_UNDER_LOCK
        unlock();
        seen = operations;
        lock();
#else
        seen = operations;
#endif
        if
        :: seen > 0 && !polling ->
            polling = true;
            unlock();
            if
            :: atomic { pending > 0 -> pending-- }; operations--
            :: else
            fi;
            lock();
            polling = false
        :: else -> break
        fi
    od;
    looking--;
    unlock()
}

proctype waiter() {
    bool need;
    lock();
    looking++;
    do
    :: !polling ->
        polling = true;
        unlock();
        if
        :: atomic { pending > 0 -> pending-- }; operations--
        :: else
        fi;
        lock();
        polling = false
    :: break /* what it waited for has come */
    od;
    looking--;
#ifdef WAITER_LEAVES
    need = false;
#else
    need = operations > 0 && looking == 0 && coming == 0;
#endif
    if
    :: need -> coming++
    :: else
    fi;
    unlock();
    if
    :: need -> run drainer()
    :: else
    fi
}

proctype starter(bool ends_elsewhere) {
    byte before;
    bool need;
#ifdef COUNT_LATE
    lock();
    need = looking == 0 && coming == 0;
    if
    :: need -> coming++
    :: else
    fi;
    unlock();
    atomic { before = operations; operations++ };
    pending++;
    if
    :: need -> run drainer()
    :: else
    fi;
#else
    atomic { before = operations; operations++ };
    if
#ifdef ALWAYS_CALLED
    :: before == 0 && !called ->
        called = true;
#else
    :: before == 0 ->
#endif
        lock();
        need = looking == 0 && coming == 0;
        if
        :: need -> coming++
        :: else
        fi;
        unlock();
        if
        :: need -> run drainer()
        :: else
        fi
    :: else
    fi;
    pending++;
#endif
    if
    :: ends_elsewhere ->
        if
        :: atomic { pending > 0 -> pending-- }; operations--
        :: else
        fi
    :: else
    fi
}

init {
    byte i;
    atomic {
        for (i : 1 .. STARTERS) {
            run starter(i == 1)
        }
        run waiter()
    };
    timeout -> assert(operations == 0 && pending == 0 && looking == 0 && coming == 0)
}
