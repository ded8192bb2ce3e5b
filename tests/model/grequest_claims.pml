/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A generalized request with a poll function: MPI is told once that it is complete, no poll function runs from then on,
 * no two run at a time, and the object is given back once, when nobody uses it any more.
 *
 * As in src/mpix/grequest/request.cpp (complete, poll_claimed, end_claim, release): two threads pass over the list,
 * another one may call MPI_Grequest_complete, or the poll function does. Without libthence that call in the poll
 * function does not come to us: the request is then complete when the function returns. MPI calls release() once, when
 * the request is complete and the program has no handle of it; that may be before the poll function has returned.
 * MPI_Finalize (src/mpix/grequest/source.cpp: tear_down; forget_all) empties the list while threads may poll. What
 * nobody has completed by then has failed, so that no wait hangs.
 *
 * Mutations, each of which must be found:
 *   TELL_WHILE_CLAIMED   MPI is told although a poll function runs
 *   NOT_DONE             who tells MPI does not take the request out of the list
 *   NO_CLAIM             a thread calls the poll function although another one does
 *   GIVE_WHILE_CLAIMED   release() gives the object back although it is claimed
 *   UNSEEN               nobody looks whether the request is complete when the poll function has returned
 *   FORGET_CLAIMED       MPI_Finalize gives up a request that is claimed, as one without a poll function
 */

#define PASSES 2

bool listed = true;
bool claimed;
bool released;
bool is_done;
bool wanted;      /* completion_wanted */
byte running;     /* poll functions */
byte told;        /* how often MPI was told */
bool by_us;       /* that came through us */
bool asked;       /* the program has called MPI_Grequest_complete, which it may do once */
byte given;       /* how often the object was given back */
bool finalized;   /* the list is emptied for good */

inline mark_done() { is_done = true; listed = false }
inline tell() { told++; assert(told == 1) }
inline give() { given++; assert(given == 1) }

/* All under the lock of the room is one step. */
proctype passing() {
    bool mine;
    bool unseen;
    bool telling;
    byte i = 0;
    do
    :: i == PASSES -> break
    :: else ->
        atomic {
#ifdef NO_CLAIM
            mine = listed;
#else
            mine = listed && !claimed;
#endif
            if
            :: mine -> claimed = true; assert(given == 0)
            :: else
            fi
        };
        if
        :: mine ->
            assert(told == 0);
            running++;
            assert(running == 1);
            if
            :: atomic { !asked -> asked = true }; /* MPI_Grequest_complete in it, which comes to us: */
                wanted = true                    /* `polling` names the request */
            :: atomic { !asked -> asked = true }; tell() /* or does not */
            :: skip
            fi;
            assert(given == 0);
            running--;
            unseen = false;
#ifndef UNSEEN
            if
            :: !wanted -> unseen = told != 0
            :: else
            fi;
#endif
            telling = false;
            atomic { /* end_claim */
                assert(given == 0);
                claimed = false;
                if
                :: released -> released = false; give()
                :: !released && (is_done || unseen) -> mark_done()
                :: !released && !is_done && !unseen && wanted -> mark_done(); telling = true
                :: !released && !is_done && !unseen && !wanted && !listed -> /* forgotten */
                    wanted = true;
                    mark_done();
                    telling = true
                :: else
                fi
            };
            if
            :: telling -> by_us = true; tell()
            :: else
            fi
        :: else
        fi;
        i++
    od
}

/* MPI_Grequest_complete on another thread, with libthence. */
proctype completer() {
    bool telling = false;
    if
    :: atomic { !asked -> asked = true };
        atomic {
            if
#ifndef TELL_WHILE_CLAIMED
            :: claimed -> wanted = true
#else
            :: false
#endif
            :: is_done && wanted /* MPI has been told */
            :: else ->
                telling = true;
#ifndef NOT_DONE
                mark_done()
#endif
            fi
        };
        if
        :: telling -> by_us = true; tell()
        :: else
        fi
    :: skip
    fi
}

/* A wait of the program, which ends with the completion; or the program has freed its handle. */
proctype mpi() {
    if
    :: told != 0 ->
        atomic { /* release() */
            mark_done();
            if
#ifndef GIVE_WHILE_CLAIMED
            :: claimed -> released = true
#endif
            :: else -> give()
            fi
        }
    :: timeout /* nobody has completed it */
    fi
}

/* MPI_Finalize, unless the program goes on. */
proctype finalize() {
    bool telling = false;
    if
    :: atomic { finalized = true; listed = false };
        atomic {
            if
            :: is_done
            :: !is_done && claimed ->
#ifdef FORGET_CLAIMED
                mark_done()
#else
                skip
#endif
            :: else ->
                wanted = true;
                mark_done();
                telling = true
            fi
        };
        if
        :: telling -> by_us = true; tell()
        :: else
        fi
    :: skip
    fi
}

init {
    atomic {
        run passing();
        run passing();
        run completer();
        run finalize();
        run mpi()
    };
    (_nr_pr == 1);
    assert(running == 0 && !claimed);
    assert(given == told);
    assert(told != 0 || (!wanted && !finalized))
}
