// SPDX-License-Identifier: BSD-3-Clause
// The header of the format is a Python dictionary in ASCII, padded so that the data begin at a multiple of 64 bytes.
#include "npy.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace apps {

static_assert(std::endian::native == std::endian::little, "the header below says little-endian");

namespace {
constexpr std::string_view npy_magic("\x93NUMPY\x01\x00", 8);

[[noreturn]] void fail(const std::string &file, const std::string &why) {
    throw std::runtime_error(file + ": " + why);
}
} // namespace

void write_npy(const Array2 &array, const std::string &file) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(array.rows) + ", " +
                         std::to_string(array.cols) + "), }";
    header.resize((npy_magic.size() + 2 + header.size() + 1 + 63) / 64 * 64 - npy_magic.size() - 2, ' ');
    header.back() = '\n';
    std::ofstream out(file, std::ios::binary);
    const auto length = static_cast<std::uint16_t>(header.size());
    out << npy_magic;
    out.write(reinterpret_cast<const char *>(&length), sizeof length);
    out << header;
    out.write(reinterpret_cast<const char *>(array.cells.data()),
              static_cast<std::streamsize>(array.cells.size() * sizeof(double)));
    out.close();
    if (!out) {
        fail(file, "cannot write; check that the folder exists and has space");
    }
}

Array2 read_npy(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        fail(file, "cannot open this file");
    }
    std::string magic(npy_magic.size(), '\0');
    std::uint16_t length = 0;
    in.read(magic.data(), static_cast<std::streamsize>(magic.size()));
    in.read(reinterpret_cast<char *>(&length), sizeof length);
    if (!in || magic != npy_magic) {
        fail(file, "not a NumPy file (.npy) of version 1.0");
    }
    std::string header(length, '\0');
    in.read(header.data(), length);
    Array2 array;
    int used = 0;
    const auto shape = header.find("'shape': (");
    if (!in || header.find("'<f8'") == std::string::npos ||
        header.find("'fortran_order': False") == std::string::npos || shape == std::string::npos ||
        std::sscanf(header.c_str() + shape, "'shape': (%9d, %9d%n", &array.rows, &array.cols, &used) != 2 ||
        header[shape + static_cast<std::size_t>(used)] != ')' || array.rows < 1 || array.cols < 1) {
        fail(file, "not a two-dimensional array of little-endian doubles in rows");
    }
    const auto data = in.tellg();
    const auto bytes = in.seekg(0, std::ios::end).tellg() - data;
    const auto count = static_cast<std::size_t>(array.rows) * static_cast<std::size_t>(array.cols);
    if (static_cast<std::size_t>(bytes) != count * sizeof(double)) {
        fail(file, "has " + std::to_string(bytes) + " bytes of numbers, and should have " +
                       std::to_string(count * sizeof(double)));
    }
    array.cells.resize(count);
    in.seekg(data);
    in.read(reinterpret_cast<char *>(array.cells.data()), bytes);
    if (!in) {
        fail(file, "cannot read the array");
    }
    return array;
}

} // namespace apps
