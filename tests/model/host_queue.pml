/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host queue runs what is enqueued exactly once and in order, by at most one task at a time, and no wake of a
 * suspended queue is lost.
 *
 * As in src/tbb/queues/host_queue.cpp (push, wake, run): entry k is a call of a function, and behind the first two it
 * waits until the word reaches k. The function of such an entry starts an operation; a thread completes that later,
 * sets the word and calls wake(). Two threads complete operations, so the wake for one entry may come when the next one
 * waits already.
 *
 * Mutations, each of which must be found:
 *   NOT_AGAIN     a task suspends the queue without another look at the word
 *   FLAG_LAST     it looks before it has set `suspended`
 *   NO_STATE      wake() starts a task whatever the state is
 *   NO_MUTEX      wake() changes the state without the mutex
 *   IDLE_FIRST    a task looks whether the list is empty before it has the mutex
 */

#define ENTRIES 4
#define WAITS 2 /* entries that wait */

mtype = { idle, running, suspended_state };

mtype now = idle;
bool suspended;
bool mutex;
byte pushed;   /* entries of the list and of the task */
byte done;     /* entries that are behind us */
bool called;   /* the function of entry done + 1 has been called: a wait is left of it */
byte started;  /* operations */
byte word;
byte tasks;    /* tasks that are started and have not begun */
byte at_work;   /* tasks that run */

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

#define WAITS_STILL (called && word < done + 1)

proctype pusher() {
    bool starts;
    byte k = 0;
    do
    :: k == ENTRIES -> break
    :: else ->
        lock();
        pushed++;
        starts = now == idle;
        if
        :: starts -> now = running
        :: else
        fi;
        unlock();
        if
        :: starts -> tasks++
        :: else
        fi;
        k++
    od
}

/* Completes the operation of entry k. */
proctype completer(byte k) {
    bool starts;
    started >= k;
    atomic { /* the done word is set under the mutex of the stream's queue, and never back */
        if
        :: word < k -> word = k
        :: else
        fi
    };
    if
    :: suspended ->
#ifndef NO_MUTEX
        lock();
#endif
#ifdef NO_STATE
        starts = !WAITS_STILL;
#else
        starts = now == suspended_state && !WAITS_STILL;
#endif
        if
        :: starts -> now = running; suspended = false
        :: else
        fi;
#ifndef NO_MUTEX
        unlock();
#endif
        if
        :: starts -> tasks++
        :: else
        fi
    :: else
    fi
}

proctype worker() {
    byte end; /* of the entries that the task has taken */
    bool waits;
    bool none;
end_of_time:
    do
    :: atomic { tasks > 0 -> tasks-- };
        at_work++;
        assert(at_work == 1);
        end = done;
        do
        :: waits = WAITS_STILL;
            if
            :: end == done || waits ->
#ifdef IDLE_FIRST
                none = pushed == done;
                lock();
#else
                lock();
                none = pushed == done;
#endif
                if
                :: end == done ->
                    if
                    :: none -> now = idle; at_work--; unlock(); break
                    :: else -> end = pushed; unlock()
                    fi
                :: else ->
#ifdef FLAG_LAST
                    waits = WAITS_STILL;
                    suspended = true;
#else
                    suspended = true;
#ifdef NOT_AGAIN
                    waits = true;
#else
                    waits = WAITS_STILL;
#endif
#endif
                    if
                    :: waits -> now = suspended_state; at_work--; unlock(); break
                    :: else -> suspended = false; unlock()
                    fi
                fi
            :: else ->
                if
                :: !called ->
                    assert(started <= done);
                    if
                    :: done < WAITS -> started = done + 1; called = true
                    :: else -> done++
                    fi
                :: else ->
                    assert(word >= done + 1);
                    atomic { called = false; done++ }
                fi
            fi
        od
    od
}

init {
    atomic {
        run pusher();
        run completer(1);
        run completer(2);
        run worker();
        run worker()
    };
    timeout -> assert(done == ENTRIES && now == idle && at_work == 0 && tasks == 0)
}
