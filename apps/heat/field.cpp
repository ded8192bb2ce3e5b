// SPDX-License-Identifier: BSD-3-Clause
// The whole field: gathered from the bands and compared bit by bit.
#include "outcome.hpp"

#include "common/wrong_value.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace heat {

Field gather_field(const Run &run) {
    const int width = run.band.cols();
    std::vector<double> mine(static_cast<std::size_t>(run.band.rows()) * static_cast<std::size_t>(width));
    for (int i = 0; i < run.band.rows(); ++i) {
        std::copy_n(run.band.row(i), width, mine.begin() + static_cast<std::ptrdiff_t>(i) * width);
    }
    // Chunks of at most 2^24 cells, so that counts fit into int.
    const int chunk = std::max(1, (1 << 24) / width);
    const auto transfer = [&](double *cells, int rows, int peer, bool send) {
        for (int i = 0; i < rows; i += chunk) {
            double *at = cells + static_cast<std::ptrdiff_t>(i) * width;
            const int count = std::min(chunk, rows - i) * width;
            if (send) {
                MPI_Send(at, count, MPI_DOUBLE, peer, 0, run.comm);
            } else {
                MPI_Recv(at, count, MPI_DOUBLE, peer, 0, run.comm, MPI_STATUS_IGNORE);
            }
        }
    };
    if (run.rank != 0) {
        transfer(mine.data(), run.band.rows(), 0, true);
        return {};
    }
    Field field{run.partition.rows, width, std::move(mine)};
    field.cells.resize(static_cast<std::size_t>(field.rows) * static_cast<std::size_t>(width));
    for (int r = 1; r < run.ranks; ++r) {
        transfer(field.cells.data() + static_cast<std::ptrdiff_t>(run.partition.first_row(r)) * width,
                 run.partition.rows_of(r), r, false);
    }
    return field;
}

Comparison compare(const Field &field, const Field &reference, std::string against) {
    Comparison c;
    c.against = std::move(against);
    std::ostringstream text;
    if (field.rows != reference.rows || field.cols != reference.cols) {
        c.verdict = Comparison::differs;
        text << "DIFFERS from " << c.against << ": " << field.rows << " x " << field.cols << " cells here, "
             << reference.rows << " x " << reference.cols << " there";
        c.text = text.str();
        return c;
    }
    std::size_t wrong = 0, first = 0;
    double largest = 0;
    for (std::size_t i = 0; i < field.cells.size(); ++i) {
        if (apps::same_bits(field.cells[i], reference.cells[i])) {
            continue;
        }
        if (wrong++ == 0) {
            first = i;
        }
        largest = std::max(largest, std::abs(field.cells[i] - reference.cells[i]));
    }
    c.verdict = wrong == 0 ? Comparison::identical : Comparison::differs;
    if (wrong == 0) {
        text << "bit-identical to " << c.against << " (" << field.cells.size() << " cells compared)";
    } else {
        const auto width = static_cast<std::size_t>(field.cols);
        const std::string place = "row " + std::to_string(first / width) + ", column " + std::to_string(first % width);
        text << "DIFFERS from " << c.against << " in " << wrong << " of " << field.cells.size()
             << " cells, the first: " << apps::wrong_value(place, field.cells[first], reference.cells[first])
             << "; the largest difference is " << std::setprecision(3) << largest;
    }
    c.text = text.str();
    return c;
}

} // namespace heat
