// SPDX-License-Identifier: BSD-3-Clause
// As delete_callbacks.cpp, with what builds on continuations: notifications, GASPI, operations that are enqueued on a
// host queue, tasks that TAMPI binds messages to. All is made before MPI_Finalize, and used and freed in the delete
// callback of an attribute of MPI_COMM_SELF, once of one that was set before the first use of the library. No tasks run
// there on MPICH and what is made from it: its MPI_Finalize has turned locks off, so no other thread may call MPI.
#include "delete_callbacks.hpp"

#include <GASPI.h>
#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/enqueue.h>
#include <thence/host_queue.hpp>
#include <thence/notify.h>
#include <thence/stream.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unistd.h>

namespace {

int next() {
    return (rank + 1) % size;
}
int previous() {
    return (rank + size - 1) % size;
}

struct prepared {
    int tag = 0;
    int callbacks = 0;
    thence_space space = nullptr;
    thence_segment segment = nullptr;
    std::optional<thence::host_queue> queue;
    thence_stream stream = THENCE_STREAM_NULL;
    MPI_Comm of_stream = MPI_COMM_NULL;
    std::optional<thence::flow> flow;

    void make() {
        check(thence_space_create(MPI_COMM_WORLD, 1, &space) == MPI_SUCCESS &&
                  thence_segment_create(space, 64, 4, &segment) == MPI_SUCCESS,
              "a space and a segment are made");
        queue.emplace();
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        const thence_queue handle = queue->handle();
        thence_info_set_hex(info, "value", &handle, sizeof handle);
        MPI_Info_set(info, "type", "thence_queue");
        check(thence_stream_create(info, &stream) == MPI_SUCCESS &&
                  thence_stream_comm_create(MPI_COMM_WORLD, stream, &of_stream) == MPI_SUCCESS,
              "the stream of a queue is made");
        MPI_Info_free(&info);
        flow.emplace();
        use(false);
    }

    void notify() {
        const std::uint32_t sent = 7;
        const auto value = static_cast<std::uint32_t>(rank + 1);
        unsigned found = 0;
        std::uint32_t got = 0;
        check(thence_put_notify(&sent, sizeof sent, next(), segment, 0, 1, value, 0, nullptr) == MPI_SUCCESS &&
                  thence_notification_wait(segment, 1, 1, &found) == MPI_SUCCESS &&
                  thence_notification_reset(segment, 1, &got) == MPI_SUCCESS &&
                  got == static_cast<std::uint32_t>(previous() + 1) && thence_queue_flush(space, 0) == MPI_SUCCESS,
              "a put with a notification arrives");
        thence_segment_info about{};
        check(thence_segment_query(segment, rank, &about, sizeof about) == MPI_SUCCESS &&
                  *static_cast<const std::uint32_t *>(about.memory) == sent,
              "its data are there");
    }

    void enqueue() {
        const int value = 40 + rank;
        int got = 0;
        int seen = 0; // by the queue, behind the receive
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        check(thence_isend_enqueue(&value, 1, MPI_INT, next(), tag, of_stream, &requests[0]) == MPI_SUCCESS &&
                  thence_irecv_enqueue(&got, 1, MPI_INT, previous(), tag, of_stream, &requests[1]) == MPI_SUCCESS &&
                  thence_waitall_enqueue(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS,
              "messages are enqueued");
        queue->enqueue([&] { seen = got; });
        queue->synchronize();
        check(seen == 40 + previous(), "a queue goes on once its message has arrived");
    }

    void run_tasks() {
        const int value = 50 + rank;
        int got = 0;
        int seen = 0;
        flow->submit({}, {.label = "send"}, [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            TAMPI_Isend(&value, 1, MPI_INT, next(), tag + 1, MPI_COMM_WORLD, &request);
        });
        flow->submit({thence::out(&got)}, {.label = "receive"}, [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&got, 1, MPI_INT, previous(), tag + 1, MPI_COMM_WORLD, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
        });
        flow->submit({thence::in(&got)}, {.label = "use"}, [&] { seen = got; });
        flow->taskwait();
        check(seen == 50 + previous(), "a task begins once the message of its predecessor has arrived");
    }

    void use(bool in_finalize) {
        notify();
        enqueue();
#if defined(OPEN_MPI)
        in_finalize = false;
#endif
        if (!in_finalize) {
            run_tasks();
        }
    }

    void end() {
        check(thence_segment_free(&segment) == MPI_SUCCESS && thence_space_free(&space) == MPI_SUCCESS,
              "free of a segment and of a space");
        check(MPI_Comm_free(&of_stream) == MPI_SUCCESS && thence_stream_free(&stream) == MPI_SUCCESS,
              "free of a communicator and of its stream");
        queue.reset();
        flow.reset();
    }
};

// One for the process. It is ended in the last callback.
void use_gaspi() {
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;
    check(gaspi_notify(0, static_cast<gaspi_rank_t>(next()), 5, static_cast<gaspi_notification_t>(rank + 1), 0,
                       GASPI_BLOCK) == GASPI_SUCCESS &&
              gaspi_notify_waitsome(0, 5, 1, &id, GASPI_BLOCK) == GASPI_SUCCESS &&
              gaspi_notify_reset(0, id, &value) == GASPI_SUCCESS &&
              value == static_cast<gaspi_notification_t>(previous() + 1) &&
              gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS,
          "GASPI's notification arrives");
}

int use_all(MPI_Comm, int, void *value, void *) {
    auto &all = *static_cast<prepared *>(value);
    all.use(true);
    use_gaspi();
    all.end();
    ++all.callbacks;
    return MPI_SUCCESS;
}
// MPI calls it last: its attribute was set first.
int use_all_and_end_gaspi(MPI_Comm comm, int key, void *value, void *state) {
    use_all(comm, key, value, state);
    check(gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS, "the end of GASPI");
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    alarm(100);
    thence_task_runtime_add(thence_flow_task_runtime());
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    static prepared before_first_use;
    static prepared after_first_use;
    set_attribute(MPI_COMM_NULL_COPY_FN, &use_all_and_end_gaspi, &before_first_use);
    before_first_use.tag = 1;
    before_first_use.make();
    set_attribute(MPI_COMM_NULL_COPY_FN, &use_all, &after_first_use);
    after_first_use.tag = 3;
    after_first_use.make();
    check(gaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS &&
              gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT) == GASPI_SUCCESS,
          "GASPI begins");
    use_gaspi();
    check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize succeeds");
    check(before_first_use.callbacks == 1 && after_first_use.callbacks == 1, "MPI calls the delete callbacks");
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
