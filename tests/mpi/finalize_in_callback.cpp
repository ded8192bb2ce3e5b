// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize inside a callback is refused with a text that says why, and changes nothing. Without libthence it
// cannot be refused, and the library warns. A program of its own, since it calls MPI_Finalize.
#include "is_interposed.hpp"

#include <thence/thence.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

int failed = 0;
void check(bool holds, const char *rule) {
    if (!holds) {
        ++failed;
        std::fprintf(stderr, "failed: %s\n", rule);
    }
}

// What `call` writes to stderr.
template <class Call> std::string written_by(Call call) {
    char path[] = "/tmp/thence_stderr_XXXXXX";
    const int file = mkstemp(path);
    const int terminal = dup(STDERR_FILENO);
    std::fflush(stderr);
    dup2(file, STDERR_FILENO);
    call();
    std::fflush(stderr);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    std::string text(8192, '\0');
    const ssize_t length = pread(file, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    close(file);
    unlink(path);
    return text;
}

int finalized_inside = 0;
int finalize_inside(int, MPI_Status *, void *) {
    int code = MPI_SUCCESS;
    const std::string text = written_by([&] { code = MPI_Finalize(); });
    int ended = 0;
    MPI_Finalized(&ended);
    constexpr const char *why = "MPI_Finalize: called inside a callback";
    if (is_interposed(&MPI_Finalize, &PMPI_Finalize)) {
        int error_class = MPI_SUCCESS;
        MPI_Error_class(code, &error_class);
        check(error_class == MPI_ERR_OTHER, "it is refused");
        char message[MPI_MAX_ERROR_STRING + 1];
        int length = 0;
        MPI_Error_string(code, message, &length);
        // On MPICH 4.0 the code has no text: it is the class itself.
        check(code == MPI_ERR_OTHER || std::strstr(message, why) != nullptr, "the error says why");
        check(ended == 0, "MPI goes on");
    } else {
        check(text.find(why) != std::string::npos, "the report says why");
        check(text.find("without libthence") != std::string::npos, "the report says why it is not refused");
        _exit(failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE); // MPI has ended below the callback
    }
    ++finalized_inside;
    return MPI_SUCCESS;
}
int count_call(int, MPI_Status *, void *data) {
    ++*static_cast<int *>(data);
    return MPI_SUCCESS;
}

// A message to itself with a continuation that runs `callback`.
void run(thence_callback *callback, void *data, MPI_Request cr, int &value) {
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;
    const int sent = 7;
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    thence_attach(1, &request, callback, data, 0, MPI_STATUS_IGNORE, cr, &flag);
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    thence_wait(&cr, MPI_STATUS_IGNORE);
}

} // namespace

int main(int argc, char **argv) {
    alarm(60);
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    int value = 0;
    run(&finalize_inside, nullptr, cr, value);
    check(finalized_inside == 1, "the callback ran");

    int calls = 0;
    int last = 0;
    run(&count_call, &calls, cr, last);
    check(calls == 1 && last == 7, "the library works as before");
    check(thence_free(&cr) == MPI_SUCCESS, "free");
    check(written_by([] { check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize succeeds later"); }).empty(),
          "nothing is outstanding then");
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
