/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that the tests of this folder run: each case produces a situation that a report or a timeline must show.
 * The driver (drive.py) looks up the lines with a MARK comment in this source and expects their numbers in the report.
 */
#define _POSIX_C_SOURCE 200809L
#include <thence/mpix_continue_forum.h>
#include <thence/thence.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static atomic_int done; /* the helper runs callbacks, too */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* Inlined, so that the first instruction of count_it() belongs to this function. The report must name count_it(). */
static inline __attribute__((always_inline)) void count_one(void) {
    ++done;
}

static int count_it(int error, MPI_Status *statuses, void *data) {
    count_one();
    (void)error;
    (void)statuses;
    (void)data;
    return MPI_SUCCESS;
}

static int sleeps_in_callback(int error, MPI_Status *statuses, void *data) {
    nap(1.0); /* MARK callback */
    return count_it(error, statuses, data);
}

static int forum_callback(int error, void *data) {
    return count_it(error, NULL, data);
}

static MPI_Request new_cr(unsigned flags) {
    MPI_Request cr;
    thence_cr_create(flags, -1, MPI_INFO_NULL, &cr);
    return cr;
}

/* Tests `cr` until it is complete or the time is over. */
static int test_for(MPI_Request *cr, double seconds) {
    int flag = 0;
    for (const double end = now() + seconds; flag == 0 && now() < end; nap(0.001)) {
        thence_test(cr, &flag, MPI_STATUS_IGNORE);
    }
    return flag;
}

static int buffers[8];

static void receive_from(int source, int tag, MPI_Request cr) {
    MPI_Request request;
    int flag;
    MPI_Irecv(&buffers[tag % 8], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, count_it, NULL, 0, MPI_STATUS_IGNORE, cr, &flag); /* MARK receive */
}

/* Receives whose messages are sent only after one second. Says how long it was: on a busy machine it is more. */
static int late(void) {
    MPI_Request cr = new_cr(0);
    const double begin = now();
    for (int tag = 0; tag < 3; ++tag) {
        receive_from(rank, tag, cr);
    }
    MPI_Request pair[2], persistent;
    int flag, value = 7;
    MPI_Irecv(&buffers[3], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &pair[0]);
    MPI_Isend(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &pair[1]);
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    MPI_Irecv(&buffers[3], 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &pair[0]);
    MPI_Recv_init(&buffers[5], 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &persistent);
    MPI_Start(&persistent);
    thence_attach(2, pair, count_it, NULL, 0, MPI_STATUSES_IGNORE, cr, &flag);                      /* MARK pair */
    thence_attach(1, &persistent, count_it, NULL, THENCE_PERSISTENT, MPI_STATUS_IGNORE, cr, &flag); /* MARK kept */
    MPI_Request outer = new_cr(THENCE_CR_POLL_ONLY), inner = cr;
    thence_attach(1, &inner, count_it, NULL, 0, MPI_STATUS_IGNORE, outer, &flag); /* MARK outer */
    test_for(&cr, 1.0);
    for (int tag = 0; tag < 6; ++tag) {
        if (tag != 3) {
            MPI_Send(&value, 1, MPI_INT, rank, tag, MPI_COMM_WORLD);
        }
    }
    const int complete = test_for(&cr, 10) && test_for(&outer, 10);
    printf("stalled for %.3f s\n", now() - begin);
    nap(1.0); /* time for the stall detector to report the end of the stall */
    MPI_Request_free(&persistent);
    thence_free(&cr);
    thence_free(&outer);
    return complete && done == 6 ? 0 : 1;
}

