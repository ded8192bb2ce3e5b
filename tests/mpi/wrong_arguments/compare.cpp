// SPDX-License-Identifier: BSD-3-Clause
// Runs calls in children and compares what they did. A child is a fork of this process: MPI_X and PMPI_X start from the
// same state down to the addresses, a call that crashes ends only its child, and so do its effects on MPI.
// Calls that need another process cannot be compared like this.
#include "table.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wrong_arguments {

namespace {

// Calls of error handlers: how many, the first object, the last error class.
struct handler_calls {
    int calls;
    int object;
    int error_class;
};
handler_calls seen_by_handlers;

enum object { self = 1, everyone, another_communicator, window, file };

int class_of(int code) {
    int result = MPI_SUCCESS;
    PMPI_Error_class(code, &result);
    return result;
}

void note_error(int object, int code) {
    seen_by_handlers.object = seen_by_handlers.calls == 0 ? object : seen_by_handlers.object;
    ++seen_by_handlers.calls;
    seen_by_handlers.error_class = class_of(code);
}
void note_comm_error(MPI_Comm *comm, int *code, ...) {
    note_error(*comm == MPI_COMM_SELF ? self : *comm == MPI_COMM_WORLD ? everyone : another_communicator, *code);
}
void note_win_error(MPI_Win *, int *code, ...) {
    note_error(window, *code);
}
#if defined(THENCE_MPI_FILES)
void note_file_error(MPI_File *, int *code, ...) {
    note_error(file, *code);
}
#endif

enum stage { not_begun, begun, returned, looked_at };

// What one call did. Its child writes it into memory that it shares with the parent.
struct outcome {
    int stage;
    int signal; // that ended the child in it, SIGALRM if it did not return in time
    int error_class;
    handler_calls handlers;
    int flag;
    int index;
    int number;
    int indices[world::some];
    int status_fields[world::some][3];
    int handles[world::some]; // see name_of()
    int created[4];           // communicator, window, message and memory: was the output written?
    // Looked at after the call, of each request: 0, 1, or -1 for a null one.
    int complete[world::some];
    int persistent_complete[2];
    int pending_complete;
    int active_complete;
    int message_is_there;
};

// The same number for the same request in every child.
int name_of(MPI_Request request, const world &w) {
    int name = 0;
    for (MPI_Request known : {MPI_Request{MPI_REQUEST_NULL}, w.persistent[0], w.persistent[1], w.pending, w.complete[0],
                              w.complete[1], w.active}) {
        if (request == known) {
            return name;
        }
        ++name;
    }
    return -1;
}

int is_complete(MPI_Request request) {
    int flag = -1;
    if (request != MPI_REQUEST_NULL) {
        PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
    return flag;
}

void note_outputs(const world &w, outcome &to) {
    to.handlers = seen_by_handlers;
    to.flag = w.flag;
    to.index = w.index;
    to.number = w.number;
    for (int i = 0; i < world::some; ++i) {
        to.indices[i] = w.number >= 0 && i >= w.number ? 0 : w.indices[i]; // MPI may use those that it does not return
        to.status_fields[i][0] = w.statuses[i].MPI_SOURCE;
        to.status_fields[i][1] = w.statuses[i].MPI_TAG;
        to.status_fields[i][2] = to.error_class == MPI_ERR_IN_STATUS ? w.statuses[i].MPI_ERROR : 0; // else undefined
        to.handles[i] = name_of(w.requests[i], w);
    }
    to.created[0] = w.new_comm != MPI_COMM_NULL ? 1 : 0;
    to.created[1] = w.new_win != MPI_WIN_NULL ? 1 : 0;
    to.created[2] = w.new_message != MPI_MESSAGE_NULL ? 1 : 0;
    to.created[3] = w.base != nullptr ? 1 : 0;
}

// Whether the call has started, completed or received anything.
void look_around(const world &w, outcome &to) {
    for (int i = 0; i < world::some; ++i) {
        to.complete[i] = is_complete(w.requests[i]);
    }
    to.persistent_complete[0] = is_complete(w.persistent[0]);
    to.persistent_complete[1] = is_complete(w.persistent[1]);
    to.pending_complete = is_complete(w.pending);
    to.active_complete = is_complete(w.active);
    PMPI_Iprobe(0, world::message_tag, w.comm, &to.message_is_there, MPI_STATUS_IGNORE);
}

// Crashes of a child are expected: it prints no backtrace, dumps no core, and is not connected to MPI's launcher.
void become_expendable() {
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGTERM}) {
        std::signal(signal, SIG_DFL);
    }
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd) {
        sockaddr_storage peer;
        socklen_t length = sizeof peer;
        if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &length) == 0) {
            close(fd);
        }
    }
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

