/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs that know nothing of Thence, and do what is unusual.
   usage: unusual_program CASE
   Exit status 7 if all went as it should. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { size = 1 << 18 };
static char out[size], in[size];
static int rank, ranks;

/* A message to the next rank, beside a computation of 20 ms. @return whether it is right. */
static int exchange(MPI_Comm comm) {
    MPI_Request requests[2];
    memset(out, rank + 1, size);
    MPI_Irecv(in, size, MPI_BYTE, (rank + ranks - 1) % ranks, 0, comm, &requests[0]);
    MPI_Isend(out, size, MPI_BYTE, (rank + 1) % ranks, 0, comm, &requests[1]);
    for (double end = MPI_Wtime() + 0.02; MPI_Wtime() < end;) {
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return in[0] == (rank + ranks - 1) % ranks + 1 && in[size - 1] == in[0];
}

static int child_ends_with(int status, pid_t child) {
    int found = 0;
    return child > 0 && waitpid(child, &found, 0) == child && WIFEXITED(found) && WEXITSTATUS(found) == status;
}

/* Children that make no call of MPI, while a message is outstanding. */
static int forks(void) {
    int right = 1;
    for (int round = 0; round < 5; ++round) {
        MPI_Request request;
        MPI_Irecv(in, size, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
        usleep(2000); /* the helper makes progress */
        const pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            _exit(5);
        }
        right = right && child_ends_with(5, child);
        MPI_Send(out, size, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return right;
}

/* Nonblocking operations on a file of its own: MPIs at MPI_THREAD_SINGLE need no lock for them. */
static int writes_and_reads(void) {
    int right = 1;
    char name[64];
    snprintf(name, sizeof name, "/tmp/thence-unusual-%d", (int)getpid());
    for (int round = 0; round < 300; ++round) {
        MPI_File file;
        if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &file) != MPI_SUCCESS) {
            return 0;
        }
        for (int i = 0; i < 20; ++i) {
            MPI_Request requests[2];
            MPI_File_iwrite_at(file, 0, out, 8000, MPI_BYTE, &requests[0]);
            MPI_File_iread_at(file, 0, in, 8000, MPI_BYTE, &requests[1]);
            for (double end = MPI_Wtime() + 50e-6; MPI_Wtime() < end;) { /* computes: the helper may make progress */
            }
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        right = MPI_File_close(&file) == MPI_SUCCESS && right;
    }
    return right && exchange(MPI_COMM_WORLD);
}

/* A child that becomes a program without MPI. */
static int execs(void) {
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
        _exit(1);
    }
    return child_ends_with(6, child);
}

static MPI_Request asked = MPI_REQUEST_NULL;
static volatile sig_atomic_t calls = 0, complete = 0;
static pthread_t main_thread;

static void ask(int signal) {
    int flag = 0;
    if (!pthread_equal(pthread_self(), main_thread)) { /* one of MPI's own */
        pthread_kill(main_thread, signal);
        return;
    }
    if (!complete) {
        MPI_Test(&asked, &flag, MPI_STATUS_IGNORE);
        complete = flag;
    }
    ++calls;
}

/* Calls of MPI in a signal handler, at MPI_THREAD_SINGLE: allowed while the thread itself is in none. */
static int signals(void) {
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action;
    main_thread = pthread_self();
    memset(&action, 0, sizeof action);
    memset(in, 0, size);
    action.sa_handler = ask;
    MPI_Irecv(in, size, MPI_BYTE, (rank + ranks - 1) % ranks, 2, MPI_COMM_WORLD, &asked);
    MPI_Request request;
    MPI_Isend(out, size, MPI_BYTE, (rank + 1) % ranks, 2, MPI_COMM_WORLD, &request);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (calls < 20) { /* computes */
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&asked, MPI_STATUS_IGNORE);
    return in[size - 1] == (rank + ranks - 1) % ranks + 1;
}

/* The tools interface, before MPI_Init and after it. @return how many variables there are; 0 if a call fails. */
static int variables(void) {
    int controls = 0, performance = 0, name = 0;
    const int right = MPI_T_cvar_get_num(&controls) == MPI_SUCCESS && MPI_T_pvar_get_num(&performance) == MPI_SUCCESS;
    for (int i = 0; right && i < controls && i < 50; ++i) {
        char text[200], about[200];
        int about_size = sizeof about, level, binding, scope;
        MPI_Datatype type;
        MPI_T_enum of;
        name = sizeof text;
        MPI_T_cvar_get_info(i, text, &name, &level, &type, &of, about, &about_size, &binding, &scope);
    }
    return right ? controls + performance : 0;
}

#if MPI_VERSION >= 4
static int sessions(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int right = 0;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS) {
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "thence.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        right = exchange(comm);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
    }
    return right;
}
#else
static int sessions(void) {
    return 1; /* this MPI has none */
}
#endif

