// SPDX-License-Identifier: BSD-3-Clause
// MPI's own function, for calls that are interposed only for the sake of their communicator or requests. If streams are
// checked, the call is one of their stream (mpix/streams/serial_check.hpp). On a communicator of a stream with a queue
// such a call is refused, since MPI would do it at once, and not in the order of the queue.
//
// What is rare is not inlined, so that the fast path is a jump to MPI.
#pragma once

#include "interpose/calls/bytes.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/only_counted.hpp"
#include "mpix/streams/communicator.hpp"
#include "mpix/streams/serial_check.hpp"

#include <mpi.h>

#include <string_view>

namespace thence::pmpi {

template <auto function, class... Arguments>
__attribute__((noinline)) int checked_call(const char *name, MPI_Comm comm, Arguments... arguments) {
    const streams::serial_call on_stream(name, comm);
    return (*function)(arguments...);
}

// `name`: of the call.
template <auto function, class... Arguments>
inline int call_on(const char *name, MPI_Comm comm, Arguments... arguments) {
    if (streams::has_queue_if_any(comm)) [[unlikely]] {
        return streams::refuse_on_queue(name, comm);
    }
    return streams::streams_are_checked() ? checked_call<function>(name, comm, arguments...)
                                          : (*function)(arguments...);
}

// `starts`: it starts an operation, which is counted then.
template <auto function, bool starts, class... Arguments>
__attribute__((noinline)) int noted_start(const char *name, MPI_Comm comm, MPI_Request *request,
                                          Arguments... arguments) {
    const streams::serial_call on_stream(name, comm);
    const interpose::timed_call timed(name, interpose::call_kind::starts);
    if (request != nullptr) { // MPICH 5 returns MPI_SUCCESS after an error handler of the user
        *request = MPI_REQUEST_NULL;
    }
    const int code = (*function)(arguments..., request);
    if (code == MPI_SUCCESS && streams::streams_are_checked()) {
        streams::note_request(comm, request, starts);
    }
    if (starts) {
        const bool measures = interpose::measures_calls();
        interpose::count_if_started(code, request, measures ? bytes_of(name, comm, arguments...) : 0,
                                    measures && std::string_view(name).starts_with("MPI_File_"));
    }
    return code;
}

// A call that starts `*request`, its last argument, or creates it, if `starts` is false. `comm` is null if nobody knows
// it.
template <auto function, bool starts = true, class... Arguments>
inline int start_on(const char *name, MPI_Comm comm, MPI_Request *request, Arguments... arguments) {
    if (starts && interpose::calls_only_count()) [[unlikely]] {
        return interpose::count_started(request, [&] { return (*function)(arguments..., request); });
    }
    if (streams::has_queue_if_any(comm)) [[unlikely]] {
        return streams::refuse_on_queue(name, comm);
    }
    return interpose::communicators_matter() ? noted_start<function, starts>(name, comm, request, arguments...)
                                             : (*function)(arguments..., request);
}

// A call on requests.
template <auto function, class... Arguments>
__attribute__((noinline)) int checked_call_with(const char *name, int count, MPI_Request requests[],
                                                Arguments... arguments) {
    const streams::serial_call on_streams(name, count, requests);
    return (*function)(arguments...);
}
template <auto function, class... Arguments>
inline int call_with(const char *name, int count, MPI_Request requests[], Arguments... arguments) {
    return streams::streams_are_checked() ? checked_call_with<function>(name, count, requests, arguments...)
                                          : (*function)(arguments...);
}

} // namespace thence::pmpi

// A call without communicator that starts an operation, and is interposed only because operations are counted
// (core/progress/plain_operations.hpp). Its last argument, which is the request, is not among the parameters.
#define THENCE_STARTING(name, parameters, arguments)                                                                   \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Request *request) {                                     \
        return thence::pmpi::start_on<&THENCE_NEXT(name)>("MPI_" #name, MPI_COMM_NULL, request,                        \
                                                          THENCE_UNPACK arguments);                                    \
    }
