// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/layout.hpp
 *  @brief The layout of the elements of a buffer in memory, and the MPI datatype of that layout.
 *
 *  Elements are sent in the order of their indices, the last index fastest, in every layout. So a message that is sent
 *  from one layout may be received into another. A datatype that is made for an operation is freed when the operation
 *  has been started. MPI keeps its own reference. */

#include <array>
#include <climits>
#include <cstddef>

#include <thence/mpi/element.hpp>

namespace thence::detail {

/** Contiguous elements. */
template <class T> struct contiguous {
    T *first;
    std::size_t size;
    std::size_t count() const noexcept { return size; }
};

/** Elements in up to `Rank` dimensions, each with an extent and a stride. */
template <class T, std::size_t Rank> struct layout {
    struct dimension {
        std::size_t extent;
        std::ptrdiff_t stride;
    };
    T *first;
    std::size_t rank = 0;
    std::array<dimension, Rank == 0 ? 1 : Rank> dimensions{};

    explicit layout(T *data) noexcept : first(data) {}
    /** Adds the next dimension, of which the index is faster. If it is contiguous with the one before, the two become
     *  one. */
    void add(std::size_t extent, std::ptrdiff_t stride) noexcept {
        if (extent == 1) {
            return;
        }
        if (rank != 0 && dimensions[rank - 1].stride == static_cast<std::ptrdiff_t>(extent) * stride) {
            dimensions[rank - 1].extent *= extent;
            dimensions[rank - 1].stride = stride;
        } else {
            dimensions[rank++] = {extent, stride};
        }
    }
    std::size_t count() const noexcept {
        std::size_t product = 1;
        for (std::size_t i = 0; i != rank; ++i) {
            product *= dimensions[i].extent;
        }
        return product;
    }
    bool is_contiguous() const noexcept {
        return rank == 0 || (rank == 1 && dimensions[0].stride == 1) || count() == 0;
    }
    /** Calls `each(element)` in the order of the indices. */
    template <class Each> void for_each(Each each) const { walk(each, first, 0); }

private:
    template <class Each> void walk(Each &each, T *at, std::size_t d) const {
        if (d == rank) {
            each(*at);
            return;
        }
        for (std::size_t i = 0; i != dimensions[d].extent; ++i) {
            walk(each, at + static_cast<std::ptrdiff_t>(i) * dimensions[d].stride, d + 1);
        }
    }
};

/** A buffer as address, count and datatype, the arguments of MPI's calls. The destructor frees a datatype that it
 *  made. */
class described {
public:
    void *first = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

    described() = default;
    described(described &&) = delete;
    ~described() {
        if (made_) [[unlikely]] {
            MPI_Type_free(&type);
        }
    }

    /** @param blocks the buffer consists of this number of equal blocks; the count is that of one block.
     *  @return an MPI error code. */
    template <class T> [[nodiscard]] int describe(const contiguous<T> &where, std::size_t blocks = 1) {
        const std::size_t each = where.size / blocks;
        if (where.size % blocks != 0 || each > INT_MAX) {
            return MPI_ERR_COUNT;
        }
        first = where.first;
        if constexpr (has_mpi_type<T>) {
            type = mpi_type<T>();
            count = static_cast<int>(each);
        } else if (each * sizeof(T) <= INT_MAX) {
            count = static_cast<int>(each * sizeof(T));
        } else {
            count = static_cast<int>(each);
            return make_element<T>();
        }
        return MPI_SUCCESS;
    }
    /** As above. Blocks are slices along the first dimension. */
    template <class T, std::size_t Rank>
    [[nodiscard]] int describe(const layout<T, Rank> &where, std::size_t blocks = 1) {
        if (where.is_contiguous()) {
            return describe(contiguous<T>{where.first, where.count()}, blocks);
        }
        if (where.dimensions[0].extent % blocks != 0 || (blocks != 1 && where.dimensions[0].stride < 0)) {
            return MPI_ERR_COUNT;
        }
        first = where.first;
        count = 1;
        int code = make_element<T>();
        std::size_t d = where.rank;
        std::size_t block = 1;
        const auto extent = [&](std::size_t i) { return where.dimensions[i].extent / (i == 0 ? blocks : 1); };
        if (where.dimensions[d - 1].stride == 1) {
            --d;
            block = extent(d);
        }
        for (; d-- != 0 && code == MPI_SUCCESS; block = 1) {
            code = make_repeated(extent(d), block, where.dimensions[d].stride * static_cast<std::ptrdiff_t>(sizeof(T)));
        }
        if (code == MPI_SUCCESS && blocks != 1) {
            code = replace([&](MPI_Datatype *result) {
                return MPI_Type_create_resized(type, 0,
                                               static_cast<MPI_Aint>(extent(0)) * where.dimensions[0].stride *
                                                   static_cast<MPI_Aint>(sizeof(T)),
                                               result);
            });
        }
        return code == MPI_SUCCESS ? MPI_Type_commit(&type) : code;
    }
    /** As describe(), with the datatype of one element, for buffers whose blocks differ in size. */
    template <class T> [[nodiscard]] int describe_elements(const contiguous<T> &where) {
        if (where.size > INT_MAX) {
            return MPI_ERR_COUNT;
        }
        first = where.first;
        count = static_cast<int>(where.size);
        return make_element<T>();
    }
    /** As describe_elements(), with the datatype for reductions. */
    template <class T> [[nodiscard]] int describe_numbers(const contiguous<T> &where) {
        const int code = describe_elements(where);
        if constexpr (has_mpi_type<T>) {
            type = number_type<T>();
        }
        return code;
    }

private:
    /** Sets `type` to the datatype of one T. */
    template <class T> int make_element() {
        if constexpr (has_mpi_type<T>) {
            type = mpi_type<T>();
            return MPI_SUCCESS;
        } else {
            static_assert(sizeof(T) <= INT_MAX);
            const int code =
                replace([](MPI_Datatype *result) { return MPI_Type_contiguous(sizeof(T), MPI_BYTE, result); });
            return code == MPI_SUCCESS ? MPI_Type_commit(&type) : code;
        }
    }
    int make_repeated(std::size_t times, std::size_t block, std::ptrdiff_t stride) {
        if (times > INT_MAX || block > INT_MAX) {
            return MPI_ERR_COUNT;
        }
        return replace([&](MPI_Datatype *result) {
            return MPI_Type_create_hvector(static_cast<int>(times), static_cast<int>(block), stride, type, result);
        });
    }
    template <class Make> int replace(Make make) {
        MPI_Datatype result = MPI_DATATYPE_NULL;
        const int code = make(&result);
        if (code != MPI_SUCCESS) {
            return code;
        }
        if (made_) {
            MPI_Type_free(&type);
        }
        type = result;
        made_ = true;
        return MPI_SUCCESS;
    }

    bool made_ = false;
};

} // namespace thence::detail
