// SPDX-License-Identifier: BSD-3-Clause
// The recorded spans and messages of all ranks in one file, with times of one clock. The plot.py of each application
// draws it.
#pragma once

#include "recorder.hpp"

#include <mpi.h>
#include <string>

namespace apps {

struct TimelineHead {
    std::string variant;
    int threads = 1, iterations = 0;
    std::string direction_field;   // the name of Message::direction in the file
    std::string row_field = "row"; // that of Span::row
};

// The offset to add to this rank's clock to get that of rank 0. Collective.
Nanoseconds clock_offset(MPI_Comm comm);

// Rank 0 writes the file. Collective. `offset`: see clock_offset(). Throws on rank 0 if the file cannot be written.
void write_timeline(const std::string &file, const Recorder &recorder, MPI_Comm comm, Nanoseconds offset,
                    const TimelineHead &head);

} // namespace apps
