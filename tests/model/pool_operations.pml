/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While operations are outstanding, some thread polls. The counter of operations changes outside of the queue's lock;
 * even so, no worker leaves operations behind for which no other worker was called.
 *
 * As in src/tbb/pools/work_queue.cpp (begin_operation, search, leaves) and src/tbb/workers/loop.hpp (run_and_unlock,
 * call_and_unlock_if). A thread that begins an operation counts it. If it is the first one, the thread takes the lock
 * and calls a worker unless one is active or called already. A worker leaves only if it finds no operation while it
 * holds the lock. An operation ends in a poll, or on another thread. A waiting thread polls, too, whether operations
 * are counted or not. It may leave between any two polls; then it calls a worker if operations are outstanding and no
 * thread polls.
 *
 * Mutations, each of which must be found:
 *   COUNT_LATE     the beginning thread checks for workers before it counts
 *   NOT_UNDER_LOCK a worker reads the counter before it takes the lock to leave
 *   ALWAYS_CALLED  only the first operation ever calls a worker
 *   WAITER_LEAVES  a waiting thread leaves without checking whether another one polls
 */

#ifndef STARTERS
#define STARTERS 3
#endif

byte operations;    /* the counter */
byte pending;       /* begun in MPI, not complete */
byte searching;
byte coming;
bool polling;
bool mutex;
bool called;        /* once */

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

proctype worker() {
    byte seen;
    lock();
    coming--;
    searching++;
    do
    :: polling -> break          /* another thread polls, and will check again */
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
    searching--;
    unlock()
}

proctype waiter() {
    bool need;
    lock();
    searching++;
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
    :: break /* its condition is fulfilled */
    od;
    searching--;
#ifdef WAITER_LEAVES
    need = false;
#else
    need = operations > 0 && searching == 0 && coming == 0;
#endif
    if
    :: need -> coming++
    :: else
    fi;
    unlock();
    if
    :: need -> run worker()
    :: else
    fi
}

proctype starter(bool ends_elsewhere) {
    byte before;
    bool need;
#ifdef COUNT_LATE
    lock();
    need = searching == 0 && coming == 0;
    if
    :: need -> coming++
    :: else
    fi;
    unlock();
    atomic { before = operations; operations++ };
    pending++;
    if
    :: need -> run worker()
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
        need = searching == 0 && coming == 0;
        if
        :: need -> coming++
        :: else
        fi;
        unlock();
        if
        :: need -> run worker()
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
    timeout -> assert(operations == 0 && pending == 0 && searching == 0 && coming == 0)
}
