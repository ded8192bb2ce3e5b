// SPDX-License-Identifier: BSD-3-Clause
// The type maps are those of MPI 4.1, chapter 5.1; the places of arguments in contents are those of its section 5.1.13.
#include "mpix/datatype/read_type.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thence::datatype {

namespace {

template <class First, class Second> struct pair_of {
    First value;
    Second index;
};

tree named(MPI_Datatype type) {
    const number size = size_of_predefined(type);
    if (size == 0) { // also MPI_LB and MPI_UB, which some MPIs still have
        return nullptr;
    }
    if (type == MPI_SHORT_INT) {
        using pair = pair_of<short, int>;
        list_builder both;
        both.add(offsetof(pair, value), 1, 0, block(0, sizeof(short)));
        both.add(offsetof(pair, index), 1, 0, block(0, sizeof(int)));
        return both.finish();
    }
    // In all other pairs the index touches the value: no value is smaller than the index, nor less aligned.
    return block(0, size);
}

// An argument that a call with large counts has in `counts`, any other in `integers`, at the same place.
number argument(const contents &args, std::size_t index) {
    return args.counts.empty() ? args.integers[index] : args.counts[index];
}

std::size_t size_argument(const contents &args, std::size_t index) {
    return static_cast<std::size_t>(argument(args, index));
}

// Displacement `i` of `count`, in bytes, of a call that has `before` other counts before its displacements.
number displacement(const contents &args, std::size_t before, std::size_t i) {
    if (!args.counts.empty()) {
        return args.counts[before + i];
    }
    // Calls of MPI 1 had them among the integers.
    return args.addresses.empty() ? args.integers[before + i] : args.addresses[i];
}

number rounded_up(number value, number to) {
    return (value + to - 1) / to; // NOLINT(clang-analyzer-core.DivideZero): MPI refuses a 0 when the type is made
}

// The part of a dimension that a process has: dimension of `size` elements of `what`, `extent` bytes each, in blocks of
// `length`, of which each of `processes` processes has one in turn.
tree blocks_of_process(number size, number length, number process, number processes, number extent, const tree &what) {
    const number all_blocks = rounded_up(size, length);
    const number blocks = process < all_blocks ? rounded_up(all_blocks - process, processes) : 0;
    if (blocks == 0) {
        return nullptr;
    }
    const number last_length = std::min(length, size - (process + processes * (blocks - 1)) * length);
    const number first = multiply(multiply(process, length), extent);
    const number stride = multiply(multiply(processes, length), extent);
    if (last_length == length) {
        return shifted(first, repeat(blocks, stride, repeat(length, extent, what)));
    }
    list_builder both;
    both.add(first, blocks - 1, stride, repeat(length, extent, what));
    both.add(add(first, multiply(blocks - 1, stride)), last_length, extent, what);
    return both.finish();
}

// The outermost repetition is that of the dimension that varies slowest.
tree subarray(const contents &args, const tree &what, number extent) {
    const auto dimensions = static_cast<std::size_t>(args.integers[0]);
    const std::size_t begin = args.counts.empty() ? 1 : 0;
    const int order = args.counts.empty() ? args.integers[3 * dimensions + 1] : args.integers[1];
    tree result = what;
    number stride = extent;
    number first = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
        const std::size_t dimension = begin + (order == MPI_ORDER_C ? dimensions - 1 - i : i);
        result = repeat(argument(args, dimension + dimensions), stride, result);
        first = add(first, multiply(argument(args, dimension + 2 * dimensions), stride));
        stride = multiply(stride, argument(args, dimension));
    }
    return shifted(first, result);
}

tree distributed_array(const contents &args, const tree &what, number extent) {
    const auto dimensions = static_cast<std::size_t>(args.integers[2]);
    // The sizes of the array are among the counts, if there are any; then the integers lack them.
    const auto size_of = [&](std::size_t i) -> number {
        return args.counts.empty() ? args.integers[3 + i] : args.counts[i];
    };
    const std::size_t begin = args.counts.empty() ? 3 + dimensions : 3;
    const int *distributions = args.integers.data() + begin;
    const int *lengths = distributions + dimensions;
    const int *grid = lengths + dimensions;
    const int order = args.integers[begin + 3 * dimensions];
    std::vector<number> coordinates(dimensions); // of the process in the grid
    number rank = args.integers[1];
    for (std::size_t i = dimensions; i-- > 0;) { // the last dimension of the grid varies fastest
        coordinates[i] = rank % grid[i];
        rank /= grid[i];
    }
    tree result = what;
    number stride = extent;
    for (std::size_t i = 0; i < dimensions; ++i) {
        const std::size_t dimension = order == MPI_ORDER_C ? dimensions - 1 - i : i;
        const number size = size_of(dimension);
        const number processes = grid[dimension];
        number length = lengths[dimension];
        number process = coordinates[dimension];
        if (distributions[dimension] == MPI_DISTRIBUTE_NONE) {
            length = size;
            process = 0;
        } else if (lengths[dimension] == MPI_DISTRIBUTE_DFLT_DARG) {
            length = distributions[dimension] == MPI_DISTRIBUTE_BLOCK ? rounded_up(size, processes) : 1;
        }
        result = blocks_of_process(size, length, process, processes, stride, result);
        stride = multiply(stride, size);
    }
    return result;
}

