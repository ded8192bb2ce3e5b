// SPDX-License-Identifier: BSD-3-Clause
// The entries of the library's call table, on the fake.
#include "fake_mpi.hpp"
#include "types.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace thence::fake {
namespace {

constexpr auto time_limit = std::chrono::seconds(30);

void empty(MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE) {
        const int kept = status->MPI_ERROR;
        *status = MPI_Status{};
        status->MPI_SOURCE = MPI_ANY_SOURCE;
        status->MPI_TAG = MPI_ANY_TAG;
        status->MPI_ERROR = kept;
    }
}

bool inactive(const request &q) {
    return q.now.load() == life::inactive;
}

MPI_Status *slot(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

int Initialized(int *flag) {
    *flag = world.is_initialized() ? 1 : 0;
    return MPI_SUCCESS;
}
int Finalized(int *flag) {
    *flag = world.is_finalized() ? 1 : 0;
    return MPI_SUCCESS;
}
int Query_thread(int *level) {
    *level = world.offers().thread_level;
    return MPI_SUCCESS;
}
int Get_library_version(char *text, int *length) {
    *length = std::snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "%s", world.offers().library_version);
    return MPI_SUCCESS;
}
int Abort(MPI_Comm, int) {
    abort_test("MPI_Abort", "called");
}

// Makes no progress. If the request is complete, its results are returned, and the result is true.
bool take_if_done(MPI_Request *handle, MPI_Status *status, int &code) {
    request *q = world.checked("a completing call", *handle);
    code = MPI_SUCCESS;
    if (q == nullptr || inactive(*q)) {
        empty(status);
        return true;
    }
    if (!is_done(*q)) {
        return false;
    }
    code = world.take(*q, handle, status);
    return true;
}

int Test(MPI_Request *handle, int *flag, MPI_Status *status) {
    *flag = 1;
    if (*handle == MPI_REQUEST_NULL) {
        empty(status);
        return MPI_SUCCESS;
    }
    world.completing_calls.fetch_add(1, std::memory_order_relaxed);
    request *q = world.checked("MPI_Test", *handle);
    if (q == nullptr) {
        return MPI_ERR_REQUEST;
    }
    completing_call guard(*q, "MPI_Test");
    if (!inactive(*q) && !is_done(*q)) {
        world.progress();
    }
    int code = MPI_SUCCESS;
    *flag = take_if_done(handle, status, code) ? 1 : 0;
    if (code != MPI_SUCCESS && world.failed_test_clears_flag) {
        *flag = 0;
    }
    return code;
}

int Wait(MPI_Request *handle, MPI_Status *status) {
    const auto end = std::chrono::steady_clock::now() + time_limit;
    int code = MPI_SUCCESS;
    if (*handle == MPI_REQUEST_NULL) {
        empty(status);
        return MPI_SUCCESS;
    }
    world.completing_calls.fetch_add(1, std::memory_order_relaxed);
    request *q = world.checked("MPI_Wait", *handle);
    if (q == nullptr) {
        return MPI_ERR_REQUEST;
    }
    completing_call guard(*q, "MPI_Wait");
    while (!take_if_done(handle, status, code)) {
        world.progress();
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > end) {
            abort_test("MPI_Wait", "would never return");
        }
    }
    return code;
}

int Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    std::vector<std::optional<completing_call>> guards(static_cast<std::size_t>(count));
    world.completing_calls.fetch_add(static_cast<unsigned long long>(count), std::memory_order_relaxed);
    bool live = false;
    bool ready = false;
    for (int i = 0; i < count; ++i) {
        request *q = requests[i] == MPI_REQUEST_NULL ? nullptr : world.checked("MPI_Testsome", requests[i]);
        if (q != nullptr && !inactive(*q)) {
            live = true;
            guards[static_cast<std::size_t>(i)].emplace(*q, "MPI_Testsome");
            ready = ready || is_done(*q);
        }
    }
    *found = live ? 0 : MPI_UNDEFINED;
    if (live && !ready) {
        world.progress();
    }
    int code = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        request *q = requests[i] == MPI_REQUEST_NULL ? nullptr : find_request(requests[i]);
        if (q == nullptr || inactive(*q) || !is_done(*q)) {
            continue;
        }
        MPI_Status *status = slot(statuses, *found);
        const int error = world.take(*q, &requests[i], status);
        if (status != MPI_STATUS_IGNORE) {
            status->MPI_ERROR = error;
        }
        code = error == MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
        indices[(*found)++] = i;
    }
    for (int i = 0; i < count && code != MPI_SUCCESS && world.failed_testsome_frees_pending; ++i) {
        if (requests[i] != MPI_REQUEST_NULL) {
            world.free_by_user(*find_request(std::exchange(requests[i], MPI_REQUEST_NULL)));
        }
    }
    return code;
}

