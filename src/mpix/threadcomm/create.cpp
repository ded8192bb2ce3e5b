// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Threadcomm_init, _start, _finish and _free.
#include "mpix/threadcomm/create.hpp"

#include "core/api/errors.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "core/mpi/implementation.hpp"
#include "mpix/messages/source.hpp"
#include "mpix/threadcomm/attributes.hpp"
#include "mpix/threadcomm/message_calls.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace thence::threadcomm {

namespace {

using mpi::table;

// What each process says at init: how many threads it has, or why it refuses.
enum refusal : int { negative_threads = -1, no_thread_multiple = -2, no_source = -3 };

// How a program whose MPI_Init gives too little gets the level, also one that is not to be changed.
const char *text_of_level() noexcept {
    const std::string_view mpi(mpi::library());
    const auto is = [mpi](const char *name) { return mpi.find(name) != std::string_view::npos; };
    if (is("Open MPI")) {
        return "a process with several threads needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it, or set "
               "OMPI_MPI_THREAD_LEVEL=3 in the environment, which gives it to MPI_Init";
    }
    if (is("MPICH") || is("Intel(R) MPI")) {
        return "a process with several threads needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it, or set "
               "MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE in the environment, which gives it to MPI_Init";
    }
    return "a process with several threads needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it";
}

mpi::failure failure_of(int said) noexcept {
    switch (said) {
    case negative_threads:
        return {MPI_ERR_ARG, "num_threads is negative in a process"};
    case no_thread_multiple:
        return {MPI_ERR_UNSUPPORTED_OPERATION, text_of_level()};
    default:
        return {MPI_ERR_OTHER, "others have registered all sources of progress that there can be"};
    }
}

messages::endpoint *route(void *data, const messages::wire_header &header) noexcept {
    auto &root = *static_cast<root_state *>(data);
    const std::scoped_lock guard(root.lock);
    const auto at = root.by_context.find(header.context);
    if (at == root.by_context.end()) {
        return nullptr;
    }
    member *const to = at->second->local[static_cast<std::size_t>(header.dest)];
    return to != nullptr ? &to->at(static_cast<channel>(header.channel)) : nullptr;
}

// The number of this thread in its OpenMP team, if the program has OpenMP.
int openmp_thread() noexcept {
    static const auto ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
    return ask != nullptr ? ask() : -1;
}

// The roots that are not freed. MPI_Finalize reports them, and ends what polls them.
std::mutex mutex; // guards these
root_state *roots = nullptr;

void report_roots() noexcept {
    const std::scoped_lock guard(mutex);
    long left = 0;
    for (const root_state *each = roots; each != nullptr; each = each->next) {
        ++left;
    }
    if (left != 0) {
        std::fprintf(stderr, "thence: MPI_Finalize: %ld thread communicators are not freed\n", left);
    }
}

// They stay in memory: threads may be between start and finish, and requests may be open.
void end_roots() noexcept {
    const std::scoped_lock guard(mutex);
    hide_all();
    for (; roots != nullptr; roots = roots->next) {
        if (roots->between) {
            roots->between->stop();
        }
        messages::end_use();
    }
}

constinit continuation::finalize_functions at_finalize{&report_roots, &end_roots};

void add_root(root_state &added) noexcept {
    const std::scoped_lock guard(mutex);
    continuation::add_finalize_functions(at_finalize);
    added.next = std::exchange(roots, &added);
}

void remove_root(root_state &removed) noexcept {
    const std::scoped_lock guard(mutex);
    root_state **link = &roots;
    while (*link != &removed) {
        link = &(*link)->next;
    }
    *link = removed.next;
}

// What this process has of a root that is being made.
struct unfinished_root {
    std::unique_ptr<root_state> root;
    std::unique_ptr<communicator> whole;
    MPI_Comm handle = MPI_COMM_NULL;
    bool entered = false;

