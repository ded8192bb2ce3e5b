// SPDX-License-Identifier: BSD-3-Clause
// THENCE_REPORT: what was measured of all ranks (interpose/requests/measured.hpp), as a text on the standard error of
// rank 0, and as JSON in a file.
#pragma once

#include "interpose/requests/measured.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thence::interpose {

// Of one rank. Times are in nanoseconds. Only numbers of 8 bytes: it is sent as it is.
struct rank_report {
    std::int64_t lasted; // from the end of MPI_Init to MPI_Finalize, or to the first use of Thence by the program
    std::int64_t helper; // processor time of the helper thread
    std::int64_t progress_always;
    std::int64_t uses_thence; // the program has used Thence itself: what came later was not measured
    std::int64_t kept_out;    // for how long open files have kept the helper thread out of MPI
    measured_figures figures;
};

// MPI is initialized, and the library set up. From here on calls are measured.
void begin_report() noexcept;
// MPI_Finalize begins. All ranks of MPI_COMM_WORLD call it.
void write_report() noexcept;

// Sends the figures of this rank to rank 0. All ranks of MPI_COMM_WORLD call it. @return what rank 0 has got, else
// nothing. A rank that waits for others says so after a while; in the end it gives up, and rank 0 has got its own only.
THENCE_INTERNAL std::vector<rank_report> gather_reports(const rank_report &own, std::int64_t says_after,
                                                        std::int64_t gives_up_after);

// The name of the program of this process, without its path.
THENCE_INTERNAL std::string name_of_program();

// What a run without progress has waited for, in seconds of all ranks.
struct run_without_progress {
    double lasted = 0;
    double waited = 0; // for operations that could have moved
    std::string program = {};
    std::size_t ranks = 0; // whose figures they are
};
// From a report as JSON, of such a run or of one that was compared with it. Nothing if it is none.
THENCE_INTERNAL std::optional<run_without_progress> without_progress_in(const std::string &json);

// One line for each rank, their sum, and what follows from it, compared with a run before if that was of the same
// program on as many ranks.
THENCE_INTERNAL std::string text_of(const std::vector<rank_report> &ranks,
                                    const std::optional<run_without_progress> &before = std::nullopt,
                                    const std::string &program = name_of_program());
THENCE_INTERNAL std::string json_of(const std::vector<rank_report> &ranks,
                                    const std::optional<run_without_progress> &before = std::nullopt,
                                    const std::string &program = name_of_program());

} // namespace thence::interpose
