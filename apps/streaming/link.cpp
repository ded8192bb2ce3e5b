// SPDX-License-Identifier: BSD-3-Clause
#include "link.hpp"

#include <vector>

namespace streaming {

Flight Link::start(bool sent, int chunk, int block) {
    Flight f;
    Stage &stage = run.stage;
    const int peer = sent ? stage.after() : stage.before(), count = stage.length(block);
    if (peer == MPI_PROC_NULL) {
        return f;
    }
    const Nanoseconds begin = now();
    if (sent) {
        MPI_Isend(stage.out(block), count, MPI_DOUBLE, peer, block, run.comm, &f.request);
    } else {
        MPI_Irecv(stage.in(block), count, MPI_DOUBLE, peer, block, run.comm, &f.request);
    }
    run.recorder.add(Activity::start, begin, now(), chunk, -1, block);
    f.message = {begin, 0, chunk, block, peer, count, run.recorder.lane().index, 0, sent};
    return f;
}

void Link::wait(std::span<Flight *const> flights) {
    std::vector<MPI_Request> requests;
    for (const Flight *f : flights) {
        if (f->request != MPI_REQUEST_NULL) {
            requests.push_back(f->request);
        }
    }
    if (requests.empty()) {
        return;
    }
    {
        const Timed timed(run.recorder, Activity::wait);
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    for (Flight *f : flights) {
        if (f->request != MPI_REQUEST_NULL) {
            complete(*f);
            f->request = MPI_REQUEST_NULL;
        }
    }
}

} // namespace streaming