    unfinished_root &operator=(unfinished_root &&) = delete;
    // Collective.
    ~unfinished_root() {
        if (root != nullptr) {
            root->between.reset(); // waits for the other processes
        }
        if (entered) {
            leave(*whole);
        }
        if (handle != MPI_COMM_NULL) {
            table.Comm_free(&handle);
        }
    }
};

// The transport between the processes that have threads. True if this process has what it needs.
bool make_transport(MPI_Comm comm, bool has_threads, int with_threads, int rank, root_state &root) noexcept {
    MPI_Comm hidden = MPI_COMM_NULL;
    if (table.Comm_split(comm, has_threads ? 0 : MPI_UNDEFINED, rank, &hidden) != MPI_SUCCESS) {
        return false;
    }
    if (hidden == MPI_COMM_NULL) {
        return true;
    }
    table.Comm_rank(hidden, &root.process);
    if (with_threads < 2) {
        table.Comm_free(&hidden);
        return true;
    }
    root.between.emplace(hidden, &route, &root);
    return root.between->begin() == MPI_SUCCESS;
}

// Each process takes part in all that follows, also after a failure of its own, and then all have made the
// communicator, or none. After it no message comes for a communicator that is not there yet.
int make_root(const char *call, MPI_Comm comm, int threads, const std::vector<int> &all, int rank,
              MPI_Comm *created) noexcept {
    unfinished_root made;
    const char *why = nullptr; // what is wrong in this process
    std::vector<int> processes;
    std::vector<int> indices;
    int with_threads = 0;
    try {
        made.root = std::make_unique<root_state>(threads);
        made.root->process = -1;
        for (const int each : all) {
            for (int i = 0; i < each; ++i) {
                processes.push_back(with_threads);
                indices.push_back(i);
            }
            with_threads += each > 0 ? 1 : 0;
        }
    } catch (const std::exception &) {
        why = api::reason::out_of_memory.text;
    }
    int failed = why == nullptr ? 0 : 1;
    int any_failed = 1;
    int code = table.Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, comm);
    if (code == MPI_SUCCESS && any_failed == 0) {
        if (table.Comm_dup(comm, &made.handle) != MPI_SUCCESS) {
            why = "MPI duplicates no communicator";
        } else {
            copy_error_handler(comm, made.handle);
        }
        if (!make_transport(comm, threads > 0, with_threads, rank, *made.root)) {
            why = "no messages between the processes: memory is exhausted, or MPI has failed";
        }
        try {
            // Contexts that a process makes later have its number in the upper half, so 0 is that of the root alone.
            if (why == nullptr) {
                made.whole =
                    std::make_unique<communicator>(made.handle, *made.root, 0, true, std::move(processes), indices);
                made.entered = enter(*made.whole);
                why = made.entered ? nullptr : "too many thread communicators exist";
            }
        } catch (const std::exception &) {
            why = api::reason::out_of_memory.text;
        }
        failed = why == nullptr ? 0 : 1;
        code = table.Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, comm);
    }
    if (code != MPI_SUCCESS || any_failed != 0) {
        return fail(comm, call, MPI_ERR_NO_MEM, why != nullptr ? why : "another process could not make it");
    }
    *created = std::exchange(made.handle, MPI_COMM_NULL);
    made.entered = false;
    add_root(*made.root);
    static_cast<void>(made.root.release());
    static_cast<void>(made.whole.release());
    return MPI_SUCCESS;
}

communicator *checked(const char *call, MPI_Comm comm, int &code) noexcept {
    communicator *const found = comm != MPI_COMM_NULL ? find_if_any(comm) : nullptr;
    if (found == nullptr) {
        code = fail(comm, call, MPI_ERR_COMM, "the communicator is no thread communicator");
    } else if (!found->is_root) {
        code = fail(comm, call, MPI_ERR_COMM, "the communicator was derived from a thread communicator: give that one");
    } else {
        return found;
    }
    return nullptr;
}

} // namespace

mpi::extension_facts facts() noexcept {
    return progress::interposed.communicators
               ? mpi::extension_facts{mpi::extension_state::ours,
                                      "messages between threads are Thence's own, on any MPI"}
               : mpi::extension_facts{mpi::extension_state::not_possible, progress::interposed.communicators_why_not};
}

