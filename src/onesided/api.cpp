// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/notify.h> that make spaces and segments, and tell about them. A collective call finds errors of
// any process in all of them; only null pointers, where this process can give back nothing, are refused alone.
#include "onesided/checks.hpp"

#include "core/api/sized.hpp"
#include "onesided/source.hpp"

using namespace thence;
using api::fail;
namespace reason = api::reason;
using onesided::object_of;

namespace {

constexpr api::failure null_out_space{MPI_ERR_ARG, "space is null"};
constexpr std::size_t first_segment_info = THENCE_SIZE_UP_TO(thence_segment_info, why);
static_assert(sizeof(thence_segment_info) == first_segment_info);

// `in`: null if there is no such space.
int failed(const char *call, int code, onesided::space *in, const char *pending) noexcept {
    if (code == MPI_ERR_OTHER && in != nullptr && in->any_is_gone()) {
        return fail(call, {MPI_ERR_OTHER, "a process of the space has ended"});
    }
    switch (code) {
    case MPI_SUCCESS:
        return MPI_SUCCESS;
    case MPI_ERR_NO_MEM:
        return fail(call, {MPI_ERR_NO_MEM, "memory is exhausted in a process; nothing has changed"});
    case MPI_ERR_PENDING:
        return fail(call, {MPI_ERR_PENDING, pending});
    default:
        return code; // of MPI
    }
}

int create_segment(const char *call, thence_space space, void *memory, std::size_t bytes, unsigned notifications,
                   thence_segment *created) noexcept {
    if (created == nullptr) {
        return fail(call, reason::null_segment);
    }
    if (notifications > THENCE_MOST_NOTIFICATIONS) {
        return fail(call, {MPI_ERR_ARG, "more notifications than THENCE_MOST_NOTIFICATIONS"});
    }
    onesided::segment *made = nullptr;
    onesided::space &in = *object_of(space);
    const int code = in.create_segment(memory, bytes, notifications, made);
    if (code == MPI_SUCCESS) {
        *created = reinterpret_cast<thence_segment>(made);
    }
    return failed(call, code, &in, nullptr);
}

} // namespace

namespace thence::onesided {

mpi::failure wrong_target(const segment *at, int rank, int queue) noexcept {
    if (at == nullptr) {
        return reason::null_segment;
    }
    if (rank < 0 || rank >= at->in.size()) {
        return reason::no_rank;
    }
    if (queue < 0 || static_cast<std::size_t>(queue) >= at->in.queues.size()) {
        return reason::no_queue;
    }
    return {};
}

mpi::failure wrong_range(const segment &at, int rank, std::size_t offset, const void *local,
                         std::size_t bytes) noexcept {
    const part &to = at.part_of(rank);
    if (offset > to.bytes || bytes > to.bytes - offset) {
        return {MPI_ERR_ARG, "offset and length go beyond the end of the part of that process"};
    }
    if (local == nullptr && bytes != 0) {
        return {MPI_ERR_ARG, "the local address is null"};
    }
    return {};
}

mpi::failure wrong_notification(const segment &at, int rank, unsigned number, std::uint32_t value) noexcept {
    if (number >= at.part_of(rank).notifications) {
        return reason::no_notification;
    }
    if (value == 0) {
        return {MPI_ERR_ARG, "the value of a notification is 0, which means that none has arrived"};
    }
    return {};
}

} // namespace thence::onesided

extern "C" {

int thence_space_create(MPI_Comm comm, int queues, thence_space *space) {
    constexpr const char *call = "thence_space_create";
    if (space == nullptr) {
        return fail(call, null_out_space);
    }
    if (comm == MPI_COMM_NULL) {
        return fail(call, reason::null_comm);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    int between_groups = 0;
    mpi::table.Comm_test_inter(comm, &between_groups);
    if (between_groups != 0) {
        return fail(call, reason::intercommunicator);
    }
    if (!onesided::set_up()) {
        return fail(call, reason::too_many_sources);
    }
    std::unique_ptr<onesided::space> made;
    const int given = queues <= THENCE_MOST_QUEUES ? queues : -1;
    const int code = onesided::space::create(comm, given, false, made);
    if (code == MPI_ERR_ARG) {
        return fail(call, {MPI_ERR_ARG, "queues is not 1 to THENCE_MOST_QUEUES, or not the same in all processes"});
    }
    if (code == MPI_SUCCESS) {
        *space = reinterpret_cast<thence_space>(made.release());
    }
    return failed(call, code, nullptr, nullptr);
}

int thence_space_free(thence_space *space) {
    constexpr const char *call = "thence_space_free";
    if (space == nullptr || *space == nullptr) {
        return fail(call, reason::null_space);
    }
    onesided::space *const freed = object_of(*space);
    const int code = freed->end();
    if (code == MPI_SUCCESS) {
        delete freed;
        *space = nullptr;
    }
    return failed(call, code, code == MPI_SUCCESS ? nullptr : freed,
                  "in some process a segment of the space is not freed, or an operation of a queue is not complete");
}

int thence_segment_create(thence_space space, size_t bytes, unsigned notifications, thence_segment *segment) {
    constexpr const char *call = "thence_segment_create";
    if (space == nullptr) {
        return fail(call, reason::null_space);
    }
    return create_segment(call, space, nullptr, bytes, notifications, segment);
}

int thence_segment_create_on(thence_space space, void *memory, size_t bytes, unsigned notifications,
                             thence_segment *segment) {
    constexpr const char *call = "thence_segment_create_on";
    if (space == nullptr) {
        return fail(call, reason::null_space);
    }
    if (memory == nullptr && bytes != 0) {
        return fail(call, {MPI_ERR_ARG, "memory is null although bytes is not 0"});
    }
    return create_segment(call, space, memory, bytes, notifications, segment);
}

int thence_segment_free(thence_segment *segment) {
    constexpr const char *call = "thence_segment_free";
    if (segment == nullptr || *segment == nullptr) {
        return fail(call, reason::null_segment);
    }
    onesided::segment *const freed = object_of(*segment);
    onesided::space &in = freed->in;
    const int code = in.free_segment(*freed);
    if (code == MPI_SUCCESS) {
        *segment = nullptr;
    }
    return failed(call, code, &in,
                  "in some process an operation of a queue is not complete, or a notification is waited for");
}

int thence_segment_query(thence_segment segment, int rank, thence_segment_info *info, size_t size) {
    constexpr const char *call = "thence_segment_query";
    if (segment == nullptr) {
        return fail(call, reason::null_segment);
    }
    if (info == nullptr || size < first_segment_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    const onesided::segment &asked = *object_of(segment);
    if (rank < 0 || rank >= asked.in.size()) {
        return fail(call, reason::no_rank);
    }
    const onesided::part &known = asked.part_of(rank);
    thence_segment_info facts{};
    facts.memory = rank == asked.in.rank() ? asked.own().memory : nullptr;
    facts.bytes = known.bytes;
    facts.notifications = known.notifications;
    facts.transport = known.how == onesided::way::by_memory ? "memory"
                      : known.how == onesided::way::by_copy ? "process_vm_writev"
                                                            : "messages";
    facts.why = known.why;
    api::copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

} // extern "C"
