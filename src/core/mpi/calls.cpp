// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/calls.hpp"

#include "core/mpi/simulated.hpp"

#include <dlfcn.h>

namespace thence::mpi {

calls table = {
#define X(name) &PMPI_##name,
    THENCE_MPI_TABLE(X)
#undef X
};

namespace {

// An MPI that was loaded with local visibility (a Python module, say) is not in the global scope; its own library
// handle finds its symbols and those of what it depends on.
void *mpi_library() noexcept {
    Dl_info where{};
    if (dladdr(reinterpret_cast<void *>(table.Initialized), &where) != 0 && where.dli_fname != nullptr) {
        return dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    return nullptr;
}

template <class Function> void find(void *library, Function *&slot, const char *name) noexcept {
    void *symbol = library != nullptr ? dlsym(library, name) : nullptr;
    if (symbol == nullptr) {
        symbol = dlsym(RTLD_DEFAULT, name);
    }
    slot = reinterpret_cast<Function *>(symbol);
}

} // namespace

void load_extensions() noexcept {
    if (table.Initialized != &PMPI_Initialized) {
        return; // a test has replaced the table and has set the extensions too
    }
#if defined(SMPI_H)
    wait_in_simulated_time();
#endif
    void *library = mpi_library();
#if !defined(SMPI_H)
    find(library, table.comm_get_parent, "PMPI_Comm_get_parent");
#endif
#if defined(OPEN_MPI)
    find(library, table.opal_progress, "opal_progress");
    find(library, table.progress_register, "opal_progress_register");
    find(library, table.progress_unregister, "opal_progress_unregister");
    find(library, table.opal_uses_threads, "opal_uses_threads");
    find(library, table.pml_component, "mca_pml_base_selected_component");
    find(library, table.ompi_request_empty, "ompi_request_empty");
#elif defined(MPICH) || defined(MPICH_VERSION)
    find(library, table.request_is_complete, "PMPIX_Request_is_complete");
    find(library, table.async_start, "PMPIX_Async_start");
    find(library, table.stream_progress, "PMPIX_Stream_progress");
    find(library, table.stream_create, "PMPIX_Stream_create");
    find(library, table.stream_free, "PMPIX_Stream_free");
    find(library, table.stream_comm_create, "PMPIX_Stream_comm_create");
#endif
    find(library, table.query_gpu_support[0], "MPIX_Query_cuda_support");
    find(library, table.query_gpu_support[1], "MPIX_Query_ze_support");
    find(library, table.query_gpu_support[2], "MPIX_Query_hip_support"); // MPICH
    if (table.query_gpu_support[2] == nullptr) {
        find(library, table.query_gpu_support[2], "MPIX_Query_rocm_support"); // Open MPI
    }
    if (library != nullptr) {
        dlclose(library);
    }
}

void load_type_calls() noexcept {
    if (table.Initialized != &PMPI_Initialized) {
        return; // as above
    }
    void *library = mpi_library();
    find(library, table.type_get_envelope_c, "PMPI_Type_get_envelope_c");
    find(library, table.type_get_contents_c, "PMPI_Type_get_contents_c");
    if (table.type_get_envelope_c == nullptr || table.type_get_contents_c == nullptr) {
        table.type_get_envelope_c = nullptr;
        table.type_get_contents_c = nullptr;
    }
    if (library != nullptr) {
        dlclose(library);
    }
}

int report(int code) noexcept {
    if (code != MPI_SUCCESS && usable()) {
        table.Comm_call_errhandler(MPI_COMM_WORLD, code);
    }
    return code;
}

const MPI_Status &empty_status() noexcept {
    static const MPI_Status empty = [] {
        MPI_Status status{};
        MPI_Request null = MPI_REQUEST_NULL;
        int flag = 0;
        table.Test(&null, &flag, &status);
        status.MPI_ERROR = MPI_SUCCESS;
        return status;
    }();
    return empty;
}

bool usable() noexcept {
    int initialized = 0;
    int finalized = 0;
    table.Initialized(&initialized);
    if (initialized != 0) {
        table.Finalized(&finalized);
    }
    return initialized != 0 && finalized == 0;
}

bool thread_multiple() noexcept {
    int level = MPI_THREAD_SINGLE;
    table.Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

bool waiting_threads_share_progress() noexcept {
    return thread_multiple() || (table.opal_uses_threads != nullptr && *table.opal_uses_threads);
}

bool can_progress_for_others() noexcept {
    return table.opal_progress != nullptr && waiting_threads_share_progress();
}

void progress() noexcept {
    table.opal_progress();
}

void progress_by_probe() noexcept {
#if defined(SMPI_H)
    if (!may_probe_in_simulated_time()) {
        return;
    }
#endif
    constexpr int unused_tag = 32767; // the largest tag that every MPI has
    int flag = 0;
    table.Iprobe(MPI_ANY_SOURCE, unused_tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

} // namespace thence::mpi
