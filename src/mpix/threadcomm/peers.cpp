// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/peers.hpp"

namespace thence::threadcomm {

namespace {

constexpr const char *above_bound = "the tag is above MPI_TAG_UB";

bool describe_or_fail(const char *call, const communicator &comm, const message_arguments &message,
                      endpoint::buffer &data, int &code) noexcept {
    switch (endpoint::describe(message.buffer, message.count, message.type, data)) {
    case MPI_SUCCESS:
        return true;
    case MPI_ERR_COUNT:
        code = fail(comm.handle, call, MPI_ERR_COUNT, "count is negative");
        return false;
    default:
        code = fail(comm.handle, call, MPI_ERR_TYPE, "the datatype is null or cannot be used");
        return false;
    }
}

} // namespace

endpoint::outcome no_message() noexcept {
    endpoint::outcome result;
    result.source = MPI_PROC_NULL;
    result.tag = MPI_ANY_TAG;
    return result;
}

member *check_self(const char *call, communicator &comm, int &code) noexcept {
    member *const me = self(comm);
    if (me == nullptr) {
        code = fail(comm.handle, call, MPI_ERR_COMM,
                    "this thread is not between MPIX_Threadcomm_start and MPIX_Threadcomm_finish of the communicator");
    }
    return me;
}

member *check_send(const char *call, communicator &comm, const message_arguments &message, endpoint::buffer &data,
                   int &code) noexcept {
    member *const me = check_self(call, comm, code);
    if (me == nullptr || !describe_or_fail(call, comm, message, data, code)) {
        return nullptr;
    }
    if (message.peer != MPI_PROC_NULL && (message.peer < 0 || message.peer >= comm.size())) {
        code = fail(comm.handle, call, MPI_ERR_RANK, "dest is no rank of the thread communicator");
        return nullptr;
    }
    if (message.tag < 0 || message.tag > comm.largest_tag) {
        code = fail(comm.handle, call, MPI_ERR_TAG, message.tag < 0 ? "the tag is negative" : above_bound);
        return nullptr;
    }
    return me;
}

member *check_source(const char *call, communicator &comm, int source, int tag, int &code) noexcept {
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return nullptr;
    }
    if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && (source < 0 || source >= comm.size())) {
        code = fail(comm.handle, call, MPI_ERR_RANK, "source is no rank of the thread communicator");
        return nullptr;
    }
    if (tag != MPI_ANY_TAG && (tag < 0 || tag > comm.largest_tag)) {
        code = fail(comm.handle, call, MPI_ERR_TAG, tag < 0 ? "the tag is negative and not MPI_ANY_TAG" : above_bound);
        return nullptr;
    }
    return me;
}

member *check_receive(const char *call, communicator &comm, const message_arguments &message, endpoint::buffer &data,
                      int &code) noexcept {
    member *const me = check_source(call, comm, message.peer, message.tag, code);
    return me == nullptr || !describe_or_fail(call, comm, message, data, code) ? nullptr : me;
}

} // namespace thence::threadcomm
