// SPDX-License-Identifier: BSD-3-Clause
#include "application.hpp"

namespace apps {

void add_number(CLI::App &app, const char *name, int &value, const std::string &what, int least, int most) {
    app.add_option(name, value, what + " [" + std::to_string(value) + "]")->check(CLI::Range(least, most));
}

TimedRun::TimedRun(const char *program, const VariantInfo &of, const CommonOptions &with, MPI_Comm on,
                   const std::vector<std::string> &more_files)
    : variant(of), options(with), comm(on),
      recorder(with.timeline.empty() ? 0 : static_cast<std::size_t>(with.timeline_capacity)) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (variant.one_rank && ranks > 1) {
        throw InputError("the variant " + std::string(variant.name) + " runs on one rank; for " +
                         std::to_string(ranks) + " ranks use --variant mpi");
    }
    threads = choose_threads(program, variant, options.threads, rank, comm);
    check_imbalance(options.imbalance, ranks);
    check_outputs(comm, {options.json, options.timeline});
    for (const std::string &file : more_files) {
        check_outputs(comm, {file});
    }
    recorder.lane(); // this thread gets the first lane
}

double TimedRun::start() {
    // Many messages of rank 0 with each other rank: only if somebody needs it.
    offset_ = options.timeline.empty() ? 0 : clock_offset(comm);
    MPI_Barrier(comm);
    return MPI_Wtime();
}

Measured TimedRun::finish(double seconds, ProgressBar &bar) const {
    bar.clear();
    return gather(recorder, comm, threads, seconds, variant.continuations);
}

void TimedRun::write_timeline(int iterations, const char *direction, const char *row) const {
    if (!options.timeline.empty()) {
        apps::write_timeline(options.timeline, recorder, comm, offset_,
                             {variant.name, threads, iterations, direction, row});
    }
}

} // namespace apps
