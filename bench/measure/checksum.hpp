// SPDX-License-Identifier: BSD-3-Clause
// Used by the measured program: a number for all values of a field. Two fields whose values are bit-identical have the
// same number, however they are distributed over ranks; if any bit differs, it is almost certainly another one.
#pragma once

#include <bit>
#include <cstdint>
#include <mpi.h>

namespace measure {

class checksum {
public:
    // `index`: of the value in the whole field.
    void add(std::uint64_t index, double value) { sum_ += mixed(mixed(index) ^ std::bit_cast<std::uint64_t>(value)); }

    // Collective: the number for the values of all ranks. It has 52 bits, so that a double holds it exactly.
    double of_all(MPI_Comm comm) const {
        std::uint64_t all = 0;
        MPI_Allreduce(&sum_, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
        return static_cast<double>(all >> 12);
    }

private:
    // The finalizer of MurmurHash3, a bijection.
    static std::uint64_t mixed(std::uint64_t x) {
        x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
        x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
        return x ^ (x >> 33);
    }

    std::uint64_t sum_ = 0;
};

} // namespace measure
