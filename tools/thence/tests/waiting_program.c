/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of Thence: rank 1 comes late to calls that rank 0 waits in.
   usage: waiting_program CALL[,CALL...] MILLISECONDS
   A CALL is send, ssend, probe, recv, waitall, barrier, allreduce, dup, window, file or, as the last one, finalize. For
   each one rank 0 prints the milliseconds of processor time that the call took it, and how often Thence has yielded or
   slept in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { size = 1 << 22 };
static char large[size]; /* a message that must wait for its receiver */
static int data = 1, other = 0, rank = 0;

static long yields = 0, sleeps = 0;

/* Whether the main thread calls from a library of Thence. */
static int is_of_thence(const void *where) {
    Dl_info found;
    return syscall(SYS_gettid) == getpid() && dladdr(where, &found) != 0 &&
           strstr(found.dli_fname, "libthence") != NULL;
}

/* These two stand in place of the system's. */
int sched_yield(void) {
    yields += is_of_thence(__builtin_return_address(0));
    return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    sleeps += is_of_thence(__builtin_return_address(0));
    const int code = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = code == 0 ? errno : code;
    return code == 0 ? 0 : -1;
}

static double processor_milliseconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1e3 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-3 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void send_large(void) {
    if (rank == 0) {
        MPI_Send(large, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(large, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void send_synchronously(void) {
    if (rank == 0) {
        MPI_Ssend(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&other, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void probe(void) {
    if (rank == 0) {
        MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&other, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

static void receive(void) {
    if (rank == 0) {
        MPI_Recv(&other, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

static void wait_for_all(void) {
    MPI_Request requests[2];
    if (rank < 2) {
        MPI_Irecv(&other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&data, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce(void) {
    MPI_Allreduce(&data, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void duplicate(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void create_window(void) {
    MPI_Win window;
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
}

static void open_file(void) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "waiting_program.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_close(&file);
}

static void finalize(void) {
    MPI_Finalize();
}

static const struct {
    const char *name;
    void (*make)(void);
} calls[] = {{"send", send_large},      {"ssend", send_synchronously}, {"probe", probe},      {"recv", receive},
             {"waitall", wait_for_all}, {"barrier", barrier},          {"allreduce", reduce}, {"dup", duplicate},
             {"window", create_window}, {"file", open_file},           {"finalize", finalize}};
enum { number_of_calls = sizeof calls / sizeof calls[0] };

int main(int argc, char **argv) {
    int finalized = 0;
    if (argc != 3) {
        fputs("usage: waiting_program CALL[,CALL...] MILLISECONDS\n", stderr);
        return 2;
    }
    const long late = atol(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        int i = 0;
        while (i < number_of_calls && strcmp(calls[i].name, name) != 0) {
            ++i;
        }
        if (i == number_of_calls || finalized) {
            fprintf(stderr, "waiting_program: there is no call %s\n", name);
            return 2;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double before = processor_milliseconds();
        const long yields_before = yields, sleeps_before = sleeps;
        if (rank == 1) {
            const struct timespec pause = {late / 1000, late % 1000 * 1000000};
            nanosleep(&pause, NULL);
        }
        calls[i].make();
        finalized = calls[i].make == finalize;
        if (rank == 0) {
            printf("used %s %.1f ms\n", name, processor_milliseconds() - before);
            printf("of Thence in %s: %ld yields, %ld sleeps\n", name, yields - yields_before, sleeps - sleeps_before);
            fflush(stdout);
        }
    }
    if (!finalized) {
        MPI_Finalize();
    }
    return 0;
}
