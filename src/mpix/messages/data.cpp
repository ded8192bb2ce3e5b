// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/data.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"
#include "mpix/datatype/copy.hpp"

#include <array>
#include <atomic>
#include <cstring>

namespace thence::messages {

namespace {

// The layouts of predefined types, which no other type gets the handle of. Threads share them, since a table for each
// thread would take much of the little thread-local storage that a library may have that dlopen() loads.
//
// Invariant: an entry that has a type keeps it, and gets its layout once. So a reader that finds the type and a layout
// has those that belong together.
struct type_facts {
    std::atomic<std::uintptr_t> type; // the bits of the handle; zero: the entry is empty
    std::atomic<const datatype::layout *> layout;
};
constexpr std::size_t kept = 256;
constinit std::array<type_facts, kept> facts{};

type_facts &entry_of(std::uintptr_t type) noexcept {
    return facts[(type ^ (type >> 6) ^ (type >> 12)) % kept];
}

void keep(MPI_Datatype type, const datatype::layout *layout) noexcept {
    const std::uintptr_t bits = mpi::bits(type);
    type_facts &entry = entry_of(bits);
    std::uintptr_t none = 0;
    if (entry.type.compare_exchange_strong(none, bits, std::memory_order_relaxed)) {
        entry.layout.store(layout, std::memory_order_release);
    }
}

// Null if it is not kept.
const datatype::layout *kept_layout(MPI_Datatype type) noexcept {
    const std::uintptr_t bits = mpi::bits(type);
    const type_facts &entry = entry_of(bits);
    return entry.type.load(std::memory_order_relaxed) == bits ? entry.layout.load(std::memory_order_acquire) : nullptr;
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
        keep(type, found.what);
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
    const datatype::layout *layout = kept_layout(type);
    if (layout == nullptr) {
        layout = look_up(type);
    }
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