// Blocks of `what`: block i begins at displacement(i) and has length(i) elements.
template <class Displacement, class Length>
tree blocks_of(const contents &args, const tree &what, number extent, Displacement displacement, Length length) {
    const std::size_t count = size_argument(args, 0);
    list_builder list;
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        list.add(displacement(i), length(i), extent, what);
    }
    return list.finish();
}

} // namespace

type_reader::~type_reader() {
    for (MPI_Datatype type : owned_) {
        mpi::table.Type_free(&type);
    }
}

// Room in `owned_` is reserved, so that no handle is lost.
void type_reader::own(const contents &args) {
    const MPI_Datatype *predefined = nullptr; // the last one that was found to be
    for (const MPI_Datatype &type : args.types) {
        if (predefined != nullptr && *predefined == type) {
            continue;
        }
        if (is_predefined(combiner_of(type))) {
            predefined = &type;
        } else {
            owned_.push_back(type);
        }
    }
}

read_result type_reader::read(MPI_Datatype type) {
    if (const auto known = read_.find(type); known != read_.end()) {
        return known->second;
    }
    read_result result;
    if (before_(type, result)) {
        return result;
    }
    if (level_ == most_levels) {
        throw too_deep();
    }
    contents made_by = envelope_of(type);
    result.predefined = is_predefined(made_by.combiner);
    if (made_by.combiner == MPI_COMBINER_NAMED) {
        result.what = named(type);
    } else if (result.predefined && !is_value_index(made_by.combiner)) {
        result.what = block(0, size_of_predefined(type));
    } else {
        owned_.reserve(owned_.size() + made_by.types.size());
        get_contents(type, made_by);
        own(made_by);
        ++level_;
        result.what = result.predefined ? value_and_index(made_by) : derived(made_by);
        --level_;
    }
    read_.emplace(type, result);
    return result;
}

tree type_reader::derived(const contents &args) {
    switch (args.combiner) {
#if defined(THENCE_MPI_INTEGER_COMBINERS)
    case MPI_COMBINER_STRUCT_INTEGER:
#endif
    case MPI_COMBINER_STRUCT:
        return structure(args);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return old_type(args);
    default:
        break;
    }
    if (args.types.empty()) {
        throw unknown_combiner{args.combiner};
    }
    const tree what = old_type(args);
    const number extent = extent_of(args.types[0]);
    const std::size_t count = args.integers.empty() && args.counts.empty() ? 0 : size_argument(args, 0);
    const auto each_length = [&](std::size_t i) { return argument(args, 1 + i); };
    const auto same_length = [&](std::size_t) { return argument(args, 1); };
    switch (args.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return repeat(argument(args, 0), extent, what);
    case MPI_COMBINER_VECTOR:
        return repeat(argument(args, 0), multiply(argument(args, 2), extent), repeat(argument(args, 1), extent, what));
#if defined(THENCE_MPI_INTEGER_COMBINERS)
    case MPI_COMBINER_HVECTOR_INTEGER:
#endif
    case MPI_COMBINER_HVECTOR:
        return repeat(argument(args, 0), displacement(args, 2, 0), repeat(argument(args, 1), extent, what));
    case MPI_COMBINER_INDEXED:
        return blocks_of(
            args, what, extent, [&](std::size_t i) { return multiply(argument(args, 1 + count + i), extent); },
            each_length);
#if defined(THENCE_MPI_INTEGER_COMBINERS)
    case MPI_COMBINER_HINDEXED_INTEGER:
#endif
    case MPI_COMBINER_HINDEXED:
        return blocks_of(
            args, what, extent, [&](std::size_t i) { return displacement(args, 1 + count, i); }, each_length);
    case MPI_COMBINER_INDEXED_BLOCK:
        return blocks_of(
            args, what, extent, [&](std::size_t i) { return multiply(argument(args, 2 + i), extent); }, same_length);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return blocks_of(
            args, what, extent, [&](std::size_t i) { return displacement(args, 2, i); }, same_length);
    case MPI_COMBINER_SUBARRAY:
        return subarray(args, what, extent);
    case MPI_COMBINER_DARRAY:
        return distributed_array(args, what, extent);
    default:
        throw unknown_combiner{args.combiner};
    }
}

tree type_reader::structure(const contents &args) {
    const std::size_t count = size_argument(args, 0);
    list_builder list;
    list.reserve(count);
    const MPI_Datatype *last = nullptr;
    tree what;
    number extent = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (last == nullptr || *last != args.types[i]) {
            last = &args.types[i];
            what = read(*last).what;
            extent = extent_of(*last);
        }
        list.add(displacement(args, 1 + count, i), argument(args, 1 + i), extent, what);
    }
    return list.finish();
}

// As in a struct of C: no type of an index is aligned to more than its size.
tree type_reader::value_and_index(const contents &args) {
    const tree value = read(args.types[0]).what;
    const tree index = read(args.types[1]).what;
    list_builder both;
    both.add(0, 1, 0, value);
    both.add(rounded_up(extent_of(args.types[0]), bytes_of(index)) * bytes_of(index), 1, 0, index);
    return both.finish();
}

} // namespace thence::datatype
