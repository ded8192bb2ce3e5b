/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A continuation that waits for a continuation request (CR) to become idle is notified exactly once, in every race of
 * its registration with the CR's last continuation, new registrations and the freeing of the handle. The CR's slot is
 * recycled exactly once, after its last use.
 *
 * As in src/core/continuation/request.hpp and src/core/continuation/request.cpp (drop, became_idle, notify_waiters,
 * add_waiter): `references` holds 1 for the handle and 2 per registered continuation. The waiter sets its flag and then
 * reads the references. A thread that drops a reference reads the flag afterwards.
 *
 * Mutations, each of which must be found:
 *   LOOK_FIRST    the waiter reads the references before it sets its flag
 *   FLAG_FIRST    a thread that drops a reference reads the flag before it drops
 *   NO_MUTEX      the waiter is removed without the mutex
 */

#ifndef LEAVERS
#define LEAVERS 2
#endif

byte references = 1 + 2 * LEAVERS;
bool has_waiters;
bool waiting;       /* the operation is in the list */
byte notified;      /* by a notification, or by add_waiter() */
byte recycled;
bool mutex;
bool freed;         /* the handle is freed; the user may also keep it */

inline lock() {
#ifndef NO_MUTEX
    atomic { !mutex -> mutex = true }
#else
    skip
#endif
}
inline unlock() { mutex = false }

inline notify() {
    if
    :: has_waiters ->
        lock();
        if
        :: references < 2 ->
            taken = waiting;
            waiting = false;
            has_waiters = false
        :: else
        fi;
        unlock();
        if
        :: taken -> notified++; assert(notified == 1); taken = false
        :: else
        fi
    :: else
    fi
}

inline drop(n) {
#ifdef FLAG_FIRST
    flag = has_waiters;
    atomic { references = references - n; left = references };
#else
    atomic { references = references - n; left = references };
    flag = has_waiters;
#endif
    if
    :: left < 2 && (left == 0 || flag) ->
        notify();
        if
        :: left == 0 -> recycled++; assert(recycled == 1)
        :: else
        fi
    :: else
    fi
}

/* A continuation of the CR has run. One of the continuations registered another one before it ended. */
proctype leaver(bool registers) {
    byte left;
    bool flag;
    bool taken;
    if
    :: registers -> atomic { references = references + 2 }; drop(2)
    :: else
    fi;
    drop(2)
}

/* thence_attach() with the CR as operation; afterwards the user frees the CR. */
proctype waiter() {
    byte left;
    bool flag;
    bool taken;
    bool idle;
#ifdef LOOK_FIRST
    idle = references < 2;
#endif
    lock();
    waiting = true;
    has_waiters = true;
#ifndef LOOK_FIRST
    idle = references < 2;
#endif
    if
    :: idle -> waiting = false; has_waiters = false
    :: else
    fi;
    unlock();
    if
    :: idle -> notified++; assert(notified == 1)
    :: else
    fi;
    if
    :: freed = true; drop(1)
    :: skip
    fi
}

init {
    byte i;
    atomic {
        run waiter();
        for (i : 1 .. LEAVERS) {
            run leaver(i == 1)
        }
    };
    timeout -> assert(notified == 1 && recycled == freed && references == 1 - freed)
}
