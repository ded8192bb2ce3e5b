// SPDX-License-Identifier: BSD-3-Clause
// In MPI_Finalize, the delete callbacks of attributes of MPI_COMM_SELF use the library, as libraries do that complete
// their work there. With libthence all of it works. With libthence-core alone it works where the attribute was set
// after the first use of the library; else each call returns an error, and none hangs. A program of its own, since
// MPI_Finalize is its subject. The copy callback of such an attribute uses the library, too, when it is called.
#include "delete_callbacks.hpp"
#include "is_interposed.hpp"

#include <thence/exec.hpp>
#include <thence/grequest.h>
#include <thence/progress.h>
#include <thence/stream.h>
#include <thence/thence.h>
#include <thence/threadcomm.h>
#include <thence/transform_mpi.hpp>
#include <thence/type_iov.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

bool has_text(int code, const char *part) {
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    int error_class = MPI_SUCCESS;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &error_class);
    return code == error_class || std::strstr(text, part) != nullptr; // on MPICH 4.0 the code has no text
}

int add_one(int error, MPI_Status *, void *data) {
    *static_cast<int *>(data) += error == MPI_SUCCESS ? 1 : 100;
    return MPI_SUCCESS;
}

// A generalized request that is complete after some polls.
struct polled_request {
    int polls = 0;
    int enough = 20000; // more than there are before MPI_Finalize
    MPI_Request request = MPI_REQUEST_NULL;

    static int query(void *, MPI_Status *status) {
        MPI_Status_set_elements(status, MPI_BYTE, 0);
        MPI_Status_set_cancelled(status, 0);
        return MPI_SUCCESS;
    }
    static int release(void *) { return MPI_SUCCESS; }
    static int cancel(void *, int) { return MPI_SUCCESS; }
    static int poll(void *state, MPI_Status *) {
        auto &self = *static_cast<polled_request *>(state);
        if (++self.polls == self.enough) {
            MPI_Grequest_complete(self.request);
        }
        return MPI_SUCCESS;
    }
    void start() { thence_grequest_start(&query, &release, &cancel, &poll, nullptr, this, &request); }
};

int async_steps = 0;
int async_function(thence_async_thing) {
    return ++async_steps < 20000 ? THENCE_ASYNC_NOPROGRESS : THENCE_ASYNC_DONE;
}

// What is made before MPI_Finalize and used in a delete callback.
struct prepared {
    int tag = 0;
    MPI_Request cr = MPI_REQUEST_NULL;
    int calls = 0;
    int received = 0; // by a continuation that is attached before
    MPI_Comm multiplex = MPI_COMM_NULL;
    MPI_Comm threads = MPI_COMM_NULL;
    polled_request polled;
    int callbacks = 0;

    void make(bool interposed) {
        thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&received, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
        thence_attach(1, &request, &add_one, &calls, 0, MPI_STATUSES_IGNORE, cr, nullptr);
        thence_stream none = THENCE_STREAM_NULL;
        thence_stream_comm_create_multiplex(MPI_COMM_WORLD, 1, &none, &multiplex);
        MPI_Comm_set_errhandler(multiplex, thence_errors_return());
        if (interposed) {
            thence_threadcomm_init(MPI_COMM_WORLD, 1, &threads);
        }
        polled.start();
        use_senders();
        read_a_datatype();
    }

    void complete_a_continuation_of_before() {
        const int value = 41;
        MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
        check(thence_wait(&cr, MPI_STATUS_IGNORE) == MPI_SUCCESS && calls == 1 && received == 41,
              "a continuation that was attached before runs");
    }

