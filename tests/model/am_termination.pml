/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of all active messages: when two waves say that nothing is left, nothing is.
 *
 * As in src/am/termination.hpp and src/am/quiescence.cpp.
 *
 * Three processes, and at most four messages. A process counts a message in `sent` before it is under way, and in
 * `handled` after its handler has returned, which may send. A wave adds the counts of all processes, which are read at
 * any time, in any order, after the result of the wave before is known.
 *
 * Mutations, each of which must be found:
 *   ONE_WAVE       the counts of one wave are compared
 *   SENT_LATE      a message is counted in `sent` after it is under way
 *   HANDLED_FIRST  a message is counted in `handled` before its handler has sent
 */

#define N 3

byte sent[N];
byte handled[N];
byte under_way[N];
byte left = 3; /* messages that handlers may send */
byte running;  /* handlers */
bool quiet;

inline send(to) {
#ifdef SENT_LATE
    under_way[to]++;
    sent[i]++
#else
    sent[i]++;
    under_way[to]++
#endif
}

proctype process(byte i) {
    do
    :: atomic { under_way[i] > 0 -> under_way[i]--; running++ }
#ifdef HANDLED_FIRST
        handled[i]++;
#endif
        do
        :: atomic { left > 0 -> left-- }
            if
            :: send(0)
            :: send(1)
            :: send(2)
            fi
        :: break
        od;
        atomic {
#ifndef HANDLED_FIRST
            handled[i]++;
#endif
            running--
        }
    :: quiet -> break
    od
}

proctype waves() {
    byte all_sent;
    byte all_handled;
    byte handled_before;
    bool has_one;
    bool given[N];
    byte count;
    do
    :: quiet -> break
    :: else ->
        all_sent = 0;
        all_handled = 0;
        count = 0;
        do
        :: !given[0] -> atomic { all_handled = all_handled + handled[0]; all_sent = all_sent + sent[0]; given[0] = true; count++ }
        :: !given[1] -> atomic { all_handled = all_handled + handled[1]; all_sent = all_sent + sent[1]; given[1] = true; count++ }
        :: !given[2] -> atomic { all_handled = all_handled + handled[2]; all_sent = all_sent + sent[2]; given[2] = true; count++ }
        :: count == N -> break
        od;
        atomic { given[0] = false; given[1] = false; given[2] = false }
        if
#ifdef ONE_WAVE
        :: all_sent <= all_handled ->
#else
        :: has_one && all_sent <= handled_before ->
#endif
            assert(running == 0 && under_way[0] == 0 && under_way[1] == 0 && under_way[2] == 0);
            quiet = true
        :: else -> has_one = true; handled_before = all_handled
        fi
    od
}

init {
    atomic {
        sent[0] = 1;
        under_way[1] = 1;
        run process(0);
        run process(1);
        run process(2);
        run waves()
    }
}
