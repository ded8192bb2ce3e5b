// SPDX-License-Identifier: BSD-3-Clause
// Random datatypes for tests: every constructor, nested, with gaps, overlap, negative strides and bounds, and zero
// counts. Their data lies within `reach` bytes of the address that they are used with. What an MPI packs wrongly by its
// own rules is left out there, since it could be no reference.
#pragma once

#include "support.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <sstream>
#include <string>
#include <vector>

class random_types {
public:
    static constexpr MPI_Aint reach = 20'000; // of a few elements
    static constexpr int most_bytes = 3'000;  // of one element

    explicit random_types(unsigned seed) : random_(seed) {}

    // The caller frees it. It is committed.
    MPI_Datatype make(int levels) {
        MPI_Datatype type = nested(levels);
        MPI_Type_commit(&type);
        return type;
    }
    // How it was made, for messages.
    static std::string text(MPI_Datatype type) {
        int integers = 0;
        int addresses = 0;
        int types = 0;
        int combiner = 0;
        int size = 0;
        MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
        MPI_Type_size(type, &size);
        if (combiner == MPI_COMBINER_NAMED) {
            return std::to_string(size).append(" bytes");
        }
        std::vector<int> i(static_cast<std::size_t>(integers) + 1);
        std::vector<MPI_Aint> a(static_cast<std::size_t>(addresses) + 1);
        std::vector<MPI_Datatype> t(static_cast<std::size_t>(types) + 1);
        MPI_Type_get_contents(type, integers, addresses, types, i.data(), a.data(), t.data());
        std::ostringstream result;
        result << "combiner " << combiner << " (";
        for (int k = 0; k < integers; ++k) {
            result << i[static_cast<std::size_t>(k)] << ' ';
        }
        result << '|';
        for (int k = 0; k < addresses; ++k) {
            result << ' ' << a[static_cast<std::size_t>(k)];
        }
        for (int k = 0; k < types; ++k) {
            result << " | " << text(t[static_cast<std::size_t>(k)]);
        }
        result << ')';
        return result.str();
    }
    int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

private:
    // Without long double, of which MPICH copies 10 of 16 bytes.
    MPI_Datatype named() {
        const MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT,     MPI_INT,        MPI_DOUBLE,    MPI_FLOAT,    MPI_BYTE,
                                    MPI_2INT, MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_LONG_INT, MPI_UINT16_T};
        return all[between(0, static_cast<int>(std::size(all)) - 1)];
    }

    // A derived datatype, which its caller frees: also of no level.
    MPI_Datatype nested(int levels) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        if (levels == 0) {
            MPI_Type_dup(named(), &type);
            return type;
        }
        MPI_Datatype old = nested(levels - 1);
        type = derived(old, levels);
        if (type == MPI_DATATYPE_NULL) { // refused, as Open MPI does an array of empty elements
            return old;
        }
        if (!fits(type) || packed_wrongly(type)) {
            MPI_Type_free(&type);
            return old;
        }
        MPI_Type_free(&old);
        return type;
    }

    static bool fits(MPI_Datatype type) {
        int size = 0;
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Aint true_lower = 0;
        MPI_Aint true_extent = 0;
        MPI_Type_size(type, &size);
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_get_true_extent(type, &true_lower, &true_extent);
        const MPI_Aint most = reach / 4;
        const auto within = [&](MPI_Aint offset) { return offset >= -most && offset <= most; };
        return size <= most_bytes && within(lower) && within(extent) && within(true_lower) &&
               within(true_lower + true_extent);
    }

    // A member without bytes: MPICH 5 crashes when it packs some structs with one, and Open MPI does not keep to their
    // extent. A negative stride: Open MPI takes it for a positive one if the blocks touch or overlap. Blocks that
    // overlap: Intel MPI 2021.18 packs some vectors of them as if the blocks touched, and so it does with elements
    // whose extent is zero.
    static bool packed_wrongly(MPI_Datatype type) {
        int size = 0;
        MPI_Type_size(type, &size);
        if (size == 0) {
            return true;
        }
#if defined(OPEN_MPI)
        constexpr bool is_open_mpi = true;
#else
        constexpr bool is_open_mpi = false;
#endif
        if (!is_open_mpi && !is_intel_mpi()) {
            return false;
        }
        MPI_Aint stride = 0;
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Type_get_extent(type, &lower, &extent);
        if (extent == 0 && is_intel_mpi()) {
            return true;
        }
        int combiner = 0;
        int lengths[3];
        MPI_Type_get_envelope(type, &lengths[0], &lengths[1], &lengths[2], &combiner);
        if (combiner != MPI_COMBINER_VECTOR && combiner != MPI_COMBINER_HVECTOR) {
            return false;
        }
        int i[3] = {};
        MPI_Datatype old = MPI_DATATYPE_NULL;
        MPI_Type_get_contents(type, lengths[0], lengths[1], lengths[2], i, &stride, &old);
        MPI_Type_get_extent(old, &lower, &extent);
        int named = 0;
        MPI_Type_get_envelope(old, &lengths[0], &lengths[1], &lengths[2], &named);
        if (named != MPI_COMBINER_NAMED) {
            MPI_Type_free(&old);
        }
        stride = combiner == MPI_COMBINER_VECTOR ? i[2] * extent : stride;
        const MPI_Aint block = i[1] * extent;
        return is_open_mpi ? stride < 0 && -stride <= block : stride < block && -stride < block;
    }

    std::vector<int> several(int count, int low, int high) {
        std::vector<int> result(static_cast<std::size_t>(count));
        std::ranges::generate(result, [&] { return between(low, high); });
        result.reserve(1);
        return result;
    }
    std::vector<MPI_Aint> addresses(int count) {
        std::vector<MPI_Aint> result(static_cast<std::size_t>(count));
        std::ranges::generate(result, [&] { return between(-300, 300); });
        result.reserve(1);
        return result;
    }

    MPI_Datatype derived(MPI_Datatype old, int levels) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const int count = between(0, 5);
        const int length = between(0, 3);
        switch (between(0, 11)) {
        case 0:
            MPI_Type_contiguous(count, old, &type);
            break;
        case 1:
            MPI_Type_vector(count, length, between(-6, 6), old, &type);
            break;
        case 2:
            MPI_Type_create_hvector(count, length, between(-100, 100), old, &type);
            break;
        case 3:
            MPI_Type_indexed(count, several(count, 0, 3).data(), several(count, -9, 9).data(), old, &type);
            break;
        case 4:
            MPI_Type_create_hindexed(count, several(count, 0, 3).data(), addresses(count).data(), old, &type);
            break;
        case 5:
            MPI_Type_create_indexed_block(count, length, several(count, -9, 9).data(), old, &type);
            break;
        case 6:
            MPI_Type_create_hindexed_block(count, length, addresses(count).data(), old, &type);
            break;
        case 7:
            return structure(old, levels);
        case 8:
            return subarray(old);
        case 9:
            return distributed(old);
        case 10:
            MPI_Type_create_resized(old, between(-40, 40), between(0, 120), &type);
            break;
        default:
            MPI_Type_dup(old, &type);
            break;
        }
        return type;
    }

    MPI_Datatype structure(MPI_Datatype old, int levels) {
        const int count = between(0, 4);
        std::vector<MPI_Datatype> types;
        std::vector<MPI_Datatype> mine;
        for (int i = 0; i < count; ++i) {
            if (between(0, 2) == 0) {
                types.push_back(old);
            } else if (between(0, 1) == 0) {
                types.push_back(named());
            } else {
                mine.push_back(nested(between(0, levels - 1)));
                types.push_back(mine.back());
            }
        }
        types.reserve(1);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_struct(count, several(count, 0, 3).data(), addresses(count).data(), types.data(), &type);
        for (MPI_Datatype &one : mine) {
            MPI_Type_free(&one);
        }
        return type;
    }

    MPI_Datatype subarray(MPI_Datatype old) {
        const int dimensions = between(1, 4);
        std::vector<int> sizes, parts, starts;
        for (int i = 0; i < dimensions; ++i) {
            sizes.push_back(between(1, 5));
            parts.push_back(between(1, sizes.back()));
            starts.push_back(between(0, sizes.back() - parts.back()));
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(),
                                 between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, &type);
        return type;
    }

    // Intel MPI 2021.18 gives a process elements of others if one of several dimensions is cyclic.
    MPI_Datatype distributed(MPI_Datatype old) {
        const int dimensions = between(1, 3);
        std::vector<int> sizes, kinds, lengths, grid;
        int processes = 1;
        for (int i = 0; i < dimensions; ++i) {
            const int kind[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
            sizes.push_back(between(1, 8));
            kinds.push_back(kind[between(0, dimensions > 1 && is_intel_mpi() ? 1 : 2)]);
            grid.push_back(kinds.back() == MPI_DISTRIBUTE_NONE ? 1 : between(1, 3));
            processes *= grid.back();
            if (kinds.back() == MPI_DISTRIBUTE_NONE || between(0, 1) == 0) {
                lengths.push_back(MPI_DISTRIBUTE_DFLT_DARG);
            } else {
                const int least =
                    kinds.back() == MPI_DISTRIBUTE_BLOCK ? (sizes.back() + grid.back() - 1) / grid.back() : 1;
                lengths.push_back(between(least, least + 2));
            }
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_darray(processes, between(0, processes - 1), dimensions, sizes.data(), kinds.data(),
                               lengths.data(), grid.data(), between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old,
                               &type);
        return type;
    }

    std::mt19937 random_;
};
