// SPDX-License-Identifier: BSD-3-Clause
// Calls on a part of a message that was started. They are interposed only because calls are counted and measured
// (core/progress/plain_operations.hpp): they start and end no operation.
#include "interpose/calls/next.hpp"
#include "interpose/requests/counted.hpp"

#include <thence/thence.h>

#include <tuple>

#if defined(THENCE_MPI_PARTITIONED)

using namespace thence::interpose;

namespace {

// Open MPI 5 has the array without const.
template <class... Parameters> std::tuple_element_t<1, std::tuple<Parameters...>> second_of(int (*)(Parameters...));
using partition_list = decltype(second_of(&PMPI_Pready_list));

} // namespace

extern "C" {

#define ON_PARTS(kind, name, parameters, arguments)                                                                    \
    THENCE_EXPORT int MPI_##name parameters {                                                                          \
        const asking_call asks("MPI_" #name, call_kind::kind);                                                         \
        return THENCE_NEXT(name) arguments;                                                                            \
    }
ON_PARTS(starts, Pready, (int partition, MPI_Request request), (partition, request))
ON_PARTS(starts, Pready_range, (int first, int last, MPI_Request request), (first, last, request))
ON_PARTS(starts, Pready_list, (int length, partition_list partitions, MPI_Request request),
         (length, partitions, request))
ON_PARTS(tests, Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag))

} // extern "C"

#endif
