// SPDX-License-Identifier: BSD-3-Clause
// The calls of TAMPI under their names in Fortran, with one underscore at the end, as compilers for Linux spell them.
// The wrappers let MPI's own call in Fortran start the operation, which converts all arguments, and bind its request.
#include <TAMPI.h>

#include <cstdio>
#include <new>
#include <vector>

#define TAMPI_FORTRAN extern "C" TAMPI_EXPORT_

namespace {

// Statuses have the same bytes in Fortran and in C (calls.cpp checks that).
MPI_Status *status_of(void *status, const void *ignored) {
    return status == ignored ? MPI_STATUS_IGNORE : static_cast<MPI_Status *>(status);
}
MPI_Status *statuses_of(void *statuses, const void *ignored) {
    return statuses == ignored ? MPI_STATUSES_IGNORE : static_cast<MPI_Status *>(statuses);
}

template <class Call> int on_one(MPI_Fint *handle, Call call) {
    MPI_Request request = MPI_Request_f2c(*handle);
    const int code = call(&request);
    *handle = MPI_Request_c2f(request);
    return code;
}

template <class Call> int on_several(MPI_Fint count, MPI_Fint handles[], Call call) try {
    std::vector<MPI_Request> requests;
    requests.reserve(count > 0 ? static_cast<std::size_t>(count) : 1);
    for (MPI_Fint i = 0; i < count; ++i) {
        requests.push_back(MPI_Request_f2c(handles[i]));
    }
    const int code = call(count, requests.data());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        handles[i] = MPI_Request_c2f(requests[i]);
    }
    return code;
} catch (const std::bad_alloc &) {
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

void bind(MPI_Fint *request, void *status, MPI_Fint *error) {
    if (*error == MPI_SUCCESS) {
        *error = on_one(request, [&](MPI_Request *started) {
            return thence_tampi_bind_(MPI_SUCCESS, started, status_of(status, MPI_F_STATUS_IGNORE));
        });
    }
}

} // namespace

TAMPI_FORTRAN void tampi_iwait_(MPI_Fint *request, void *status, MPI_Fint *error) {
    *error = on_one(request, [&](MPI_Request *it) { return TAMPI_Iwait(it, status_of(status, MPI_F_STATUS_IGNORE)); });
}
TAMPI_FORTRAN void tampi_iwaitall_(const MPI_Fint *count, MPI_Fint requests[], void *statuses, MPI_Fint *error) {
    *error = on_several(*count, requests, [&](int n, MPI_Request *all) {
        return TAMPI_Iwaitall(n, all, statuses_of(statuses, MPI_F_STATUSES_IGNORE));
    });
}
TAMPI_FORTRAN void tampi_wait_internal_(MPI_Fint *request, void *status, MPI_Fint *error) {
    *error = on_one(request, [&](MPI_Request *it) { return TAMPI_Wait(it, status_of(status, MPI_F_STATUS_IGNORE)); });
}
TAMPI_FORTRAN void tampi_waitall_internal_(const MPI_Fint *count, MPI_Fint requests[], void *statuses,
                                           MPI_Fint *error) {
    *error = on_several(*count, requests, [&](int n, MPI_Request *all) {
        return TAMPI_Waitall(n, all, statuses_of(statuses, MPI_F_STATUSES_IGNORE));
    });
}
TAMPI_FORTRAN void tampi_property_get_(const MPI_Fint *property, MPI_Fint *value, MPI_Fint *error) {
    *error = TAMPI_Property_get(*property, value);
}
TAMPI_FORTRAN void tampi_property_set_(const MPI_Fint *property, const MPI_Fint *value, MPI_Fint *error) {
    *error = TAMPI_Property_set(*property, *value);
}
TAMPI_FORTRAN void tampi_init_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error) {
    *error = TAMPI_Init(*required, provided);
}
TAMPI_FORTRAN void tampi_finalize_(MPI_Fint *error) {
    *error = TAMPI_Finalize();
}
TAMPI_FORTRAN void tampi_blocking_enabled_(MPI_Fint *flag, MPI_Fint *error) {
    *error = TAMPI_Blocking_enabled(flag);
}
TAMPI_FORTRAN void tampi_nonblocking_enabled_(MPI_Fint *flag, MPI_Fint *error) {
    *error = TAMPI_Nonblocking_enabled(flag);
}