bool all_done(int count, const MPI_Request requests[]) {
    for (int i = 0; i < count; ++i) {
        const request *q = requests[i] == MPI_REQUEST_NULL ? nullptr : world.checked("MPI_Testall", requests[i]);
        if (q != nullptr && !inactive(*q) && !is_done(*q)) {
            return false;
        }
    }
    return true;
}

int Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    if (auto act = std::exchange(world.at_test, nullptr)) {
        act();
    }
    *flag = 0;
    if (!all_done(count, requests)) {
        world.progress();
        if (!all_done(count, requests)) {
            return MPI_SUCCESS;
        }
    }
    *flag = 1;
    int code = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        int one = 0;
        MPI_Status *status = slot(statuses, i);
        const int error = Test(&requests[i], &one, status);
        if (status != MPI_STATUS_IGNORE) {
            status->MPI_ERROR = error;
        }
        code = error == MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
    }
    return code;
}

int Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    bool live = false;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < count; ++i) {
            request *q = requests[i] == MPI_REQUEST_NULL ? nullptr : world.checked("MPI_Testany", requests[i]);
            if (q == nullptr || inactive(*q)) {
                continue;
            }
            live = true;
            if (is_done(*q)) {
                *index = i;
                return Test(&requests[i], flag, status);
            }
        }
        if (round == 0 && live) {
            world.progress();
        }
    }
    *flag = live ? 0 : 1;
    *index = MPI_UNDEFINED;
    if (!live) {
        empty(status);
    }
    return MPI_SUCCESS;
}

int Request_get_status(MPI_Request handle, int *flag, MPI_Status *status) {
    request *q = handle == MPI_REQUEST_NULL ? nullptr : world.checked("MPI_Request_get_status", handle);
    if (q == nullptr || inactive(*q)) {
        *flag = 1;
        empty(status);
        return MPI_SUCCESS;
    }
    completing_call guard(*q, "MPI_Request_get_status");
    if (!is_done(*q)) {
        world.progress();
    }
    *flag = is_done(*q) ? 1 : 0;
    if (*flag != 0 && q->query != nullptr) {
        return q->query(q->extra_state, status != MPI_STATUS_IGNORE ? status : &q->result);
    }
    if (*flag != 0 && status != MPI_STATUS_IGNORE) {
        *status = q->result;
    }
    return MPI_SUCCESS;
}

int Request_free(MPI_Request *handle) {
    if (request *q = world.checked("MPI_Request_free", *handle); q != nullptr) {
        if (q->free_function != &free_natively && world.offers().requests != layout::other_free) {
            void *object = q;
            return q->free_function(&object);
        }
        completing_call guard(*q, "MPI_Request_free");
        world.free_by_user(*q);
    }
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int Cancel(MPI_Request *handle) {
    request *q = world.checked("MPI_Cancel", *handle);
    if (world.while_cancelling) {
        world.while_cancelling();
    }
    return q == nullptr ? int{MPI_ERR_REQUEST} : world.cancel(*q);
}

int Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_data,
                   MPI_Grequest_cancel_function *cancel, void *extra_state, MPI_Request *handle) {
    *handle = world.start_generalized(query, free_data, cancel, extra_state);
    return MPI_SUCCESS;
}
int Grequest_complete(MPI_Request handle) {
    if (!world.complete(handle)) {
        misuse("MPI_Grequest_complete", nullptr, "it is complete already");
    }
    return MPI_SUCCESS;
}

int Start(MPI_Request *handle) {
    if (request *q = world.checked("MPI_Start", *handle); q != nullptr) {
        completing_call guard(*q, "MPI_Start");
        world.activate(*q);
    }
    return MPI_SUCCESS;
}