/* A buffered message, and an operation that waits until it is sent. @return the number of operations of that. */
static int flushes_buffer(int *right) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    static char room[1000 + MPI_BSEND_OVERHEAD];
    MPI_Request requests[2];
    void *detached = NULL;
    int bytes = 0;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Irecv(in, 1000, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Bsend(out, 1000, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
    MPI_Buffer_iflush(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Buffer_flush();
    MPI_Buffer_detach(&detached, &bytes);
    *right = *right && in[999] == out[999];
    return 2;
#else
    (void)right;
    return 0; /* this MPI has none */
#endif
}

static int handled = 0;
static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    ++handled;
}

/* A program that goes on where MPI has no windows. Its error handler is called once, and stays its own. */
static int window_or_none(void) {
    static int memory[4];
    MPI_Errhandler own, found;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    const int code = MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    int right = found == own && handled == (code != MPI_SUCCESS);
    printf("window %s\n", code == MPI_SUCCESS ? "created" : "refused");
    if (code == MPI_SUCCESS) {
        MPI_Win_free(&window);
    }
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&own);
    return right;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int right = 0;
    if (strcmp(what, "no-init") == 0) {
        int initialized = 1;
        MPI_Initialized(&initialized);
        return initialized ? 1 : 7;
    }
    if (strcmp(what, "sessions") == 0) {
        return sessions() ? 7 : 1;
    }
    if (strcmp(what, "become") == 0) { /* a program of MPI, before MPI_Init */
        execl("/proc/self/exe", argv[0], "exchange", (char *)NULL);
        return 1;
    }
    const int asks_tools = strcmp(what, "tools") == 0;
    int provided = 0;
    const int before = asks_tools && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS ? variables() : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = exchange(MPI_COMM_WORLD);
    if (strcmp(what, "fork") == 0) {
        right = right && forks();
    } else if (strcmp(what, "exec") == 0) {
        right = right && execs();
    } else if (strcmp(what, "files") == 0) {
        right = right && writes_and_reads();
    } else if (strcmp(what, "buffers") == 0) {
        printf("operations %d\n", 2 + flushes_buffer(&right));
    } else if (strcmp(what, "signals") == 0) {
        right = right && signals();
    } else if (strcmp(what, "window") == 0) {
        right = right && window_or_none();
    } else if (asks_tools) {
        right = right && before > 0 && variables() >= before && exchange(MPI_COMM_WORLD);
        right = MPI_T_finalize() == MPI_SUCCESS && right;
    } else if (strcmp(what, "abort") == 0) {
        MPI_Request request;
        MPI_Irecv(in, size, MPI_BYTE, (rank + 1) % ranks, 9, MPI_COMM_WORLD, &request); /* it stays outstanding */
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (strcmp(what, "kill") == 0) {
        MPI_Request request;
        MPI_Irecv(in, size, MPI_BYTE, (rank + 1) % ranks, 9, MPI_COMM_WORLD, &request);
        raise(SIGKILL);
    } else if (strcmp(what, "abort-beside") == 0 || strcmp(what, "kill-beside") == 0) {
        if (rank == 1) { /* the others wait */
            usleep(300000);
            if (what[0] == 'k') {
                raise(SIGKILL);
            }
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI_Recv(in, size, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return right ? 7 : 1;
}
