/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that waits in submit() is resumed once, as soon as few of its siblings' tasks are open, or no task runs or
 * is ready: in every race with tasks that end, on workers that go on and on those that leave, and with tasks that are
 * completed by threads that run no tasks.
 *
 * As in src/dataflow/task.hpp (open), src/dataflow/waiting.cpp (throttle, resume_throttled), src/dataflow/flow.cpp
 * (count_child_down), src/dataflow/task_scheduler.cpp (ran, tell_if_idle, suspend_here) and src/tbb/workers/loop.hpp
 * (run_and_unlock). One scope has a counter of open tasks and a flag in one word; a list has those that wait, under a
 * lock of its own; a counter of running tasks is under the scheduler's lock. One submitter is a task, the other one is
 * a thread of the program. Critical sections are atomic here. Another task runs beside them, perhaps for ever: then
 * only the number of open tasks can end the wait. tests/dataflow/schedules runs the real sources.
 *
 * Mutations, each of which must be found:
 *   LEAVES_SILENTLY    a worker that leaves does not tell that no task runs
 *   SUSPENDS_SILENTLY  a task that is suspended does not tell that no task runs
 *   COMPLETES_SILENTLY a thread that completes a task looks at no flag
 *   IDLE_FIRST         who waits asks whether a task runs before it is counted as waiting
 *   COUNT_FIRST        who waits reads the number of open tasks before it sets the flag
 *   LIMIT_OF_OWNER     the number of open tasks counts the owner of the scope too
 */

#define MANY 1      /* more are too many */
#define COMPLETERS 3

/* The scope. */
byte open = 1;
bool flag;
byte threads;       /* that are throttled in it */
/* The list. */
bool listed[2];
bool resumed[2];
byte listed_now;
/* The scheduler. */
byte running;
byte waiters;
bool lasts;         /* the other task never ends */
byte ended;

#ifdef LIMIT_OF_OWNER
#define few(n) ((n) + 1 <= MANY / 2)
#else
#define few(n) ((n) <= MANY / 2)
#endif

#define idle_now (running == 0) /* and no task is ready: both change under the same lock */

/* The list's lock is held over all, but others change `open` meanwhile. */
inline look_at(n, all) {
    atomic {
        if
        :: listed[n] && (all || few(open)) ->
            listed[n] = false;
            waiters--;
            taken[n] = true;
            threads--;
            if
            :: threads == 0 -> flag = false
            :: else
            fi
        :: else
        fi
    }
}
inline resume(n) {
    if
    :: taken[n] -> assert(!resumed[n]); resumed[n] = true; taken[n] = false
    :: else
    fi
}
inline resume_throttled(all) {
    list_lock ? 0;
    look_at(0, all);
    look_at(1, all);
    atomic { list_lock ! 0; resume(0); resume(1) }
}
chan list_lock = [1] of { bit };

inline tell_if_idle(now_idle) {
    if
    :: now_idle && waiters != 0 -> resume_throttled(true)
    :: else
    fi
}

inline count_down() {
    atomic { open > 0 -> open--; left = open; flagged = flag };
#ifndef COMPLETES_SILENTLY
    if
    :: flagged && few(left) -> resume_throttled(false)
    :: else
    fi
#endif
}

inline throttle(me) {
#ifdef IDLE_FIRST
    is_idle = idle_now;
#endif
    waiters++;
    atomic { list_lock ? 0; listed[me] = true; threads++ };
#ifdef COUNT_FIRST
    left = open;
    atomic { flag = true; list_lock ! 0 };
#else
    atomic { left = open; flag = true; list_lock ! 0 };
#endif
#ifndef IDLE_FIRST
    is_idle = idle_now;
#endif
    if
    :: is_idle || few(left) -> resume_throttled(is_idle)
    :: else
    fi;
end_waits:
    resumed[me] -> skip
}

/* Submits one task, which nobody completes. */
proctype submitter(bit me; bool is_task) {
    byte left;
    bool taken[2];
    bool is_idle;
    bool too_many;
    atomic { open++; too_many = open > MANY };
    if
    :: too_many ->
        is_idle = idle_now;
        if
        :: is_idle
        :: else ->
            if
            :: is_task -> /* suspend_here */
                atomic { running--; is_idle = idle_now };
                tell_if_idle(is_idle)
            :: else
            fi;
            throttle(me);
            if
            :: is_task -> running++
            :: else
            fi
        fi
    :: else
    fi;
    if
    :: is_task ->
        atomic { running--; is_idle = idle_now };
        tell_if_idle(is_idle)
    :: else
    fi;
    ended++
}

/* May complete a task whose body has ended: lowers its events. */
proctype completer() {
    byte left;
    bool taken[2];
    bool flagged;
    if
    :: true
    :: count_down()
    fi
}

/* The other task: it lasts, or its thread goes on, or it is suspended (in taskwait, or blocked), or its thread
 * leaves. */
proctype worker() {
    bool taken[2];
    bool is_idle;
    if
    :: lasts = true
    :: true ->
        atomic { running--; is_idle = idle_now };
        if
        :: true -> tell_if_idle(is_idle)
        :: true ->
#ifndef SUSPENDS_SILENTLY
            tell_if_idle(is_idle)
#else
            skip
#endif
        :: true ->
#ifndef LEAVES_SILENTLY
            tell_if_idle(is_idle)
#else
            skip
#endif
        fi
    fi
}

init {
    byte i;
    list_lock ! 0;
    atomic {
        running = 2; /* the other task and the submitter that is one */
        run submitter(0, true);
        run submitter(1, false);
        run worker();
        for (i : 1 .. COMPLETERS) {
            run completer()
        }
    };
    /* Nothing happens any more. Whoever waits does so rightly. */
    timeout -> assert(ended == 2 || (lasts && open > MANY / 2));
    assert(!lasts || running != 0)
}
