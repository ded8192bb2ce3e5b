// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize with continuations outstanding and a thread communicator that is not freed reports them, runs none, and
// ends. A program of its own, since MPI_Finalize is its subject: it reads what it wrote to stderr.
#include "is_interposed.hpp"

#include <thence/thence.h>
#include <thence/threadcomm.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

int calls = 0;
int never(int, MPI_Status *, void *) {
    ++calls;
    return MPI_SUCCESS;
}

// On MPICH and Intel MPI the helper thread must leave MPI before MPI_Finalize begins: only libthence is called in time.
bool helper_possible() {
#if defined(OPEN_MPI)
    return true;
#else
    return is_interposed(&MPI_Finalize, &PMPI_Finalize);
#endif
}

} // namespace

int main(int argc, char **argv) {
    alarm(60);
    const bool helper_wanted = argc > 1 && std::strcmp(argv[1], "--progress=thread") == 0;
    if (helper_wanted) {
        setenv("THENCE_PROGRESS", "thread", 1);
    }
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    constexpr int n = 3;
    static int values[n];
    MPI_Request cr = MPI_REQUEST_NULL;
    MPI_Request done = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    for (int i = 0; i < n; ++i) { // no message is sent to these receives
        int flag = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&values[i], 1, MPI_INT, rank, 100 + i, MPI_COMM_WORLD, &request);
        thence_attach(1, &request, &never, nullptr, 0, MPI_STATUS_IGNORE, cr, &flag);
    }
    thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &done); // complete, but its CR was never started
    MPI_Request complete = MPI_REQUEST_NULL;
    int flag = 0;
    int value = 0;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &complete);
    thence_attach(1, &complete, &never, nullptr, 0, MPI_STATUS_IGNORE, done, &flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);

    const bool interposed = is_interposed(&MPI_Finalize, &PMPI_Finalize);
    MPI_Comm threads = MPI_COMM_NULL;
    if (interposed) {
        thence_threadcomm_init(MPI_COMM_WORLD, 1, &threads);
    }

    thence_info info{};
    thence_query(&info, sizeof info);

    char path[] = "/tmp/thence_stderr_XXXXXX";
    const int file = mkstemp(path);
    const int terminal = dup(STDERR_FILENO);
    std::fflush(stderr);
    dup2(file, STDERR_FILENO);
    const int code = MPI_Finalize();
    std::fflush(stderr);
    dup2(terminal, STDERR_FILENO);

    std::string report(8192, '\0');
    lseek(file, 0, SEEK_SET);
    const ssize_t length = read(file, report.data(), report.size());
    report.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    unlink(path);

    int failed = 0;
    const auto check = [&](bool holds, const char *rule) {
        if (!holds) {
            ++failed;
            std::fprintf(stderr, "rank %d: failed: %s\n", rank, rule);
        }
    };
    check(code == MPI_SUCCESS, "finalize_returns_success");
    check(calls == 0, "finalize_runs_no_callback");
    check(report.find("thence") != std::string::npos, "finalize_reports_what_is_outstanding");
    check(report.find("MPI_Finalize") != std::string::npos, "report_says_when");
    check(report.find("4 continuations") != std::string::npos, "report_counts_them");
    check(!interposed || report.find("1 thread communicators are not freed") != std::string::npos,
          "report_counts_thread_communicators");
    const char *helper = !helper_possible() ? "not possible: " : helper_wanted ? "running" : "not started";
    check(std::strncmp(info.helper, helper, std::strlen(helper)) == 0, "query_says_whether_the_helper_runs");
    if (failed != 0) {
        std::fprintf(stderr, "the report was:\n%s\n", report.c_str());
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
