// SPDX-License-Identifier: BSD-3-Clause
#include "link.hpp"

#include <vector>

namespace streaming {

Flight Link::describe(bool sent, int chunk, int block) const {
    const Stage &stage = run.stage;
    return {MPI_REQUEST_NULL,
            {now(), 0, chunk, block, sent ? stage.after() : stage.before(), stage.length(block),
             run.recorder.lane().index, 0, sent}};
}

Flight Link::start(bool sent, int chunk, int block) {
    Stage &stage = run.stage;
    Flight f = describe(sent, chunk, block);
    if (f.message.peer == MPI_PROC_NULL) {
        return f;
    }
    const Timed timed(run.recorder, Activity::start, chunk, -1, block);
    if (sent) {
        MPI_Isend(stage.out(block), f.message.cells, MPI_DOUBLE, f.message.peer, block, run.comm, &f.request);
    } else {
        MPI_Irecv(stage.in(block), f.message.cells, MPI_DOUBLE, f.message.peer, block, run.comm, &f.request);
    }
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
