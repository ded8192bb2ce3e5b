// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that the interposed calls call in tests. They call the fake.
#include "pmpi_names.h"

#include "exposure.hpp"
#include "fake_mpi.hpp"

#include "interpose/calls/next.hpp"
#include "interpose/waiting/init_finalize.hpp"

#include <chrono>
#include <thread>
#include <vector>

using thence::fake::world;
using thence::mpi::table;

bool thence::pmpi::look_up_next(interposed_call &, void **) noexcept {
    return true;
}

std::function<bool()> thence::fake::exposure_ends;
std::function<void()> thence::fake::in_file_read;
std::function<void()> thence::fake::in_win_flush;

namespace {

[[maybe_unused]] const bool registered = thence::interpose::register_lookup(
    []() noexcept { return thence::interpose::interposition{true, true, true, nullptr, nullptr, nullptr}; });

// A blocking call as a loop of its nonblocking form, which makes progress.
template <class Testing> int wait_by(const char *call, Testing &&test) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
        bool done = false;
        const int code = test(done);
        if (done || code != MPI_SUCCESS) {
            return code;
        }
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > end) {
            thence::fake::abort_test(call, "would never return");
        }
    }
}

int wait_until_one_fails(int count, MPI_Request requests[], MPI_Status statuses[]) {
    std::vector<MPI_Status> found_statuses(static_cast<std::size_t>(count));
    std::vector<int> indices(static_cast<std::size_t>(count));
    for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; ++i) {
        statuses[i].MPI_ERROR = MPI_ERR_PENDING;
    }
    return wait_by("MPI_Waitall", [&](bool &done) {
        int found = 0;
        const int code = table.Testsome(count, requests, &found, indices.data(), found_statuses.data());
        for (int i = 0; i < found && statuses != MPI_STATUSES_IGNORE; ++i) {
            statuses[indices[static_cast<std::size_t>(i)]] = found_statuses[static_cast<std::size_t>(i)];
        }
        done = found == MPI_UNDEFINED;
        return code;
    });
}

int persistent(MPI_Request *request) {
    *request = world.persistent();
    return MPI_SUCCESS;
}

} // namespace

extern "C" {

int PMPI_Type_size(MPI_Datatype, int *size) {
    *size = 1; // tests of messages send characters
    return MPI_SUCCESS;
}
int PMPI_Query_thread(int *level) {
    return table.Query_thread(level);
}
int PMPI_Init(int *, char ***) {
    world.initialize();
    return MPI_SUCCESS;
}
int PMPI_Init_thread(int *, char ***, int required, int *provided) {
    world.initialize();
    *provided = required;
    return MPI_SUCCESS;
}
int PMPI_Finalize() {
    world.finalize();
    return MPI_SUCCESS;
}
int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    return table.Test(request, flag, status);
}
int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    return table.Testall(count, requests, flag, statuses);
}
int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    return table.Testany(count, requests, index, flag, status);
}
int PMPI_Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    return table.Testsome(count, requests, found, indices, statuses);
}
int PMPI_Wait(MPI_Request *request, MPI_Status *status) {
    return table.Wait(request, status);
}
int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (world.failed_waitall_leaves_pending) {
        return wait_until_one_fails(count, requests, statuses);
    }
    return wait_by("MPI_Waitall", [&](bool &done) {
        int flag = 0;
        const int code = table.Testall(count, requests, &flag, statuses);
        done = flag != 0;
        return code;
    });
}
int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    return wait_by("MPI_Waitany", [&](bool &done) {
        int flag = 0;
        const int code = table.Testany(count, requests, index, &flag, status);
        done = flag != 0;
        return code;
    });
}
int PMPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    return wait_by("MPI_Waitsome", [&](bool &done) {
        const int code = table.Testsome(count, requests, found, indices, statuses);
        done = *found != 0;
        return code;
    });
}
int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
    return table.Irecv(buf, count, type, source, tag, comm, request);
}
int PMPI_Start(MPI_Request *request) {
    return table.Start(request);
}
int PMPI_Startall(int count, MPI_Request requests[]) {
    for (int i = 0; i < count; ++i) {
        table.Start(&requests[i]);
    }
    return MPI_SUCCESS;
}
int PMPI_Request_free(MPI_Request *request) {
    return table.Request_free(request);
}
int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    return table.Request_get_status(request, flag, status);
}
int PMPI_Grequest_complete(MPI_Request request) {
    return table.Grequest_complete(request);
}
int PMPI_Cancel(MPI_Request *request) {
    return table.Cancel(request);
}
int PMPI_Op_free(MPI_Op *op) {
    return table.Op_free(op);
}
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
    return table.Comm_set_attr(comm, keyval, value);
}
int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
    return table.Comm_call_errhandler(comm, code);
}
int PMPI_Send_init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Bsend_init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Ssend_init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Rsend_init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Recv_init(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *request) {
    return persistent(request);
}
// The rest does nothing: tests ask only what is counted.
int PMPI_Bsend(const void *, int, MPI_Datatype, int, int, MPI_Comm) {
    return MPI_SUCCESS;
}
int PMPI_Iprobe(int, int, MPI_Comm, int *flag, MPI_Status *) {
    *flag = 0;
    return MPI_SUCCESS;
}
int PMPI_Improbe(int, int, MPI_Comm, int *flag, MPI_Message *, MPI_Status *) {
    *flag = 0;
    return MPI_SUCCESS;
}
#if defined(THENCE_MPI_FILES)
int PMPI_File_read(MPI_File, void *, int, MPI_Datatype, MPI_Status *) {
    if (thence::fake::in_file_read) {
        thence::fake::in_file_read();
    }
    return MPI_SUCCESS;
}
int PMPI_File_write_at(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *) {
    return MPI_SUCCESS;
}
#endif
int PMPI_Put(const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win) {
    return MPI_SUCCESS;
}
int PMPI_Get(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win) {
    return MPI_SUCCESS;
}
int PMPI_Fetch_and_op(const void *, void *, MPI_Datatype, int, MPI_Aint, MPI_Op, MPI_Win) {
    return MPI_SUCCESS;
}
int PMPI_Win_flush(int, MPI_Win) {
    if (thence::fake::in_win_flush) {
        thence::fake::in_win_flush();
    }
    return MPI_SUCCESS;
}
int PMPI_Win_test(MPI_Win, int *flag) {
    *flag = thence::fake::exposure_ends() ? 1 : 0;
    return MPI_SUCCESS;
}
int PMPI_Win_wait(MPI_Win) {
    return wait_by("MPI_Win_wait", [](bool &done) {
        done = thence::fake::exposure_ends();
        return MPI_SUCCESS;
    });
}
int PMPI_Win_flush_local(int, MPI_Win) {
    return MPI_SUCCESS;
}
int PMPI_Win_flush_local_all(MPI_Win) {
    return MPI_SUCCESS;
}
#if defined(THENCE_MPI_PARTITIONED)
int PMPI_Psend_init(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Precv_init(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *request) {
    return persistent(request);
}
int PMPI_Pready(int, MPI_Request) {
    return MPI_SUCCESS;
}
int PMPI_Parrived(MPI_Request, int, int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
#endif

} // extern "C"