// For the module tampi_f08, whose MPI_STATUS_IGNORE may be another variable than that of mpif.h.
TAMPI_FORTRAN int thence_tampi_f_iwait(MPI_Fint *request, void *status, const void *ignored) {
    return on_one(request, [&](MPI_Request *it) { return TAMPI_Iwait(it, status_of(status, ignored)); });
}
TAMPI_FORTRAN int thence_tampi_f_iwaitall(MPI_Fint count, MPI_Fint requests[], void *statuses, const void *ignored) {
    return on_several(count, requests,
                      [&](int n, MPI_Request *all) { return TAMPI_Iwaitall(n, all, statuses_of(statuses, ignored)); });
}

TAMPI_FORTRAN int thence_tampi_f_same(const void *first, const void *second) {
    return first == second ? 1 : 0;
}
TAMPI_FORTRAN int thence_tampi_f_refuse(const char *call, const char *why) {
    std::fprintf(stderr, "thence: %s: %s\n", call, why);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
    return MPI_ERR_ARG;
}

// Arguments in Fortran are addresses, so a wrapper only needs their number.
#define TAMPI_PARAMETERS_1 void *a
#define TAMPI_PARAMETERS_5 void *a, void *b, void *c, void *d, void *e
#define TAMPI_PARAMETERS_6 TAMPI_PARAMETERS_5, void *f
#define TAMPI_PARAMETERS_7 TAMPI_PARAMETERS_6, void *g
#define TAMPI_PARAMETERS_8 TAMPI_PARAMETERS_7, void *h
#define TAMPI_PARAMETERS_9 TAMPI_PARAMETERS_8, void *i
#define TAMPI_ARGUMENTS_1 a
#define TAMPI_ARGUMENTS_5 a, b, c, d, e
#define TAMPI_ARGUMENTS_6 TAMPI_ARGUMENTS_5, f
#define TAMPI_ARGUMENTS_7 TAMPI_ARGUMENTS_6, g
#define TAMPI_ARGUMENTS_8 TAMPI_ARGUMENTS_7, h
#define TAMPI_ARGUMENTS_9 TAMPI_ARGUMENTS_8, i
#define TAMPI_WRAPPER(name, n)                                                                                         \
    extern "C" void mpi_##name##_(TAMPI_PARAMETERS_##n, MPI_Fint *request, MPI_Fint *error);                           \
    TAMPI_FORTRAN void tampi_##name##_internal_(TAMPI_PARAMETERS_##n, MPI_Fint *request, MPI_Fint *error) {            \
        mpi_##name##_(TAMPI_ARGUMENTS_##n, request, error);                                                            \
        bind(request, MPI_F_STATUS_IGNORE, error);                                                                     \
    }
TAMPI_WRAPPER(isend, 6)
TAMPI_WRAPPER(ibsend, 6)
TAMPI_WRAPPER(irsend, 6)
TAMPI_WRAPPER(issend, 6)
TAMPI_WRAPPER(ibarrier, 1)
TAMPI_WRAPPER(ibcast, 5)
TAMPI_WRAPPER(igather, 8)
TAMPI_WRAPPER(igatherv, 9)
TAMPI_WRAPPER(iscatter, 8)
TAMPI_WRAPPER(iscatterv, 9)
TAMPI_WRAPPER(iallgather, 7)
TAMPI_WRAPPER(iallgatherv, 8)
TAMPI_WRAPPER(ialltoall, 7)
TAMPI_WRAPPER(ialltoallv, 9)
TAMPI_WRAPPER(ialltoallw, 9)
TAMPI_WRAPPER(ireduce, 7)
TAMPI_WRAPPER(iallreduce, 6)
TAMPI_WRAPPER(ireduce_scatter, 6)
TAMPI_WRAPPER(ireduce_scatter_block, 6)
TAMPI_WRAPPER(iscan, 6)
TAMPI_WRAPPER(iexscan, 6)

extern "C" void mpi_irecv_(TAMPI_PARAMETERS_6, MPI_Fint *request, MPI_Fint *error);
TAMPI_FORTRAN void tampi_irecv_internal_(TAMPI_PARAMETERS_6, MPI_Fint *request, void *status, MPI_Fint *error) {
    mpi_irecv_(TAMPI_ARGUMENTS_6, request, error);
    bind(request, status, error);
}