    void attach_another() {
        const int value = 42;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&received, 1, MPI_INT, 0, tag + 1, MPI_COMM_SELF, &request);
        check(thence_attach(1, &request, &add_one, &calls, 0, MPI_STATUSES_IGNORE, cr, nullptr) == MPI_SUCCESS,
              "another is attached");
        MPI_Send(&value, 1, MPI_INT, 0, tag + 1, MPI_COMM_SELF);
        check(thence_wait(&cr, MPI_STATUS_IGNORE) == MPI_SUCCESS && calls == 2 && received == 42, "and runs");
        check(thence_free(&cr) == MPI_SUCCESS, "free");
        check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr) == MPI_SUCCESS && thence_free(&cr) == MPI_SUCCESS,
              "a continuation request is made");
    }

    void use_multiplex() {
        MPI_Request request = MPI_REQUEST_NULL;
        int value = 43;
        int got = 0;
        check(thence_stream_isend(&value, 1, MPI_INT, (rank + 1) % size, 1, multiplex, 0, 0, &request) == MPI_SUCCESS &&
                  thence_stream_recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, multiplex, -1, 0, MPI_STATUS_IGNORE) ==
                      MPI_SUCCESS &&
                  got == 43,
              "a message of a multiplex communicator");
        int done = 0;
        while (done == 0) {
            thence_progress();
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        check(MPI_Comm_free(&multiplex) == MPI_SUCCESS, "free of a multiplex communicator");
    }

    void use_threads() {
        check(thence_threadcomm_start(threads) == MPI_SUCCESS, "start of a thread communicator");
        int got = 0;
        int value = 44;
        int n = 0;
        MPI_Comm_size(threads, &n);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, threads, &request);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, threads);
        check(n == size && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == 44 &&
                  MPI_Barrier(threads) == MPI_SUCCESS,
              "a message of a thread communicator");
        check(thence_threadcomm_finish(threads) == MPI_SUCCESS && thence_threadcomm_free(&threads) == MPI_SUCCESS,
              "end of a thread communicator");
    }

    void wait_for_polled(bool interposed) {
        int done = interposed ? 1 : 0;
        int code = interposed ? MPI_Wait(&polled.request, MPI_STATUS_IGNORE) : int{MPI_SUCCESS};
        while (done == 0) {
            thence_progress();
            code = MPI_Test(&polled.request, &done, MPI_STATUS_IGNORE);
        }
        check(code == MPI_SUCCESS && polled.polls >= polled.enough, "a polled generalized request completes");
    }

    // What they have set up before has ended if they set an attribute of their own.
    void use_senders() {
        int value = 45;
        int got = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(&value, 1, MPI_INT, 0, tag + 10, MPI_COMM_SELF, &request);
        const auto answer = thence::sync_wait(thence::transform_mpi(thence::ex::just(), [&](MPI_Request *r) {
            return MPI_Irecv(&got, 1, MPI_INT, 0, tag + 10, MPI_COMM_SELF, r);
        }));
        check(answer.has_value() && got == 45, "a sender completes");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

    void read_a_datatype() {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        MPI_Count segments = 0;
        MPI_Count bytes = 0;
        check(thence_type_iov_len(type, -1, &segments, &bytes) == MPI_SUCCESS && segments == 3, "a datatype is read");
        MPI_Type_free(&type);
    }

    void use_any_thread() {
        MPI_Request any = MPI_REQUEST_NULL;
        const int code = thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &any);
        check(code == MPI_SUCCESS || has_text(code, "not possible"),
              "any thread runs continuations, or an error says why not");
        check(code != MPI_SUCCESS || thence_free(&any) == MPI_SUCCESS, "free of that");
    }

    void start_threads_and_functions() {
        check(thence_async_start(&async_function, nullptr, THENCE_STREAM_NULL) == MPI_SUCCESS, "an async function");
        const int code = thence_start_progress_thread(THENCE_STREAM_NULL);
        check(code == MPI_SUCCESS || has_text(code, "MPI_Finalize"),
              "a progress thread, or an error that says why not");
        thence_stop_progress_thread(THENCE_STREAM_NULL);
    }
};

bool interposed = false;

int everything_works(MPI_Comm, int, void *value, void *) {
    auto &all = *static_cast<prepared *>(value);
    all.complete_a_continuation_of_before();
    all.attach_another();
    all.use_senders();
    all.read_a_datatype();
    all.use_any_thread();
    all.use_multiplex();
    if (interposed) {
        all.use_threads();
    }
    all.wait_for_polled(interposed);
    all.start_threads_and_functions();
    ++all.callbacks;
    return MPI_SUCCESS;
}

int everything_is_refused(MPI_Comm, int, void *value, void *) {
    auto &all = *static_cast<prepared *>(value);
    constexpr const char *why = "called in MPI_Finalize";
    int done = 0;
    check(has_text(thence_test(&all.cr, &done, MPI_STATUS_IGNORE), why) && done == 0, "a test fails");
    check(has_text(thence_wait(&all.cr, MPI_STATUS_IGNORE), why), "a wait fails");
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&all.received, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    check(has_text(thence_attach(1, &request, &add_one, &all.calls, 0, MPI_STATUSES_IGNORE, all.cr, nullptr), why) &&
              request != MPI_REQUEST_NULL,
          "an attach fails");
    const int number = 1;
    MPI_Send(&number, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request other = MPI_REQUEST_NULL;
    check(has_text(thence_cr_create(0, -1, MPI_INFO_NULL, &other), why) && other == MPI_REQUEST_NULL,
          "a creation fails");
    check(has_text(thence_async_start(&async_function, nullptr, THENCE_STREAM_NULL), why), "an async function fails");
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Count segments = 0;
    MPI_Count bytes = 0;
    check(has_text(thence_type_iov_len(type, -1, &segments, &bytes), why), "the reading of a datatype fails");
    MPI_Type_free(&type);
    check(MPI_Wait(&all.polled.request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a polled generalized request has failed");
    ++all.callbacks;
    return MPI_SUCCESS;
}

// If the library duplicated MPI_COMM_SELF while it is set up, each call of it in here would wait for ever.
int copied(MPI_Comm, int, void *, void *, void *, int *flag) {
    *flag = 0;
    MPI_Request cr = MPI_REQUEST_NULL;
    const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    return code == MPI_SUCCESS ? thence_free(&cr) : code;
}

} // namespace

int main(int argc, char **argv) {
    alarm(100);
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    MPI_Comm_set_errhandler(MPI_COMM_SELF, thence_errors_return());
    interposed = is_interposed(&MPI_Finalize, &PMPI_Finalize);

    static prepared before_first_use;
    static prepared after_first_use;
    set_attribute(&copied, interposed ? &everything_works : &everything_is_refused, &before_first_use);
    before_first_use.tag = 1;
    before_first_use.polled.enough = interposed ? 20000 : -1; // never
    before_first_use.make(interposed);
    set_attribute(&copied, &everything_works, &after_first_use);
    after_first_use.tag = 3;
    after_first_use.make(interposed);
    check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize succeeds");
    check(before_first_use.callbacks == 1 && after_first_use.callbacks == 1, "MPI calls the delete callbacks");
    check(async_steps >= 20000, "async functions run until they are done");
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
