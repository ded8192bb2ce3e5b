// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/communicator.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "core/mpi/implementation.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/queues/queue.hpp"
#include "mpix/streams/attribute.hpp"
#include "mpix/streams/multiplex.hpp"

#include <memory>
#include <new>

namespace thence::streams {

namespace {

int copy(MPI_Comm, int, void *, void *value, void *copied, int *flag);
int remove(MPI_Comm, int, void *value, void *);
constinit communicator_attribute<attachment> attribute{&copy, &remove};

std::unique_ptr<attachment> attach_to(context &stream) noexcept {
    try {
        return std::make_unique<attachment>(&stream);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

int copy(MPI_Comm, int, void *, void *value, void *copied, int *flag) {
    std::unique_ptr<attachment> to = attach_to(*static_cast<const attachment *>(value)->stream);
    if (to == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    to->stream->communicators.fetch_add(1);
    attribute.changed();
    *static_cast<void **>(copied) = to.release(); // the attribute owns it
    *flag = 1;
    return MPI_SUCCESS;
}

// MPI_Comm_free calls it, and fails if this does. MPICH has given the communicator up by then, so nothing may start on
// it. With libthence prepare_to_free() has called it before: MPICH 5 and Intel MPI call it only when all operations of
// the communicator are complete, and until then its stream could not be freed.
int remove(MPI_Comm, int, void *value, void *) {
    std::unique_ptr<attachment> removed(static_cast<attachment *>(value));
    if (removed->not_begun->load() != 0) {
        static_cast<void>(removed.release()); // it stays
        return MPI_ERR_PENDING;
    }
    attribute.changed();
    removed->stream->communicators.fetch_sub(1);
    return MPI_SUCCESS;
}

// True if the streams of all processes are MPI's own or null, and at least one is not null. Collective over `comm`.
bool all_native(MPI_Comm comm, const context *stream) noexcept {
    if (mpi::table.stream_comm_create == nullptr) {
        return false;
    }
    int is_inter = 0;
    mpi::table.Comm_test_inter(comm, &is_inter);
    if (is_inter != 0) {
        return false;
    }
    const bool native = stream != nullptr && stream->native != mpi::stream_null;
    const int mine[2] = {stream == nullptr || native ? 0 : 1, native ? 1 : 0};
    int sum[2] = {};
    return mpi::table.Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum[0] == 0 && sum[1] != 0;
}

int create_plain_or_native(MPI_Comm comm, const context *stream, MPI_Comm &created) noexcept {
    const MPI_Info assertions = stream != nullptr ? stream->assertions : MPI_INFO_NULL;
    if (!all_native(comm, stream)) {
        return mpi::table.Comm_dup_with_info(comm, assertions, &created);
    }
    const int code =
        mpi::table.stream_comm_create(comm, stream != nullptr ? stream->native : mpi::stream_null, &created);
    if (code == MPI_SUCCESS && assertions != MPI_INFO_NULL) {
        mpi::table.Comm_set_info(created, assertions);
    }
    return code;
}

} // namespace

int create_communicator(MPI_Comm comm, context *stream, MPI_Comm &created) noexcept {
    std::unique_ptr<attachment> mine;
    if (stream != nullptr) {
        mine = attach_to(*stream);
    }
    MPI_Comm fresh = MPI_COMM_NULL;
    int code = create_plain_or_native(comm, stream, fresh);
    if (code != MPI_SUCCESS) {
        return code;
    }
    remove_multiplex(fresh); // that of `comm` was copied
    if (stream == nullptr) {
        remove_stream(fresh);
        created = fresh;
        return MPI_SUCCESS;
    }
    code = mine == nullptr ? int{MPI_ERR_NO_MEM} : attribute.set(fresh, mine.get());
    if (code == MPI_SUCCESS && stream->queue != nullptr) {
        code = mpi::table.Comm_set_errhandler(fresh, mpi::errors_return());
    }
    if (code != MPI_SUCCESS) {
        mpi::table.Comm_free(&fresh);
        return code;
    }
    stream->communicators.fetch_add(1);
    static_cast<void>(mine.release()); // the attribute owns it
    created = fresh;
    return MPI_SUCCESS;
}

attachment *attachment_of(MPI_Comm comm) noexcept {
    return attribute.find(comm);
}

void remove_stream(MPI_Comm comm) noexcept {
    attribute.remove_from(comm);
}

bool has_queue(MPI_Comm comm) noexcept {
    const attachment *attached = comm != MPI_COMM_NULL ? attribute.find(comm) : nullptr;
    return attached != nullptr && attached->stream->queue != nullptr &&
           (queues::item_being_started == nullptr || queues::item_being_started->op.comm != comm);
}

int refuse_on_queue(const char *call, MPI_Comm comm) noexcept {
    return mpi::report_on(comm, call,
                          {MPI_ERR_UNSUPPORTED_OPERATION,
                           "the stream of the communicator has a queue, on which this call is not enqueued: start the "
                           "operation by thence_start_enqueue, or use a communicator without a queue"});
}

bool prepare_to_free(const char *call, MPI_Comm comm, bool completes, int &code) noexcept {
    const attachment *attached = comm != MPI_COMM_NULL ? attribute.find(comm) : nullptr;
    if (attached == nullptr) {
        return true;
    }
    const auto must_wait = [&] {
        return attached->not_begun->load() != 0 || (completes && attached->not_begun.use_count() != 1);
    };
    if (must_wait() && !continuation::free_to_run()) {
        code = mpi::report_on(comm, call,
                              {MPI_ERR_PENDING, "operations that are enqueued on the communicator are outstanding, and "
                                                "a callback must not wait for them"});
        return false;
    }
    for (messages::waiting wait; must_wait();) {
        wait();
    }
    remove_stream(comm);
    return true;
}

} // namespace thence::streams