void run_one(const call &one, bool pmpi, world &w, outcome &to) {
    w.reset_outputs();
    seen_by_handlers = {};
    to.stage = begun;
    to.error_class = class_of(one.run(pmpi));
    note_outputs(w, to);
    to.stage = returned;
    look_around(w, to);
    to.stage = looked_at;
}

// Memory that children write and the parent reads.
class outcomes {
public:
    explicit outcomes(std::size_t n) : bytes_(n * sizeof(outcome)) {
        void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            std::perror("mmap");
            std::abort();
        }
        all_ = static_cast<outcome *>(memory);
    }
    ~outcomes() { munmap(all_, bytes_); }
    outcomes(const outcomes &) = delete;
    outcomes &operator=(const outcomes &) = delete;
    outcome &operator[](std::size_t i) { return all_[i]; }

private:
    std::size_t bytes_;
    outcome *all_;
};

// Calls of one function share a child until one needs its own or does not return: the next gets a new one. `wanted`
// says which to run. One that is not run ends the child, too, as it did where it was run. A call that does not return
// in time ends its child. For MPI's own call the time is short.
template <class Wanted> void run_all(const std::vector<call> &calls, bool pmpi, world &w, outcomes &to, Wanted wanted) {
    for (std::size_t next = 0; next < calls.size();) {
        const std::size_t first = next;
        std::size_t end = first + 1;
        while (!calls[first].alone && wanted(end - 1) && end < calls.size() && !calls[end].alone &&
               calls[end].function == calls[first].function) {
            ++end;
        }
        std::fflush(nullptr);
        const pid_t child = fork();
        ASSERT_GE(child, 0) << std::strerror(errno);
        if (child == 0) {
            become_expendable();
            for (std::size_t i = first; i < end; ++i) {
                const bool may_hang = pmpi && calls[i].refusable;
                const itimerval limit{{}, {may_hang ? 0 : 20, may_hang ? 500'000 : 0}};
                setitimer(ITIMER_REAL, &limit, nullptr);
                if (wanted(i)) {
                    run_one(calls[i], pmpi, w, to[i]);
                }
            }
            _exit(0);
        }
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        next = end;
        if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
            std::size_t last = first; // the call that ended the child
            for (std::size_t i = first; i < end; ++i) {
                last = to[i].stage != not_begun ? i : last;
            }
            to[last].signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
            next = last + 1;
        }
    }
}

std::string text(const outcome &of) {
    std::ostringstream out;
    const auto list = [&](const char *name, const int *values, int n) {
        out << ' ' << name;
        for (int i = 0; i < n; ++i) {
            out << (i == 0 ? ' ' : ',') << values[i];
        }
    };
    out << (of.stage == begun      ? "did not return"
            : of.stage == returned ? "left MPI broken"
                                   : "returned")
        << ", signal " << of.signal << ", class " << of.error_class << ", error handlers called " << of.handlers.calls
        << " of " << of.handlers.object << " class " << of.handlers.error_class << "; flag " << of.flag << " index "
        << of.index << " number " << of.number << ';';
    list("indices", of.indices, world::some);
    list("statuses", &of.status_fields[0][0], 3 * world::some);
    list("requests", of.handles, world::some);
    list("created", of.created, 4);
    list("then complete", of.complete, world::some);
    list("persistent complete", of.persistent_complete, 2);
    out << " pending complete " << of.pending_complete << " active complete " << of.active_complete << " message "
        << of.message_is_there;
    return out.str();
}

// Else it crashed, did not return, or destroyed memory: what happens then depends on the addresses of objects, and the
// calls after it suffer.
bool is_defined(const outcome &own) {
    return own.stage >= returned && own.signal == 0;
}

class noted_errors {
public:
    explicit noted_errors(world &w) : w_(w) {
        MPI_Comm_create_errhandler(&note_comm_error, &comm_);
        MPI_Win_create_errhandler(&note_win_error, &win_);
        for (int i = 0; i < 4; ++i) {
            MPI_Comm_get_errhandler(comm(i), &before_[i]);
            MPI_Comm_set_errhandler(comm(i), comm_);
        }
        MPI_Win_set_errhandler(w.win, win_);
#if defined(THENCE_MPI_FILES)
        MPI_File_create_errhandler(&note_file_error, &file_);
        MPI_File_set_errhandler(w.file, file_);
        MPI_File_get_errhandler(MPI_FILE_NULL, &default_of_files_);
        MPI_File_set_errhandler(MPI_FILE_NULL, file_);
#endif
    }
    ~noted_errors() {
        for (int i = 0; i < 4; ++i) {
            MPI_Comm_set_errhandler(comm(i), before_[i]);
            MPI_Errhandler_free(&before_[i]);
        }
        MPI_Errhandler_free(&comm_);
        MPI_Errhandler_free(&win_);
#if defined(THENCE_MPI_FILES)
        MPI_File_set_errhandler(MPI_FILE_NULL, default_of_files_);
        MPI_Errhandler_free(&default_of_files_);
        MPI_Errhandler_free(&file_);
#endif
    }
    noted_errors(const noted_errors &) = delete;
    noted_errors &operator=(const noted_errors &) = delete;

private:
    MPI_Comm comm(int i) const {
        const MPI_Comm all[] = {MPI_COMM_SELF, MPI_COMM_WORLD, w_.comm, w_.ring};
        return all[i];
    }
    world &w_;
    MPI_Errhandler comm_;
    MPI_Errhandler win_;
    MPI_Errhandler before_[4];
#if defined(THENCE_MPI_FILES)
    MPI_Errhandler file_;
    MPI_Errhandler default_of_files_;
#endif
};

} // namespace

