// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include "options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace apps {
namespace {

void check_output(const std::string &file) {
    struct stat target, name;
    if (stat(file.c_str(), &target) == 0 && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)) {
        return; // a device, or a pipe, on which open() would wait for a reader
    }
    const bool there = lstat(file.c_str(), &name) == 0;
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) {
        throw InputError(file + ": cannot write this file: " + std::strerror(errno));
    }
    close(opened);
    if (!there) {
        unlink(file.c_str());
    }
}

} // namespace

int run_with_mpi(const char *program, const VariantInfo &variant, const char *remedy,
                 const std::function<int(MPI_Comm)> &run) {
    int granted = MPI_THREAD_SINGLE, rank = 0;
    MPI_Init_thread(nullptr, nullptr, variant.thread_level, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = success;
    if (granted < variant.thread_level) {
        const bool multiple = variant.thread_level >= MPI_THREAD_MULTIPLE;
        if (rank == 0) {
            std::fprintf(stderr,
                         "%s: the variant %s calls MPI from %s, but this MPI does not grant %s;\n"
                         "use --variant %s, or an MPI built with thread support\n",
                         program, variant.name, multiple ? "many threads" : "a threaded program",
                         multiple ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_FUNNELED", remedy);
        }
        status = failure;
    } else {
        try {
            status = run(MPI_COMM_WORLD);
        } catch (const InputError &e) { // thrown on all ranks
            if (rank == 0) {
                std::fprintf(stderr, "%s: %s\n", program, e.what());
            }
            status = usage;
        } catch (const std::exception &e) { // perhaps on this rank only, so the others would wait for it
            std::fprintf(stderr, "%s: %s\n", program, e.what());
            MPI_Abort(MPI_COMM_WORLD, failure);
        }
    }
    MPI_Finalize();
    return status;
}

int choose_threads(const char *program, const VariantInfo &variant, int wanted, int rank, MPI_Comm comm) {
    if (!variant.threaded) {
        return 1;
    }
    MPI_Comm node;
    int ranks = 1;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (wanted == 0) {
        return std::max(1, cores / ranks);
    }
    if (rank == 0 && wanted > 1 && wanted * ranks > cores) {
        std::fprintf(
            stderr, "%s: note: %d threads share %d cores, so times are not meaningful; OMP_WAIT_POLICY=passive helps\n",
            program, wanted * ranks, cores);
    }
    return wanted;
}

void on_first_rank(MPI_Comm comm, const std::function<void()> &work) {
    int rank, failed = 0;
    std::string why;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        try {
            work();
        } catch (const std::exception &e) {
            failed = 1, why = e.what();
        }
    }
    MPI_Bcast(&failed, 1, MPI_INT, 0, comm);
    if (failed) {
        throw InputError(why);
    }
}

void check_outputs(MPI_Comm comm, std::initializer_list<std::string> files) {
    on_first_rank(comm, [&] {
        for (const std::string &file : files) {
            if (!file.empty()) {
                check_output(file);
            }
        }
    });
}

void check_tags(MPI_Comm comm, long largest, const std::string &uses) {
    int *bound = nullptr, found = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &found);
    if (found && largest > *bound) {
        throw InputError("this MPI has tags up to " + std::to_string(*bound) + ", too few for " + uses);
    }
}

void check_notifications(MPI_Comm comm, unsigned long needed, unsigned long most, const std::string &uses) {
    MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UNSIGNED_LONG, MPI_MAX, comm);
    if (needed > most) {
        throw InputError("a segment has " + std::to_string(most) + " notifications, fewer than the " +
                         std::to_string(needed) + " that " + uses);
    }
}

void check_memory(MPI_Comm comm, double bytes, const std::string &what) {
    MPI_Comm host;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    double needed = 0, missing[2] = {0, 0}; // missing, and needed there
    MPI_Allreduce(&bytes, &needed, 1, MPI_DOUBLE, MPI_SUM, host);
    MPI_Comm_free(&host);
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        double available = 0; // KiB
        if (std::sscanf(line.c_str(), "MemAvailable: %lf kB", &available) == 1 && needed > available * 1024) {
            missing[0] = needed - available * 1024, missing[1] = needed;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, missing, 2, MPI_DOUBLE, MPI_MAX, comm);
    if (missing[0] > 0) {
        char text[160];
        std::snprintf(text, sizeof text,
                      " needs %.1f GiB of memory on a host, %.1f GiB more than it can give; use more hosts",
                      missing[1] / (1 << 30), missing[0] / (1 << 30));
        throw InputError(what + text);
    }
}

std::string first_wrong(const char *program, const std::string &wrong, MPI_Comm comm) {
    int rank, ranks, first;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const int mine = wrong.empty() ? ranks : rank;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == ranks) {
        return {};
    }
    std::string text = rank == first ? "rank " + std::to_string(rank) + ": " + wrong : "";
    int length = static_cast<int>(text.size());
    MPI_Bcast(&length, 1, MPI_INT, first, comm);
    text.resize(static_cast<std::size_t>(length));
    MPI_Bcast(text.data(), length, MPI_CHAR, first, comm);
    if (rank == 0) {
        std::fprintf(stderr, "%s: %s\n", program, text.c_str());
    }
    return text;
}

} // namespace apps
