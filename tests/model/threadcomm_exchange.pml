/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives in shared memory: each rank reads the contributions of the others to its own epoch, never those to
 * another, nothing is written while it may be read, nobody leaves a barrier before all have arrived, and nobody waits
 * for ever.
 *
 * As in src/mpix/threadcomm/shared_exchange.hpp: before a rank writes buffer k mod 2 of its slot it waits until all
 * have arrived at epoch k - 1; then it writes, sets its number to k, and reads the buffers k mod 2 of ranks that have
 * arrived at epoch k. An epoch is a barrier or reduction (all are read) or a broadcast from rank 0 (the others read it,
 * and it reads nobody). Which, is the same on all ranks and any sequence is tried. A write takes two steps, so that a
 * reader could see it half done.
 *
 * Mutations, each of which must be found:
 *   NO_OPEN       a rank writes without waiting for those of the round before
 *   ONE_HALF      all rounds use the same half
 *   COME_FIRST    a rank sets its number before it writes
 *   NOT_ALL       a barrier does not wait for the last rank
 */

#define RANKS 3
#define ROUNDS 4

byte number[RANKS];
byte first[RANKS * 2];  /* the two parts of what a rank brings; */
byte second[RANKS * 2]; /* each is the round */
byte entered[RANKS];    /* the round that a rank has called */
bool broadcasts[ROUNDS + 1];

#ifdef ONE_HALF
#define HALF(rank, round) ((rank) * 2)
#else
#define HALF(rank, round) ((rank) * 2 + (round) % 2)
#endif

inline wait_for_all(least) {
    i = 0;
    do
    :: i < RANKS -> number[i] >= least; i++
    :: else -> break
    od
}

inline read(other) {
    number[other] >= k;
    assert(first[HALF(other, k)] == k);
    assert(second[HALF(other, k)] == k)
}

proctype rank(byte me) {
    byte k = 1;
    byte i;
    do
    :: k > ROUNDS -> break
    :: else ->
        entered[me] = k;
#ifndef NO_OPEN
        wait_for_all(k - 1);
#endif
#ifdef COME_FIRST
        number[me] = k;
#endif
        first[HALF(me, k)] = k;
        second[HALF(me, k)] = k;
#ifndef COME_FIRST
        number[me] = k;
#endif
        if
        :: broadcasts[k] && me != 0 -> read(0)
        :: broadcasts[k] && me == 0 -> skip
        :: !broadcasts[k] ->
            i = 0;
            do
#ifdef NOT_ALL
            :: i < RANKS - 1 -> read(i); i++
#else
            :: i < RANKS -> read(i); i++
#endif
            :: else -> break
            od;
            i = 0;
            do
            :: i < RANKS -> assert(entered[i] >= k); i++
            :: else -> break
            od
        fi;
        k++
    od
}

init {
    byte round;
    for (round : 1 .. ROUNDS) {
        if
        :: broadcasts[round] = true
        :: broadcasts[round] = false
        fi
    };
    atomic {
        run rank(0);
        run rank(1);
        run rank(2)
    };
    (_nr_pr == 1);
    assert(number[0] == ROUNDS && number[1] == ROUNDS && number[2] == ROUNDS)
}