/* Two complete operations: the poll-only CR of one is not tested, the CR of the other is not started. */
static int untested(void) {
    MPI_Request cr = new_cr(THENCE_CR_POLL_ONLY), idle = new_cr(THENCE_CR_NEEDS_START), request;
    int flag, value = 7;
    receive_from(rank, 0, cr);
    MPI_Irecv(&buffers[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, count_it, NULL, 0, MPI_STATUS_IGNORE, idle, &flag); /* MARK unstarted */
    MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    for (const double end = now() + 1.0; now() < end; nap(0.001)) {
        thence_progress();
    }
    const int before = done;
    thence_start(&idle);
    const int complete = test_for(&cr, 10) && test_for(&idle, 10);
    thence_free(&cr);
    thence_free(&idle);
    return complete && before == 0 && done == 2 ? 0 : 1;
}

/* A callback that runs for one second. */
static int slow_callback(void) {
    MPI_Request cr = new_cr(0), request;
    int flag, value = 7;
    MPI_Irecv(&buffers[0], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    thence_attach(1, &request, sleeps_in_callback, NULL, 0, MPI_STATUS_IGNORE, cr, &flag); /* MARK slow */
    MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    const int complete = test_for(&cr, 10);
    thence_free(&cr);
    return complete && done == 1 ? 0 : 1;
}

/* MPI_Finalize is called while continuations are outstanding. */
static int unfinished(void) {
    MPI_Request cr = new_cr(0), forum, request;
    receive_from(rank, 0, cr);
    receive_from(rank, 1, cr);
    MPIX_Continue_init(0, 0, MPI_INFO_NULL, &forum);
    MPI_Irecv(&buffers[2], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request);
    MPIX_Continue(&request, forum_callback, NULL, 0, MPI_STATUS_IGNORE, forum); /* MARK forum */
    return 0;
}

static void print_pid(void) {
    printf("process %ld\n", (long)getpid());
    fflush(stdout);
}

/* Messages go round the ring, each with a continuation, until the last rank kills itself while some are in flight. */
static int killed_in_traffic(void) {
    enum { window = 16 };
    MPI_Request cr = new_cr(0), requests[2 * window];
    static int in[window], out[window];
    int flag;
    print_pid();
    MPI_Barrier(MPI_COMM_WORLD);
    for (const double start = now(); now() < start + 60;) {
        for (int i = 0; i < window; ++i) {
            MPI_Irecv(&in[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[window + i]);
        }
        for (int i = 0; i < 2 * window; ++i) {
            thence_attach(1, &requests[i], count_it, NULL, 0, MPI_STATUS_IGNORE, cr, &flag);
        }
        if (rank == size - 1 && now() > start + 0.3) {
            raise(SIGKILL);
        }
        thence_wait(&cr, MPI_STATUS_IGNORE);
    }
    return 1;
}

/* The last rank raises the signal before it sends. The others wait for its message. */
static int lost_peer(int signal_number) {
    print_pid();
    signal(SIGUSR1, SIG_IGN); /* Hydra sends it to report a failure */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        nap(0.2);
        raise(signal_number);
    }
    MPI_Request cr = new_cr(0);
    receive_from(size - 1, 0, cr);
    thence_wait(&cr, MPI_STATUS_IGNORE); /* the driver kills this process */
    return 1;
}

/* `rounds` pairs of messages to self, each with a continuation. Some are complete when they are attached. */
static int traffic(int rounds, int keep_one) {
    enum { window = 16 };
    MPI_Request cr = new_cr(0), requests[2 * window];
    int in[window], out[window], flag, attached = 0;
    for (int done_rounds = 0; done_rounds < rounds; done_rounds += window) {
        const int n = rounds - done_rounds < window ? rounds - done_rounds : window;
        for (int i = 0; i < n; ++i) {
            MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
            thence_attach(1, &requests[i], count_it, NULL, 0, MPI_STATUS_IGNORE, cr, &flag); /* MARK traffic */
            attached += flag == 0;
        }
        for (int i = 0; i < n; ++i) {
            out[i] = i;
            MPI_Isend(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
            thence_attach(1, &requests[i], count_it, NULL, 0, MPI_STATUS_IGNORE, cr, &flag);
            attached += flag == 0;
        }
        thence_wait(&cr, MPI_STATUS_IGNORE);
    }
    const int right = done == attached;
    if (keep_one != 0) {
        receive_from(rank, 100, cr);
        ++attached;
    }
    printf("attached %d\n", attached);
    fflush(stdout);
    return right ? 0 : 1;
}

/* Receives a few messages from itself. */
static void *short_thread(void *data) {
    enum { few = 4 };
    MPI_Request cr = new_cr(THENCE_CR_ENQUEUE_COMPLETE), request;
    int in[few], out = 1, flag;
    for (int i = 0; i < few; ++i) {
        MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        thence_attach(1, &request, count_it, NULL, 0, MPI_STATUS_IGNORE, cr, &flag);
        MPI_Send(&out, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
    thence_wait(&cr, MPI_STATUS_IGNORE);
    thence_free(&cr);
    return data;
}

/* Runs `count` threads, one after the other. */
static int short_threads(int count) {
    for (int i = 0; i < count; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) {
            return 1;
        }
    }
    printf("attached %d\n", done);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        puts("usage: program CASE    late, untested, slow_callback, unfinished, killed, killed_in_traffic, silent,\n"
             "                       traffic [ROUNDS], traffic_kept [ROUNDS], no_finalize [ROUNDS],\n"
             "                       fork [ROUNDS],\n"
             "                       short_threads [COUNT]");
        return argc < 2 ? 2 : 0;
    }
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *wanted = argv[1];
    const int rounds = argc > 2 ? atoi(argv[2]) : 100;
    int code = 2;
    if (strcmp(wanted, "late") == 0) {
        code = late();
    } else if (strcmp(wanted, "short_threads") == 0) {
        code = short_threads(rounds);
    } else if (strcmp(wanted, "untested") == 0) {
        code = untested();
    } else if (strcmp(wanted, "slow_callback") == 0) {
        code = slow_callback();
    } else if (strcmp(wanted, "unfinished") == 0) {
        code = unfinished();
    } else if (strcmp(wanted, "killed") == 0) {
        code = lost_peer(SIGKILL);
    } else if (strcmp(wanted, "killed_in_traffic") == 0) {
        code = killed_in_traffic();
    } else if (strcmp(wanted, "silent") == 0) {
        code = lost_peer(SIGSTOP);
    } else if (strcmp(wanted, "traffic") == 0) {
        code = traffic(rounds, 0);
    } else if (strcmp(wanted, "traffic_kept") == 0) {
        code = traffic(rounds, 1);
    } else if (strcmp(wanted, "no_finalize") == 0) {
        code = traffic(rounds, 0);
        fflush(stdout);
        exit(code);
    } else if (strcmp(wanted, "fork") == 0) {
        code = traffic(rounds, 0);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            exit(0); /* which calls the functions of atexit() */
        }
        waitpid(child, NULL, 0);
    }
    MPI_Finalize();
    return code;
}
