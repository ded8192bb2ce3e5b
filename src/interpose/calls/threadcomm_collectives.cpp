// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives, which are interposed only because the communicator may be a thread communicator, or that of
// a stream. (Blocking ones are in collectives.cpp.)
#include "interpose/calls/collective_table.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/calls/on_threadcomm_collectives.hpp"

#include <thence/thence.h>

#define NONBLOCKING(name, common_name, parameters, arguments)                                                          \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Request *request) {                                     \
        if (auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {                                \
            if (request == nullptr) {                                                                                  \
                return thence::pmpi::refuse_null_request(*threads, "MPI_" #name);                                      \
            }                                                                                                          \
            thence::threadcomm::collective_call call("MPI_" #name, *threads, request);                                 \
            return thence::pmpi::on_threads::common_name(call, THENCE_UNPACK arguments);                               \
        }                                                                                                              \
        return thence::pmpi::start_on<&THENCE_NEXT(name)>("MPI_" #name, comm, request, THENCE_UNPACK arguments);       \
    }

#define WITH_INT(name, parameters, arguments) NONBLOCKING_OF(THENCE_I_##name, name, parameters, arguments)
#define WITH_COUNTS(name, parameters, arguments)                                                                       \
    NONBLOCKING_OF(THENCE_PASTE(THENCE_I_##name, _c), name, parameters, arguments)
#define NONBLOCKING_OF(name, common_name, parameters, arguments) NONBLOCKING(name, common_name, parameters, arguments)

extern "C" {

NONBLOCKING(Ibarrier, Barrier, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(WITH_INT, int, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
