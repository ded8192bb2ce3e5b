// SPDX-License-Identifier: BSD-3-Clause
// The whole field: gathered from the bands, compared bit by bit, and stored in NumPy's format (version 1.0, row-major
// little-endian doubles).
#include "outcome.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace heat {

static_assert(std::endian::native == std::endian::little, "the header below says little-endian");

namespace {
constexpr std::string_view npy_magic("\x93NUMPY\x01\x00", 8);

[[noreturn]] void fail(const std::string &file, const std::string &why) {
    throw std::runtime_error(file + ": " + why);
}
} // namespace

Field gather_field(const Run &run) {
    const int width = run.band.cols();
    std::vector<double> mine(static_cast<std::size_t>(run.band.rows()) * static_cast<std::size_t>(width));
    for (int i = 0; i < run.band.rows(); ++i)
        std::copy_n(run.band.row(i), width, mine.begin() + static_cast<std::ptrdiff_t>(i) * width);
    // Chunks of at most 2^24 cells, so that counts fit into int.
    const int chunk = std::max(1, (1 << 24) / width);
    const auto transfer = [&](double *cells, int rows, int peer, bool send) {
        for (int i = 0; i < rows; i += chunk) {
            double *at = cells + static_cast<std::ptrdiff_t>(i) * width;
            const int count = std::min(chunk, rows - i) * width;
            if (send)
                MPI_Send(at, count, MPI_DOUBLE, peer, 0, run.comm);
            else
                MPI_Recv(at, count, MPI_DOUBLE, peer, 0, run.comm, MPI_STATUS_IGNORE);
        }
    };
    if (run.rank != 0) {
        transfer(mine.data(), run.band.rows(), 0, true);
        return {};
    }
    Field field{run.partition.rows, width, std::move(mine)};
    field.cells.resize(static_cast<std::size_t>(field.rows) * static_cast<std::size_t>(width));
    for (int r = 1; r < run.ranks; ++r)
        transfer(field.cells.data() + static_cast<std::ptrdiff_t>(run.partition.first_row(r)) * width,
                 run.partition.rows_of(r), r, false);
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
        if (std::bit_cast<std::uint64_t>(field.cells[i]) == std::bit_cast<std::uint64_t>(reference.cells[i]))
            continue;
        if (wrong++ == 0)
            first = i;
        largest = std::max(largest, std::abs(field.cells[i] - reference.cells[i]));
    }
    c.verdict = wrong == 0 ? Comparison::identical : Comparison::differs;
    if (wrong == 0) {
        text << "bit-identical to " << c.against << " (" << field.cells.size() << " cells compared)";
    } else {
        const auto width = static_cast<std::size_t>(field.cols);
        text << "DIFFERS from " << c.against << " in " << wrong << " of " << field.cells.size()
             << " cells, first at row " << first / width << ", column " << first % width << ", by at most " << largest;
    }
    c.text = text.str();
    return c;
}

void write_field(const Field &field, const std::string &file) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(field.rows) + ", " +
                         std::to_string(field.cols) + "), }";
    header.resize((npy_magic.size() + 2 + header.size() + 1 + 63) / 64 * 64 - npy_magic.size() - 2, ' ');
    header.back() = '\n';
    std::ofstream out(file, std::ios::binary);
    const auto length = static_cast<std::uint16_t>(header.size());
    out << npy_magic;
    out.write(reinterpret_cast<const char *>(&length), sizeof length);
    out << header;
    out.write(reinterpret_cast<const char *>(field.cells.data()),
              static_cast<std::streamsize>(field.cells.size() * sizeof(double)));
    out.close();
    if (!out)
        fail(file, "cannot write the field; check that the folder exists and has space");
}

Field read_field(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    if (!in)
        fail(file, "cannot open the reference field; write one with --field");
    std::string magic(npy_magic.size(), '\0');
    std::uint16_t length = 0;
    in.read(magic.data(), static_cast<std::streamsize>(magic.size()));
    in.read(reinterpret_cast<char *>(&length), sizeof length);
    if (!in || magic != npy_magic)
        fail(file, "not a NumPy file (.npy) of version 1.0; write one with --field");
    std::string header(length, '\0');
    in.read(header.data(), length);
    Field field;
    const auto shape = header.find("'shape': (");
    if (!in || header.find("'<f8'") == std::string::npos ||
        header.find("'fortran_order': False") == std::string::npos || shape == std::string::npos ||
        std::sscanf(header.c_str() + shape, "'shape': (%d, %d)", &field.rows, &field.cols) != 2 || field.rows < 1 ||
        field.cols < 1)
        fail(file, "not a two-dimensional array of little-endian doubles in rows");
    const auto data = in.tellg();
    const auto bytes = in.seekg(0, std::ios::end).tellg() - data;
    const auto count = static_cast<std::size_t>(field.rows) * static_cast<std::size_t>(field.cols);
    if (static_cast<std::size_t>(bytes) != count * sizeof(double))
        fail(file, "the file is truncated");
    field.cells.resize(count);
    in.seekg(data);
    in.read(reinterpret_cast<char *>(field.cells.data()), bytes);
    if (!in)
        fail(file, "cannot read the field");
    return field;
}

} // namespace heat