int init(const char *call, MPI_Comm comm, int threads, MPI_Comm *created) noexcept {
    if (comm == MPI_COMM_NULL) {
        return fail(comm, call, api::reason::null_comm);
    }
    if (created == nullptr) {
        return fail(comm, call, MPI_ERR_ARG, "newthreadcomm is null");
    }
    if (find_if_any(comm) != nullptr) {
        return fail(comm, call, MPI_ERR_COMM, "comm is a thread communicator: they cannot be nested");
    }
    int between_groups = 0;
    table.Comm_test_inter(comm, &between_groups);
    if (between_groups != 0) {
        return fail(comm, call, api::reason::intercommunicator);
    }
    int rank = 0;
    int processes = 0;
    table.Comm_rank(comm, &rank);
    table.Comm_size(comm, &processes);
    const bool in_use = messages::begin_use();
    const int says = threads < 0                              ? int{negative_threads}
                     : threads > 1 && !mpi::thread_multiple() ? int{no_thread_multiple}
                     : !in_use                                ? int{no_source}
                                                              : threads;
    int code = MPI_SUCCESS;
    try {
        std::vector<int> all(static_cast<std::size_t>(processes), 0);
        code = table.Allgather(&says, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
        for (const int each : all) {
            if (code == MPI_SUCCESS && each < 0) { // all processes return the same error
                code = mpi::report_on(comm, call, failure_of(each));
            }
        }
        if (code == MPI_SUCCESS) {
            code = make_root(call, comm, threads, all, rank, created);
        }
    } catch (const std::exception &) {
        code = fail(comm, call, api::reason::out_of_memory);
    }
    if (code != MPI_SUCCESS && in_use) {
        messages::end_use();
    }
    return code;
}

int start(const char *call, MPI_Comm comm, int wanted) noexcept {
    int code = MPI_SUCCESS;
    communicator *const found = checked(call, comm, code);
    if (found == nullptr) {
        return code;
    }
    root_state &root = found->root;
    if (index_in(root) >= 0) {
        return fail(comm, call, MPI_ERR_COMM, "this thread has started it already");
    }
    if (!may_join()) {
        return fail(comm, call, MPI_ERR_OTHER, "this thread has started 8 thread communicators");
    }
    int index = -1;
    switch (root.threads.start(call, this_thread_number(), wanted, openmp_thread(), index)) {
    case activation::answer::done:
        break;
    case activation::answer::too_many:
        return fail(comm, call, MPI_ERR_COMM, "more threads start it than num_threads of MPIX_Threadcomm_init");
    case activation::answer::index_out_of_range:
        return fail(comm, call, MPI_ERR_RANK, "the index is not below num_threads of MPIX_Threadcomm_init");
    case activation::answer::index_twice:
        return fail(comm, call, MPI_ERR_RANK, "two threads have asked for the same index, so none has started");
    }
    join(root, index);
    return MPI_SUCCESS;
}

int finish(const char *call, MPI_Comm comm) noexcept {
    int code = MPI_SUCCESS;
    communicator *const found = checked(call, comm, code);
    if (found == nullptr) {
        return code;
    }
    member *const me = self(*found);
    if (me == nullptr) {
        return fail(comm, call, MPI_ERR_COMM, "this thread has not started it");
    }
    delete_attributes(*me);
    part(found->root);
    messages::retire_blocks();
    found->root.threads.finish(call);
    return MPI_SUCCESS;
}

int free_root(const char *call, MPI_Comm *comm) noexcept {
    if (comm == nullptr) {
        return fail(MPI_COMM_WORLD, call, MPI_ERR_ARG, "threadcomm is null");
    }
    int code = MPI_SUCCESS;
    communicator *const found = checked(call, *comm, code);
    if (found == nullptr) {
        return code;
    }
    root_state *const root = &found->root;
    if (!root->threads.idle()) {
        return fail(*comm, call, MPI_ERR_COMM, "threads have started it and have not finished it");
    }
    if (root->derived.load() != 0) {
        return fail(*comm, call, MPI_ERR_COMM, "communicators that were derived from it are not freed");
    }
    bool is_needed = found->has_open_requests();
    bool has_matched = has_matched_messages(*found);
    for (const communicator *each = root->kept; each != nullptr; each = each->next_kept) {
        is_needed = is_needed || each->has_open_requests();
        has_matched = has_matched || has_matched_messages(*each);
    }
    if (is_needed) {
        return fail(*comm, call, MPI_ERR_PENDING, "requests of its ranks are not complete");
    }
    if (has_matched) {
        return fail(*comm, call, MPI_ERR_PENDING, "messages that a matching probe has taken are not received");
    }
    remove_root(*root);
    root->between.reset(); // waits for the other processes, and still receives for these threads
    leave(*found);
    MPI_Comm handle = found->handle;
    delete found;
    delete root;
    messages::end_use();
    *comm = MPI_COMM_NULL;
    return table.Comm_free(&handle);
}

} // namespace thence::threadcomm
