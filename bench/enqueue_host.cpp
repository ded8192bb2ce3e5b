// SPDX-License-Identifier: BSD-3-Clause
// A send and a receive that are enqueued on a host queue, compared with the same through plain MPI calls. All threads
// count: the one that enqueues and then synchronizes, that of oneTBB which works the queue off, and the helper thread.
#include "measure/benchmark.hpp"
#include "measure/message_pairs.hpp"

#include <thence/host_queue.h>

namespace {

using measure::batch;
using measure::bytes;

void enqueue(measure::work &work) {
    thence_host_queue *host_queue = nullptr;
    thence_host_queue_create(&host_queue);
    const thence_queue queue = thence_host_queue_handle(host_queue);
    MPI_Info info = MPI_INFO_NULL;
    thence_stream stream = THENCE_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "thence_queue");
    thence_info_set_hex(info, "value", &queue, sizeof queue);
    thence_stream_create(info, &stream);
    MPI_Info_free(&info);
    thence_stream_comm_create(MPI_COMM_SELF, stream, &comm);
    measure::messages m;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            for (int k = 0; k < batch; ++k) { // the send is complete when it returns, so the queue can wait for it
                thence_send_enqueue(m.out[k].data(), bytes, MPI_BYTE, 0, k, comm);
                thence_recv_enqueue(m.in[k].data(), bytes, MPI_BYTE, 0, k, comm, MPI_STATUS_IGNORE);
            }
            thence_host_queue_synchronize(host_queue);
        }
    });
    MPI_Comm_free(&comm);
    thence_stream_free(&stream);
    thence_host_queue_destroy(&host_queue);
}

// The same order of operations.
void plain(measure::work &work) {
    measure::messages m;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            for (int k = 0; k < batch; ++k) {
                MPI_Send(m.out[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF);
                MPI_Recv(m.in[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            }
        }
    });
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const measure::sample ours = session.instructions({.work = "enqueue", .few = 100, .many = 600});
    const measure::sample baseline = session.instructions({.work = "plain", .few = 100, .many = 600});
    session.add({.name = "engine " + engine,
                 .found = measure::difference(ours, baseline, batch),
                 .unit = "instructions per pair",
                 .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                 .bar = 1000,
                 .against = "MPI_Send and MPI_Recv",
                 .side_unit = "instructions per pair",
                 .ours = ours.value / batch,
                 .baseline = baseline.value / batch});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "enqueue_host",
         .about = "cost of a send and a receive that are enqueued on a host queue, compared with MPI's",
         .bars = "at most +1000 instructions per pair on Open MPI",
         .pieces = {{"plain", plain}, {"enqueue", enqueue}},
         .judge = judge});
}
