// SPDX-License-Identifier: BSD-3-Clause
// A packer on the segments of a datatype: it packs any part of the data, from any byte on, as a program needs it that
// sends a large message in pieces. MPI_Pack can only pack whole elements from the beginning. Each rank packs the YZ
// face of a cube in pieces and in an order of its own, and compares with MPI_Pack.
#include <thence/type_iov.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

namespace {

// Packs the bytes from number `first` on into `to`, until it is full or there are no more. Returns how many.
std::size_t pack(const thence::type_segments &segments, MPI_Count first, std::span<char> to) {
    const thence::type_segments::whole before = segments.within(first); // those that are left out
    MPI_Count skip = first - before.bytes;                              // of the segment that has byte `first`
    std::size_t packed = 0;
    for (auto at = segments.begin() + before.segments; at != segments.end() && packed < to.size(); ++at) {
        const thence_iov segment = *at;
        const auto bytes = std::min(static_cast<std::size_t>(segment.iov_len - skip), to.size() - packed);
        std::memcpy(to.data() + packed, static_cast<const char *>(segment.iov_base) + skip, bytes);
        packed += bytes;
        skip = 0;
    }
    return packed;
}

std::vector<char> packed_by_mpi(const std::vector<double> &cube, MPI_Datatype face) {
    int bytes = 0;
    int end = 0;
    MPI_Pack_size(1, face, MPI_COMM_WORLD, &bytes);
    std::vector<char> packed(static_cast<std::size_t>(bytes));
    MPI_Pack(cube.data(), 1, face, packed.data(), bytes, &end, MPI_COMM_WORLD);
    packed.resize(static_cast<std::size_t>(end));
    return packed;
}

} // namespace

int main(int argc, char **argv) {
    constexpr int edge = 40;
    constexpr std::size_t piece = 1000; // no multiple of the size of a double
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool right = false;
    {
        std::vector<double> cube(static_cast<std::size_t>(edge) * edge * edge);
        std::iota(cube.begin(), cube.end(), rank);

        // The face of the highest x, where x varies fastest: edge * edge segments of one double.
        const int sizes[] = {edge, edge, edge};
        const int parts[] = {edge, edge, 1};
        const int starts[] = {0, 0, edge - 1};
        MPI_Datatype face = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &face);
        MPI_Type_commit(&face);
        const std::vector<char> expected = packed_by_mpi(cube, face);

        const thence::type_segments segments(face, cube.data());
        MPI_Type_free(&face); // the range keeps what it needs
        right =
            segments.size() == std::size_t{edge} * edge && segments.bytes() == static_cast<MPI_Count>(expected.size());

        // The last piece first.
        std::vector<char> packed(static_cast<std::size_t>(segments.bytes()));
        const std::size_t pieces = (packed.size() + piece - 1) / piece;
        for (std::size_t i = pieces; i-- > 0;) {
            const std::size_t first = i * piece;
            const std::size_t length = std::min(piece, packed.size() - first);
            const std::span<char> to(packed.data() + first, length);
            right = pack(segments, static_cast<MPI_Count>(first), to) == length && right;
        }
        right = packed == expected && right;
        std::cout << "rank " << rank << ": " << packed.size() << " bytes in " << pieces << " pieces, "
                  << (right ? "as MPI_Pack packs them" : "not as MPI_Pack packs them") << '\n';
    }
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
