// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/notify.h> that start operations, and those of queues.
#include "onesided/checks.hpp"

#include "core/continuation/run.hpp"
#include "core/progress/backoff.hpp"
#include "onesided/list_request.hpp"

#include <memory>
#include <new>

using namespace thence;
using api::fail;
namespace reason = api::reason;
using onesided::object_of;

namespace {

using onesided::ended;
using onesided::signal;

// Checks what puts and gets have in common.
inline mpi::failure wrong(const void *local, std::size_t bytes, int rank, thence_segment segment, std::size_t offset,
                          int queue) noexcept {
    const onesided::segment *const at = object_of(segment);
    if (const mpi::failure why = onesided::wrong_target(at, rank, queue)) {
        return why;
    }
    if (const mpi::failure why = onesided::wrong_range(*at, rank, offset, local, bytes)) {
        return why;
    }
    return {};
}

mpi::failure wrong(int count, const thence_piece pieces[], int rank, int queue,
                   const onesided::space *of_signal) noexcept {
    if (count < 0) {
        return reason::negative_count;
    }
    if (pieces == nullptr && count != 0) {
        return {MPI_ERR_ARG, "pieces is null"};
    }
    for (int i = 0; i < count; ++i) {
        const thence_piece &each = pieces[i];
        if (const mpi::failure why = wrong(each.local, each.bytes, rank, each.segment, each.offset, queue)) {
            return why;
        }
        const onesided::space *const first = of_signal != nullptr ? of_signal : &object_of(pieces[0].segment)->in;
        if (&object_of(each.segment)->in != first) {
            return {MPI_ERR_ARG, "the segments are of different spaces"};
        }
    }
    return {};
}

int atomic(const char *call, wire::kind what, const std::uint64_t (&operands)[2], int rank, thence_segment segment,
           std::size_t offset, std::uint64_t *old, int queue, MPI_Request *request) noexcept {
    if (const mpi::failure why = wrong(old, sizeof *old, rank, segment, offset, queue)) {
        return fail(call, why);
    }
    const onesided::segment &at = *object_of(segment);
    if (offset % sizeof *old != 0 || at.part_of(rank).address % sizeof *old != 0) {
        return fail(call, {MPI_ERR_ARG, "the word is not aligned to 8 bytes"});
    }
    return ended(call, onesided::atomic(what, operands, {object_of(segment), rank, offset}, old, queue, {request}));
}

// What the operations of a list belong to: a request, or the queue.
class list_of_operations {
public:
    explicit list_of_operations(MPI_Request *request) noexcept : request_(request) {
        if (request != nullptr) {
            made_.reset(new (std::nothrow) onesided::list_request);
            how_.in = made_ != nullptr ? &made_->pending_pieces : nullptr;
        }
    }
    bool is_missing() const noexcept { return request_ != nullptr && made_ == nullptr; }
    const onesided::completion &how() const noexcept { return how_; }

    // `code`: what the operations have returned. After an error those before it belong to the queue.
    int end(const char *call, int code, onesided::space &in, int queue) noexcept {
        if (made_ == nullptr) {
            return ended(call, code);
        }
        const bool is_under_way = made_->pending_pieces.size() != 0;
        const int error = code != MPI_SUCCESS || !is_under_way ? code : made_->start();
        if (error != MPI_SUCCESS) {
            in.queue_of(queue).add_all_of(made_->pending_pieces);
            return ended(call, error);
        }
        *request_ = made_->request;
        if (is_under_way) {
            in.add_list(*made_.release()); // MPI owns it
        }
        return MPI_SUCCESS;
    }

private:
    MPI_Request *request_;
    std::unique_ptr<onesided::list_request> made_;
    onesided::completion how_;
};

// `start(i, how)` starts the operation of a piece, one after the other.
template <class Start>
int start_list(const char *call, int count, onesided::space *in, int queue, MPI_Request *request,
               Start start) noexcept {
    if (in == nullptr) { // no piece, and no notification
        if (request != nullptr) {
            *request = MPI_REQUEST_NULL;
        }
        return MPI_SUCCESS;
    }
    list_of_operations list(request);
    if (list.is_missing()) {
        return fail(call, reason::no_memory);
    }
    int code = MPI_SUCCESS;
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
        code = start(i, list.how());
    }
    return list.end(call, code, *in, queue);
}

