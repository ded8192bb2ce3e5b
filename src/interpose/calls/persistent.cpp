// SPDX-License-Identifier: BSD-3-Clause
// The calls that create persistent requests: they are noted, since some MPIs cannot tell such a request from another.
#include "interpose/calls/collective_table.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

using namespace thence::interpose;

namespace {

// `name`: of the call.
template <auto function, class... Arguments>
int create(const char *name, MPI_Comm comm, bool can_be_cancelled, MPI_Request *request, Arguments... arguments) {
    const int code = thence::pmpi::start_on<function, false>(name, comm, request, arguments...);
    if (code == MPI_SUCCESS && request != nullptr) { // MPICH 5 returns MPI_SUCCESS after an error handler of the user
        created_persistent(*request, can_be_cancelled,
                           measures_calls() ? thence::pmpi::bytes_of(name, comm, arguments...) : 0);
    }
    return code;
}

} // namespace

extern "C" {

#define POINT_TO_POINT(name, buffer, count_t)                                                                          \
    THENCE_EXPORT int MPI_##name(buffer buf, count_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,       \
                                 MPI_Request *request) {                                                               \
        if (const auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                          \
            return thence::pmpi::refuse_on(*threads, "MPI_" #name);                                                    \
        }                                                                                                              \
        return create<&THENCE_NEXT(name)>("MPI_" #name, comm, true, request, buf, count, type, peer, tag, comm);       \
    }
POINT_TO_POINT(Send_init, const void *, int)
POINT_TO_POINT(Bsend_init, const void *, int)
POINT_TO_POINT(Ssend_init, const void *, int)
POINT_TO_POINT(Rsend_init, const void *, int)
POINT_TO_POINT(Recv_init, void *, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
POINT_TO_POINT(Send_init_c, const void *, MPI_Count)
POINT_TO_POINT(Bsend_init_c, const void *, MPI_Count)
POINT_TO_POINT(Ssend_init_c, const void *, MPI_Count)
POINT_TO_POINT(Rsend_init_c, const void *, MPI_Count)
POINT_TO_POINT(Recv_init_c, void *, MPI_Count)
#endif

#if defined(THENCE_MPI_PARTITIONED)
#define PARTITIONED(name, buffer)                                                                                      \
    THENCE_EXPORT int MPI_##name(buffer buf, int partitions, MPI_Count count, MPI_Datatype type, int peer, int tag,    \
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {                                 \
        if (const auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                          \
            return thence::pmpi::refuse_on(*threads, "MPI_" #name);                                                    \
        }                                                                                                              \
        return create<&THENCE_NEXT(name)>("MPI_" #name, comm, false, request, buf, partitions, count, type, peer, tag, \
                                          comm, info);                                                                 \
    }
PARTITIONED(Psend_init, const void *)
PARTITIONED(Precv_init, void *)
#endif

#define COLLECTIVE(name, parameters, arguments)                                                                        \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Info info, MPI_Request *request) {                      \
        if (const auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                          \
            return thence::pmpi::refuse_on(*threads, "MPI_" #name);                                                    \
        }                                                                                                              \
        return create<&THENCE_NEXT(name)>("MPI_" #name, comm, false, request, THENCE_UNPACK arguments, info);          \
    }
#if defined(THENCE_MPI_PERSISTENT_COLLECTIVES)
#define WITH_INTS(name, parameters, arguments) COLLECTIVE(name##_init, parameters, arguments)
COLLECTIVE(Barrier_init, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(WITH_INTS, int, int)
#endif
#if defined(THENCE_MPI_LARGE_COUNTS)
#define WITH_COUNTS(name, parameters, arguments) COLLECTIVE(name##_init_c, parameters, arguments)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
