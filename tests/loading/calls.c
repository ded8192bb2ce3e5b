// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI's calls come to libthence first, as the environment variable EXPECT says: `interposed`, or `not` with a
// part of the text that says to which file they lead, or `communicators` with such a part: then all works but thread
// communicators. Where they do come, they take continuation requests, and a tool that is loaded sees what is passed on.
// Where they do not, the calls that need that return an error that says what to do, and none hangs. A program (PROGRAM
// is defined), or a library that host.c loads.
#define _GNU_SOURCE
#include <thence/task_runtime.h>
#include <thence/thence.h>
#include <thence/threadcomm.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;
static void check(int holds, const char *rule) {
    if (!holds) {
        failed = 1;
        printf("failed: %s\n", rule);
    }
}

static int add_one(int error, MPI_Status *status, void *data) {
    (void)status;
    *(int *)data += error == MPI_SUCCESS ? 1 : 100;
    return MPI_SUCCESS;
}

// A message to itself, received by a continuation that is registered with `cr`.
static void pass(int value, int *received, int *calls, MPI_Request cr) {
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Irecv(received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    check(thence_attach(1, &receive, &add_one, calls, 0, MPI_STATUSES_IGNORE, cr, NULL) == MPI_SUCCESS, "attach");
    MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void check_refused(int code, const char *where, const char *call) {
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    MPI_Error_string(code, text, &length);
    check(error_class == MPI_ERR_UNSUPPORTED_OPERATION, call);
    // On MPICH 4.0 the code has no text.
    check(code == error_class || (strstr(text, "LD_PRELOAD") != NULL && strstr(text, where) != NULL), text);
}

int use_thence(int first, int last) {
    if (first) {
        int level;
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    const char *expected = getenv("EXPECT");
    const int communicators = expected != NULL && strcmp(expected, "interposed") == 0;
    const int interposed = communicators || (expected != NULL && strncmp(expected, "communicators ", 14) == 0);
    const char *where = expected != NULL && strncmp(expected, "not ", 4) == 0 ? expected + 4 : "no such file";
    const char *communicators_where = interposed && !communicators ? expected + 14 : where;
    thence_info info;
    check(thence_query(&info, sizeof info) == MPI_SUCCESS, "query");
    check(info.interposed == interposed, "interposed is true or false as it is");
    check(interposed ? info.interposed_why == NULL
                     : strstr(info.interposed_why, where) != NULL && strstr(info.interposed_why, "LD_PRELOAD") != NULL,
          info.interposed_why != NULL ? info.interposed_why : "why not");

    MPI_Request cr = MPI_REQUEST_NULL;
    int received = 0;
    int calls = 0;
    check(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr) == MPI_SUCCESS, "create");
    pass(41, &received, &calls, cr);
    check(thence_wait(&cr, MPI_STATUS_IGNORE) == MPI_SUCCESS && received == 41 && calls == 1, "thence_wait");
    MPI_Comm threads = MPI_COMM_NULL;
    const int blocking = thence_task_blocking_calls(cr);
    const int made = thence_threadcomm_init(MPI_COMM_SELF, 1, &threads);
    if (communicators) {
        check(made == MPI_SUCCESS && thence_threadcomm_free(&threads) == MPI_SUCCESS, "a thread communicator");
    } else {
        check_refused(made, communicators_where, "a thread communicator is refused");
    }
    if (interposed) {
        check(blocking == MPI_SUCCESS && thence_task_blocking_calls(MPI_REQUEST_NULL) == MPI_SUCCESS, "blocking calls");
        pass(42, &received, &calls, cr);
        check(MPI_Wait(&cr, MPI_STATUS_IGNORE) == MPI_SUCCESS && received == 42 && calls == 2, "MPI_Wait");
        pass(43, &received, &calls, cr);
        check(MPI_Waitall(1, &cr, MPI_STATUSES_IGNORE) == MPI_SUCCESS && received == 43 && calls == 3, "MPI_Waitall");
        check(MPI_Request_free(&cr) == MPI_SUCCESS && cr == MPI_REQUEST_NULL, "MPI_Request_free");
    } else {
        check_refused(blocking, where, "blocking calls are refused");
        check(thence_free(&cr) == MPI_SUCCESS, "free");
    }
    const int *seen = dlsym(RTLD_DEFAULT, "calls_that_the_tool_has_seen");
    check(seen == NULL || *seen >= (interposed ? 3 : 1), "a tool sees the calls of the program");
    if (last) {
        MPI_Finalize();
    }
    printf("%s\n", failed ? "failed" : "passed");
    return failed;
}

#ifdef PROGRAM
int main(void) {
    return use_thence(1, 1);
}
#endif