// `start(how)` starts an operation that moves so many bytes. More than one message may move are the list of one piece:
// its request is complete when all messages are. Only the call itself knows whether it sends any.
template <class Start>
int start_one(const char *call, std::size_t bytes, thence_segment segment, int queue, MPI_Request *request,
              Start start) noexcept {
    if (request == nullptr || bytes <= onesided::most_in_message) [[likely]] {
        return ended(call, start(onesided::completion{request}));
    }
    return start_list(call, 1, &object_of(segment)->in, queue, request,
                      [&](int, const onesided::completion &how) { return start(how); });
}

onesided::space *space_of(int count, const thence_piece pieces[]) noexcept {
    return count != 0 ? &object_of(pieces[0].segment)->in : nullptr;
}

int put_list(const char *call, int count, const thence_piece pieces[], int rank, const signal &after, int queue,
             MPI_Request *request) noexcept {
    onesided::list_of_puts list;
    const auto start = [&](int i, onesided::completion how) {
        const thence_piece &each = pieces[i];
        how.list = count > 1 && after.value != 0 ? &list : nullptr;
        return onesided::put(each.local, each.bytes, {object_of(each.segment), rank, each.offset},
                             i + 1 == count ? after : signal{}, queue, how);
    };
    const int code = count == 0 && after.value != 0 ? onesided::notify(rank, after, queue, {}) : int{MPI_SUCCESS};
    return code == MPI_SUCCESS ? start_list(call, count, space_of(count, pieces), queue, request, start)
                               : ended(call, code);
}

} // namespace