int Irecv(void *buffer, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Request *request) {
    if (world.refuses_receives != MPI_SUCCESS) {
        return world.hides_refusals ? MPI_SUCCESS : world.refuses_receives;
    }
    *request = world.receive(buffer, count, tag, comm, false);
    return MPI_SUCCESS;
}
int Isend(const void *buffer, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Request *request) {
    *request = world.send(buffer, count, tag, comm);
    return MPI_SUCCESS;
}
int Recv_init(void *buffer, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Request *request) {
    *request = world.receive(buffer, count, tag, comm, true);
    return MPI_SUCCESS;
}
int Iprobe(int, int, MPI_Comm, int *flag, MPI_Status *) {
    world.progress();
    *flag = 0;
    return MPI_SUCCESS;
}
int Get_count(const MPI_Status *status, MPI_Datatype, int *count) {
    *count = mpi::bytes_of(*status);
    return MPI_SUCCESS;
}
int Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = mpi::is_cancelled(*status) ? 1 : 0;
    return MPI_SUCCESS;
}
int Comm_dup(MPI_Comm, MPI_Comm *copy) {
    *copy = world.new_communicator();
    return MPI_SUCCESS;
}
int Comm_split(MPI_Comm, int, int, MPI_Comm *part) {
    *part = world.new_communicator();
    return MPI_SUCCESS;
}
int Comm_free(MPI_Comm *comm) {
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
int Comm_rank(MPI_Comm, int *rank) {
    *rank = 0;
    return MPI_SUCCESS;
}
int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    if (comm == MPI_COMM_WORLD) {
        world.handler = handler;
    }
    return MPI_SUCCESS;
}
int Comm_get_errhandler(MPI_Comm, MPI_Errhandler *handler) {
    *handler = world.handler;
    return MPI_SUCCESS;
}
int Errhandler_free(MPI_Errhandler *handler) {
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
int Comm_call_errhandler(MPI_Comm comm, int code) {
    if (comm != MPI_COMM_WORLD) {
        misuse("MPI_Comm_call_errhandler", nullptr, "not the error handler of MPI_COMM_WORLD");
    }
    world.report(code);
    return MPI_SUCCESS;
}
int Comm_create_keyval(MPI_Comm_copy_attr_function *, MPI_Comm_delete_attr_function *when_deleted, int *keyval,
                       void *) {
    *keyval = world.create_keyval(when_deleted);
    return MPI_SUCCESS;
}
int Comm_free_keyval(int *keyval) {
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}
int Comm_set_attr(MPI_Comm, int keyval, void *value) {
    world.set_attribute(keyval, value);
    return MPI_SUCCESS;
}
// As MPI_LASTUSEDCODE of an MPI that adds no error code.
int Comm_get_attr(MPI_Comm, int, void *value, int *flag) {
    static int last_used_code = MPI_ERR_LASTCODE;
    *static_cast<int **>(value) = &last_used_code;
    *flag = 1;
    return MPI_SUCCESS;
}
int Error_class(int code, int *result) {
    *result = code;
    return MPI_SUCCESS;
}
int Error_string(int code, char *text, int *length) {
    *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "fake error %d", code);
    return MPI_SUCCESS;
}
// The fake adds no error codes, so here the library returns the class.
int Add_error_code(int, int *) {
    return MPI_ERR_OTHER;
}
int Add_error_string(int, const char *) {
    return MPI_ERR_OTHER;
}
int Info_get(MPI_Info info, const char *key, int length, char *value, int *flag) {
    const std::string *found = world.look_up(info, key);
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) {
        std::snprintf(value, static_cast<std::size_t>(length) + 1, "%s", found->c_str());
    }
    return MPI_SUCCESS;
}

void opal_progress() {
    world.progress();
}
int opal_progress_register(int (*hook)()) {
    world.add_hook(hook);
    return 0;
}
int opal_progress_unregister(int (*hook)()) {
    world.remove_hook(hook);
    return 0;
}
int request_is_complete(MPI_Request handle) {
    const request *q = world.checked("MPIX_Request_is_complete", handle);
    return q != nullptr && (inactive(*q) || is_done(*q)) ? 1 : 0;
}
int async_start(int (*poll)(void *), void *state, int) {
    world.add_async(poll, state);
    return MPI_SUCCESS;
}
int stream_progress(int) {
    if (world.in_stream_progress) {
        world.in_stream_progress();
    }
    world.progress();
    return MPI_SUCCESS;
}

// Open MPI's description of a component.
const char *described(const char *framework, const char *component) {
    static char description[256];
    std::strncpy(description + 40, framework, 32);
    std::strncpy(description + 84, component, 64);
    return description;
}

} // namespace

void install_calls(const features &what) {
    thence::mpi::calls &table = thence::mpi::table;
#define X(name) table.name = &name;
    THENCE_MPI_CALLS(X)
#undef X
    install_type_calls(table, what.large_counts);
    install_message_calls();
    table.opal_progress = what.opal_progress ? &opal_progress : nullptr;
    table.progress_register = what.opal_progress ? &opal_progress_register : nullptr;
    table.progress_unregister = what.opal_progress ? &opal_progress_unregister : nullptr;
    table.pml_component = what.opal_progress && what.messages_through != nullptr
                              ? described(what.describes_layer_as, what.messages_through)
                              : nullptr;
    table.request_is_complete = what.is_complete ? &request_is_complete : nullptr;
    table.async_start = what.async_start ? &async_start : nullptr;
    table.stream_progress = what.async_start ? &stream_progress : nullptr;
}

} // namespace thence::fake
