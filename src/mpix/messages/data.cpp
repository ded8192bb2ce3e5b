// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/data.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"
#include "mpix/datatype/copy.hpp"

#include <cstring>

namespace thence::messages {

namespace {

struct type_facts {
    MPI_Datatype type;
    const datatype::layout *layout; // null: this entry is empty
};

// Only predefined types are kept: no other type gets the handle of one of them.
constexpr std::size_t kept = 64;
thread_local type_facts facts_of_thread[kept] = {};

type_facts &entry_of(MPI_Datatype type) noexcept {
    const std::uintptr_t bits = mpi::bits(type);
    return facts_of_thread[(bits ^ (bits >> 6) ^ (bits >> 12)) % kept];
}

const datatype::layout *look_up(MPI_Datatype type) noexcept {
    const datatype::lookup found = datatype::layout_of(type);
    if (found.how != datatype::found::yes) {
        return nullptr;
    }
    int combiner = 0;
    int integers = 0;
    int addresses = 0;
    int types = 0;
    if (mpi::table.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
        combiner == MPI_COMBINER_NAMED) {
        entry_of(type) = {type, found.what};
    }
    return found.what;
}

datatype::sequence elements_of(const buffer &data) noexcept {
    return data.layout->at(data.base, static_cast<datatype::number>(data.count));
}

} // namespace

int describe(const void *base, MPI_Count count, MPI_Datatype type, buffer &result) noexcept {
    if (count < 0) {
        return MPI_ERR_COUNT;
    }
    if (type == MPI_DATATYPE_NULL) {
        return MPI_ERR_TYPE;
    }
    const type_facts &known = entry_of(type);
    const datatype::layout *const layout = known.layout != nullptr && known.type == type ? known.layout : look_up(type);
    if (layout == nullptr) {
        return MPI_ERR_TYPE;
    }
    const datatype::sequence all = layout->at(base, static_cast<datatype::number>(count));
    if (!datatype::countable(all)) {
        return MPI_ERR_COUNT;
    }
    result = {const_cast<void *>(base), count, type, static_cast<std::uint64_t>(all.bytes()), nullptr, layout};
    if (all.contiguous()) {
        result.row = reinterpret_cast<void *>(static_cast<std::uintptr_t>(all.first_byte()));
        result.layout = nullptr;
    }
    return MPI_SUCCESS;
}

void copy_out(const buffer &from, void *to, std::uint64_t bytes) noexcept {
    if (bytes == 0) {
        return;
    }
    if (from.contiguous()) {
        std::memcpy(to, from.row, bytes);
    } else {
        datatype::pack(elements_of(from), to, static_cast<datatype::number>(bytes));
    }
}

void copy_in(const void *from, const buffer &to, std::uint64_t bytes) noexcept {
    if (bytes == 0) {
        return;
    }
    if (to.contiguous()) {
        std::memcpy(to.row, from, bytes);
    } else {
        datatype::unpack(from, static_cast<datatype::number>(bytes), elements_of(to));
    }
}

void copy(const buffer &from, const buffer &to, std::uint64_t bytes) noexcept {
    if (from.contiguous()) {
        copy_in(from.row, to, bytes);
    } else if (to.contiguous()) {
        copy_out(from, to.row, bytes);
    } else {
        datatype::copy(elements_of(from), elements_of(to)); // stops where either ends
    }
}

} // namespace thence::messages