extern "C" {

int thence_put(const void *from, size_t bytes, int rank, thence_segment segment, size_t offset, int queue,
               MPI_Request *request) {
    constexpr const char *call = "thence_put";
    if (const mpi::failure why = wrong(from, bytes, rank, segment, offset, queue)) {
        return fail(call, why);
    }
    return start_one(call, bytes, segment, queue, request, [&](const onesided::completion &how) {
        return onesided::put(from, bytes, {object_of(segment), rank, offset}, {}, queue, how);
    });
}

int thence_get(void *to, size_t bytes, int rank, thence_segment segment, size_t offset, int queue,
               MPI_Request *request) {
    constexpr const char *call = "thence_get";
    if (const mpi::failure why = wrong(to, bytes, rank, segment, offset, queue)) {
        return fail(call, why);
    }
    return start_one(call, bytes, segment, queue, request, [&](const onesided::completion &how) {
        return onesided::get(to, bytes, {object_of(segment), rank, offset}, queue, how);
    });
}

int thence_notify(int rank, thence_segment segment, unsigned notification, uint32_t value, int queue) {
    constexpr const char *call = "thence_notify";
    onesided::segment *const at = object_of(segment);
    if (const mpi::failure why = onesided::wrong_target(at, rank, queue)) {
        return fail(call, why);
    }
    if (const mpi::failure why = onesided::wrong_notification(*at, rank, notification, value)) {
        return fail(call, why);
    }
    return ended(call, onesided::notify(rank, {at, notification, value}, queue, {}));
}

int thence_put_notify(const void *from, size_t bytes, int rank, thence_segment segment, size_t offset,
                      unsigned notification, uint32_t value, int queue, MPI_Request *request) {
    constexpr const char *call = "thence_put_notify";
    if (const mpi::failure why = wrong(from, bytes, rank, segment, offset, queue)) {
        return fail(call, why);
    }
    onesided::segment *const at = object_of(segment);
    if (const mpi::failure why = onesided::wrong_notification(*at, rank, notification, value)) {
        return fail(call, why);
    }
    return start_one(call, bytes, segment, queue, request, [&](const onesided::completion &how) {
        return onesided::put(from, bytes, {at, rank, offset}, {at, notification, value}, queue, how);
    });
}

int thence_put_list(int count, const thence_piece pieces[], int rank, int queue, MPI_Request *request) {
    constexpr const char *call = "thence_put_list";
    if (const mpi::failure why = wrong(count, pieces, rank, queue, nullptr)) {
        return fail(call, why);
    }
    return put_list(call, count, pieces, rank, {}, queue, request);
}

int thence_put_list_notify(int count, const thence_piece pieces[], int rank, thence_segment segment,
                           unsigned notification, uint32_t value, int queue, MPI_Request *request) {
    constexpr const char *call = "thence_put_list_notify";
    onesided::segment *const at = object_of(segment);
    if (const mpi::failure why = onesided::wrong_target(at, rank, queue)) {
        return fail(call, why);
    }
    if (const mpi::failure why = onesided::wrong_notification(*at, rank, notification, value)) {
        return fail(call, why);
    }
    if (const mpi::failure why = wrong(count, pieces, rank, queue, &at->in)) {
        return fail(call, why);
    }
    return put_list(call, count, pieces, rank, {at, notification, value}, queue, request);
}

int thence_get_list(int count, const thence_piece pieces[], int rank, int queue, MPI_Request *request) {
    constexpr const char *call = "thence_get_list";
    if (const mpi::failure why = wrong(count, pieces, rank, queue, nullptr)) {
        return fail(call, why);
    }
    const auto start = [&](int i, const onesided::completion &how) {
        const thence_piece &each = pieces[i];
        return onesided::get(each.local, each.bytes, {object_of(each.segment), rank, each.offset}, queue, how);
    };
    return start_list(call, count, space_of(count, pieces), queue, request, start);
}

int thence_fetch_add(uint64_t value, int rank, thence_segment segment, size_t offset, uint64_t *old, int queue,
                     MPI_Request *request) {
    return atomic("thence_fetch_add", wire::kind::fetch_add, {value, 0}, rank, segment, offset, old, queue, request);
}

int thence_compare_swap(uint64_t expected, uint64_t value, int rank, thence_segment segment, size_t offset,
                        uint64_t *old, int queue, MPI_Request *request) {
    return atomic("thence_compare_swap", wire::kind::compare_swap, {expected, value}, rank, segment, offset, old, queue,
                  request);
}

int thence_queue_flush(thence_space space, int queue) {
    constexpr const char *call = "thence_queue_flush";
    if (space == nullptr) {
        return fail(call, reason::null_space);
    }
    onesided::space &in = *object_of(space);
    if (queue < 0 || static_cast<std::size_t>(queue) >= in.queues.size()) {
        return fail(call, reason::no_queue);
    }
    onesided::queue &flushed = in.queue_of(queue);
    if (flushed.size() == 0) [[likely]] {
        const int code = flushed.take_error();
        return code == MPI_SUCCESS ? code : fail(call, reason::message_failed);
    }
    const std::uint64_t before = flushed.added();
    thence_backoff backoff = progress::backoff_of_short_wait();
    for (flushed.look(); !flushed.reached(before); flushed.look()) {
        continuation::make_progress_or_pause(backoff);
    }
    const int code = flushed.take_error();
    return code == MPI_SUCCESS ? code : fail(call, reason::message_failed);
}

int thence_queue_size(thence_space space, int queue, int *count) {
    constexpr const char *call = "thence_queue_size";
    if (space == nullptr) {
        return fail(call, reason::null_space);
    }
    if (count == nullptr) {
        return fail(call, reason::null_count);
    }
    onesided::space &in = *object_of(space);
    if (queue < 0 || static_cast<std::size_t>(queue) >= in.queues.size()) {
        return fail(call, reason::no_queue);
    }
    in.queue_of(queue).look();
    *count = in.queue_of(queue).size();
    return MPI_SUCCESS;
}

} // extern "C"