table all_calls(world &w) {
    table all;
    add_requests(all, w);
    add_messages(all, w);
    add_persistent(all, w);
    add_collectives(all, w);
    add_communicators(all, w);
    add_windows(all, w);
    add_files(all, w);
    add_nonblocking(all, w);
    add_asking(all, w);
    return all;
}

void compare(const char *state, side own_side, side interposed_side) {
    const noted_errors handlers(own_side.w);
    const noted_errors handlers_of_others(interposed_side.w); // of the same objects, where both sides have the same
    const std::vector<call> &calls = interposed_side.calls.calls();
    ASSERT_EQ(calls.size(), own_side.calls.calls().size());
    outcomes own(calls.size());
    outcomes interposed(calls.size());
    run_all(own_side.calls.calls(), true, own_side.w, own, [](std::size_t) { return true; });
    run_all(calls, false, interposed_side.w, interposed, [&](std::size_t i) { return is_defined(own[i]); });
    std::map<std::string, int> compared_of; // for each function
    int compared = 0;
    int refused = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string name = calls[i].function + " (" + calls[i].what + ")";
        int &of_function = compared_of[calls[i].function];
        if (!is_defined(own[i])) {
            std::printf("not compared, library %s: P%s %s\n", state, name.c_str(),
                        own[i].signal == SIGALRM  ? "does not return"
                        : own[i].stage < returned ? "crashes"
                                                  : "destroys memory");
            EXPECT_TRUE(calls[i].refusable) << name << ": MPI's own: " << text(own[i]);
            continue;
        }
        ++compared;
        ++of_function;
        refused +=
            own[i].error_class != MPI_SUCCESS || own[i].handlers.calls != 0 ? 1 : 0; // MPICH 5 returns success then
        EXPECT_TRUE(calls[i].refusable || own[i].error_class == MPI_SUCCESS)
            << name << ": this row of the table is wrong, MPI says " << text(own[i]);
        EXPECT_EQ(std::memcmp(&own[i], &interposed[i], sizeof(outcome)), 0)
            << name << ", library " << state << "\n  PMPI: " << text(own[i]) << "\n   MPI: " << text(interposed[i]);
    }
    std::printf("library %s: %zu calls, %d compared, of which MPI refuses %d\n", state, calls.size(), compared,
                refused);
    EXPECT_GT(calls.size(), 500U) << "the table has lost rows";
    EXPECT_GT(compared, static_cast<int>(calls.size()) * 3 / 4) << "too few of the rows are compared";
    EXPECT_GT(refused, static_cast<int>(calls.size()) / 3) << "MPI refuses too few of the rows";
    for (const auto &[function, rows] : compared_of) {
        EXPECT_GT(rows, 0) << "no row of " << function << " is compared, library " << state;
    }
}

} // namespace wrong_arguments
