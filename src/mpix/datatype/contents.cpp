// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/datatype/contents.hpp"

#include "core/mpi/calls.hpp"

#include <cstddef>

namespace thence::datatype {

namespace {

void check(int code) {
    if (code != MPI_SUCCESS) {
        throw mpi_failure{code};
    }
}

template <class Count> void resize(contents &args, Count integers, Count addresses, Count counts, Count types) {
    args.integers.resize(static_cast<std::size_t>(integers));
    args.addresses.resize(static_cast<std::size_t>(addresses));
    args.counts.resize(static_cast<std::size_t>(counts));
    args.types.resize(static_cast<std::size_t>(types));
    // MPIs refuse a null pointer to an array also where it has no entries.
    args.integers.reserve(1);
    args.addresses.reserve(1);
    args.counts.reserve(1);
    args.types.reserve(1);
}

} // namespace

int combiner_of(MPI_Datatype type) {
    int combiner = 0;
    if (mpi::table.type_get_envelope_c != nullptr) {
        MPI_Count lengths[4];
        check(mpi::table.type_get_envelope_c(type, &lengths[0], &lengths[1], &lengths[2], &lengths[3], &combiner));
    } else {
        int lengths[3];
        check(mpi::table.Type_get_envelope(type, &lengths[0], &lengths[1], &lengths[2], &combiner));
    }
    return combiner;
}

contents envelope_of(MPI_Datatype type) {
    contents result;
    if (mpi::table.type_get_envelope_c != nullptr) {
        MPI_Count integers = 0;
        MPI_Count addresses = 0;
        MPI_Count counts = 0;
        MPI_Count types = 0;
        check(mpi::table.type_get_envelope_c(type, &integers, &addresses, &counts, &types, &result.combiner));
        resize(result, integers, addresses, counts, types);
    } else {
        int integers = 0;
        int addresses = 0;
        int types = 0;
        check(mpi::table.Type_get_envelope(type, &integers, &addresses, &types, &result.combiner));
        resize(result, integers, addresses, 0, types);
    }
    return result;
}

void get_contents(MPI_Datatype type, contents &args) {
    if (mpi::table.type_get_contents_c != nullptr) {
        const auto length = [](const auto &array) { return static_cast<MPI_Count>(array.size()); };
        check(mpi::table.type_get_contents_c(type, length(args.integers), length(args.addresses), length(args.counts),
                                             length(args.types), args.integers.data(), args.addresses.data(),
                                             args.counts.data(), args.types.data()));
    } else {
        const auto length = [](const auto &array) { return static_cast<int>(array.size()); };
        check(mpi::table.Type_get_contents(type, length(args.integers), length(args.addresses), length(args.types),
                                           args.integers.data(), args.addresses.data(), args.types.data()));
    }
}

bool is_predefined(int combiner) noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER || is_value_index(combiner);
}

bool is_value_index([[maybe_unused]] int combiner) noexcept {
#if defined(THENCE_MPI_COMBINER_VALUE_INDEX)
    return combiner == MPI_COMBINER_VALUE_INDEX;
#else
    return false;
#endif
}

MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    check(mpi::table.Type_get_extent(type, &lower_bound, &extent));
    return extent;
}

int size_of_predefined(MPI_Datatype type) {
    int size = 0;
    check(mpi::table.Type_size(type, &size));
    return size;
}

} // namespace thence::datatype
