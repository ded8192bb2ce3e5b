// SPDX-License-Identifier: BSD-3-Clause
// heat: reads the configuration, partitions the plate, runs one variant, checks the field and reports. Rank 0 reads the
// files and broadcasts their bytes. All ranks parse the same bytes, so they agree on every error.
#include "halo.hpp"
#include "outcome.hpp"

#ifdef HEAT_HAVE_TBB
#include "common/tampi.hpp"
#endif
#include <fstream>
#include <sstream>

namespace heat {
namespace {

// Returns on every rank the bytes of a file that rank 0 reads. Throws ConfigError on all ranks if it cannot be read.
std::string broadcast_file(const std::string &name, const std::string &hint, int rank, MPI_Comm comm) {
    std::string bytes;
    long size = -1;
    if (rank == 0) {
        std::ifstream in(name, std::ios::binary);
        std::ostringstream text;
        const bool empty = in && in.peek() == std::ifstream::traits_type::eof() && !in.bad();
        if (empty || text << in.rdbuf()) {
            bytes = text.str(), size = static_cast<long>(bytes.size());
        }
    }
    MPI_Bcast(&size, 1, MPI_LONG, 0, comm);
    if (size < 0) {
        throw ConfigError(name + ": cannot read this file" + hint);
    }
    if (size > 1L << 30) {
        throw ConfigError(name + ": larger than 1 GiB");
    }
    bytes.resize(static_cast<std::size_t>(size));
    MPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, comm);
    return bytes;
}

Config load_config(const Options &options, int rank, MPI_Comm comm) {
    Config config = parse_config(broadcast_file(options.config, " (the configuration)", rank, comm), options.config);
    if (options.size) {
        config.rows = options.size->rows, config.cols = options.size->cols;
    }
    if (options.iterations) {
        config.iterations = *options.iterations;
    }
    if (options.block) {
        config.block = *options.block;
    }
    check_config(config, "command line");
    return config;
}

std::optional<Picture> load_picture(const Config &config, const std::string &config_file, int rank, MPI_Comm comm) {
    if (config.picture.empty()) {
        return std::nullopt;
    }
    const auto slash = config_file.rfind('/');
    const bool beside = config.picture.front() != '/' && slash != std::string::npos;
    const std::string name = (beside ? config_file.substr(0, slash + 1) : "") + config.picture;
    return parse_pgm(broadcast_file(name, " (the picture of " + config_file + ")", rank, comm), name);
}

// The field of a serial run of the same plate in this process.
Field serial_field(const Config &config, const std::optional<Picture> &picture, double &time) {
    const Partition whole(config, 1);
    Band band(config, picture, 0, config.rows);
    Recorder recorder(0);
    ProgressBar bar(false, "", config.iterations);
    Run run{whole, band, MPI_COMM_SELF, 0, 1, 1, config.iterations, recorder, bar};
    const Nanoseconds begin = now();
    solve_serial(run);
    time = static_cast<double>(now() - begin) * 1e-9;
    return gather_field(run);
}

int run_variant(const Options &options, MPI_Comm comm) {
    apps::TimedRun timed("heat", *options.chosen, options, comm, {options.field, options.start});
    const int rank = timed.rank, ranks = timed.ranks;
    const Config config = load_config(options, rank, comm);
    const auto picture = load_picture(config, options.config, rank, comm);
    const Variant &variant = *options.chosen;
    const Partition partition(config, ranks);
    apps::check_tags(comm, 2L * partition.block_cols() - 1,
                     std::to_string(partition.block_cols()) + " blocks in a row; use a larger --block");
    Field reference; // on rank 0
    if (!options.reference.empty()) {
        apps::on_first_rank(comm, [&] { reference = apps::read_npy(options.reference); });
    }

    Band band(config, picture, partition.first_row(rank), partition.rows_of(rank));
    ProgressBar bar(apps::draws_bar(options.progress, rank), variant.name, config.iterations);
    Run run{partition,
            band,
            comm,
            rank,
            ranks,
            timed.threads,
            config.iterations,
            timed.recorder,
            bar,
            options.imbalance ? &*options.imbalance : nullptr,
            options.cell_cost};
    if (!options.start.empty()) {
        const Field field = gather_field(run);
        if (rank == 0) {
            apps::write_npy(field, options.start);
        }
    }

    timed.solve(variant, run);
    timed.write_timeline(config.iterations, "down");
    Outcome outcome{timed.measured, {}};
    const bool wants_field = options.verify || !options.field.empty() || !options.reference.empty();
    int differs = 0;
    if (wants_field) {
        const Field field = gather_field(run);
        if (rank == 0) {
            if (!options.field.empty()) {
                apps::write_npy(field, options.field);
            }
            if (options.verify) {
                double time = -1;
                outcome.comparison = compare(field, serial_field(config, picture, time), "the serial run");
                if (!apps::simulated) { // there the serial run takes the machine's time
                    outcome.comparison.serial_time = time;
                }
            }
            if (!options.reference.empty() && outcome.comparison.verdict != Comparison::differs) {
                const double time = outcome.comparison.serial_time;
                outcome.comparison = compare(field, reference, options.reference);
                outcome.comparison.serial_time = time;
            }
            differs = outcome.comparison.verdict == Comparison::differs;
        }
    }
    if (variant.release != nullptr) {
        variant.release(run);
    }
    if (rank == 0) {
        print_table(run, options, config, outcome);
        if (!options.json.empty()) {
            write_json(run, options, config, outcome);
        }
    }
    MPI_Bcast(&differs, 1, MPI_INT, 0, comm);
    return differs ? apps::wrong_result : apps::success;
}

void prepare(const Options &options, char **argv) {
    restart_with_openmp_settings(argv, options);
#ifdef HEAT_HAVE_TBB
    apps::prepare_tampi(*options.chosen);
#endif
}

} // namespace
} // namespace heat

int main(int argc, char **argv) {
    return apps::run_program<heat::Options>(argc, argv, heat::description.name, "mpi", heat::parse_options,
                                            heat::run_variant, heat::prepare);
}
