// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant of heat_plates: the plates of this rank, the messages they need, the recorder and the progress
// bar. With a timeline, every step, message and wait is recorded here.
#pragma once

#include "plate.hpp"

#include "common/progress_bar.hpp"
#include "common/recorder.hpp"

#include <memory>
#include <vector>

namespace plates {

using apps::Activity;

struct Run {
    MPI_Comm comm;
    std::vector<std::unique_ptr<Plate>> plates;
    int iterations;
    apps::ProgressBar &bar;
    apps::Recorder *recorder = nullptr; // null unless a timeline is written
    long steps_done = 0;
    std::vector<std::vector<apps::Message>> flying = {}; // for the recorder: messages of each column of all plates

    // Computes the next step of a plate.
    void compute(Plate &plate) {
        if (recorder == nullptr) {
            plate.compute();
        } else {
            compute_recorded(plate);
        }
        ++steps_done;
        if (plate.index() == 0 && plate.step() % plate.pieces() == 0) {
            bar.show(plate.step() / plate.pieces());
        }
    }
    MPI_Request receive(const Plate::Piece &p) {
        MPI_Request request = MPI_REQUEST_NULL;
        started(p, false);
        if (p.count > 0) {
            record(Activity::start, [&] { MPI_Irecv(p.data, p.count, MPI_DOUBLE, p.peer, p.tag, comm, &request); });
        }
        return request;
    }
    MPI_Request send(const Plate::Piece &p) {
        MPI_Request request = MPI_REQUEST_NULL;
        started(p, true);
        if (p.count > 0) {
            record(Activity::start, [&] { MPI_Isend(p.data, p.count, MPI_DOUBLE, p.peer, p.tag, comm, &request); });
        }
        return request;
    }

    // Calls MPI or Thence. The recorder gets the time of the call, unless steps were computed in it, which it has.
    template <class Call> void record(Activity activity, Call call) {
        if (recorder == nullptr) {
            return call();
        }
        const apps::Nanoseconds begin = apps::now();
        const long before = steps_done;
        call();
        if (steps_done == before) {
            recorder->add(activity, begin, apps::now());
        }
    }
    // Must be called before a message is started. For the recorder it is complete when its step begins: the one that
    // needs it, or the next one that changes its memory.
    void started(const Plate::Piece &p, bool sent) {
        if (recorder != nullptr && p.count > 0) {
            add_flying(p, sent);
        }
    }
    // Must be called when all messages are complete.
    void end_messages();

private:
    void compute_recorded(Plate &plate);
    void add_flying(const Plate::Piece &p, bool sent);
    void complete(std::vector<apps::Message> &messages);
};

} // namespace plates
