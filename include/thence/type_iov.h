/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file type_iov.h
 *  @brief The segments of a datatype: where the bytes lie that it describes, with random access.
 *
 *  A *segment* is a number of bytes that follow each other. The segments of a datatype are in the order of its type
 *  map, so a program that copies them one after the other packs the data as `MPI_Pack` does. They are numbered from 0.
 *  A segment, or a number of bytes, is found without a look at the segments before it: the cost depends on how deep the
 *  datatype is nested, not on the number of its segments.
 *
 *  - Segments that touch are one segment where the datatype lists them one after the other (the blocks of an indexed
 *    type, the members of a struct), or repeats one block without a gap. So there may be fewer segments than MPICH
 *    counts.
 *  - No segment is empty. A datatype without bytes has no segments.
 *  - Blocks that overlap stay as they are, and nothing is sorted.
 *  - The datatype need not be committed.
 *
 *  What is found out about a datatype is kept as an attribute of it until it is freed, so the second call is fast.
 *
 *  All counts are `MPI_Count`. Errors: as thence.h says. Every function here may be called from any thread.
 *
 *  `mpix.h` gives thence_type_iov_len() and thence_type_iov() under MPICH's names. `type_iov.hpp` has a C++ range.
 *
 *  Source: Zhou et al. 2024, "Designing and Prototyping Extensions to MPI in MPICH", section "Derived Datatypes". */

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief One segment. It has the layout of `struct iovec` of POSIX. */
typedef struct thence_iov {
    void *iov_base;   /**< its address, or its displacement if the call has no address */
    MPI_Aint iov_len; /**< its bytes, at least 1 */
} thence_iov;

/** @brief Count the segments of one element of a datatype that fit in a number of bytes.
 *  @param datatype      any datatype.
 *  @param max_iov_bytes a number of bytes of data, or -1 for all.
 *  @param[out] iov_len  how many whole segments at the beginning have at most `max_iov_bytes` bytes together.
 *  @param[out] actual_iov_bytes how many bytes these have.
 *  @return `MPI_ERR_TYPE` (`MPI_DATATYPE_NULL`; the datatype has 2^63 bytes or more, or more than 1000 levels);
 *          `MPI_ERR_ARG` (`max_iov_bytes` below -1, a null pointer); `MPI_ERR_UNSUPPORTED_OPERATION` (a constructor
 *          that MPI 5.0 does not have); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` (MPI is not active).
 *  @note Threads: any. Source: the paper, section "Derived Datatypes"; the name is that of MPICH without its prefix. */
THENCE_EXPORT int thence_type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len,
                                      MPI_Count *actual_iov_bytes);

/** @brief Get segments of one element of a datatype.
 *  @param datatype      any datatype.
 *  @param iov_offset    the number of the first segment to get, at least 0.
 *  @param[out] iov      array of `max_iov_len` segments; may be null if that is 0. `iov_base` is the displacement.
 *  @param max_iov_len   at most so many, at least 0.
 *  @param[out] actual_iov_len how many segments were set: fewer at the end, 0 beyond it.
 *  @return as thence_type_iov_len(); `MPI_ERR_ARG` also for a negative `iov_offset` or `max_iov_len`.
 *  @note Threads: any. Source: as above. */
THENCE_EXPORT int thence_type_iov(MPI_Datatype datatype, MPI_Count iov_offset, thence_iov *iov, MPI_Count max_iov_len,
                                  MPI_Count *actual_iov_len);

/** @brief As thence_type_iov_len(), for `count` elements.
 *  @param count    the number of elements, at least 0.
 *  @param datatype any datatype.
 *  @param max_iov_bytes, iov_len, actual_iov_bytes as there.
 *  @return as there; `MPI_ERR_COUNT` (a negative `count`, or so many elements have 2^63 bytes or more).
 *  @note Threads: any. */
THENCE_EXPORT int thence_type_iov_len_x(MPI_Count count, MPI_Datatype datatype, MPI_Count max_iov_bytes,
                                        MPI_Count *iov_len, MPI_Count *actual_iov_bytes);

/** @brief As thence_type_iov(), for a buffer as communication calls take it.
 *  @param buf        the address of the first element; `MPI_BOTTOM` for displacements, or for addresses in the
 *                    datatype.
 *  @param count      the number of elements, at least 0.
 *  @param datatype   any datatype.
 *  @param iov_offset, iov, max_iov_len, actual_iov_len as there, but `iov_base` is an address.
 *  @return as thence_type_iov(); `MPI_ERR_COUNT` as thence_type_iov_len_x().
 *  @note Threads: any. The segments can be passed to `writev` and the like as they are. */
THENCE_EXPORT int thence_type_iov_x(const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Count iov_offset,
                                    thence_iov *iov, MPI_Count max_iov_len, MPI_Count *actual_iov_len);

/** @brief Copy data inside the process, as a message would: from one layout into another.
 *  @param sendbuf, sendcount, sendtype what to copy.
 *  @param recvbuf, recvcount, recvtype where to. It must not overlap with the source.
 *  @param[out] bytes how many bytes were copied; may be null.
 *  @return as thence_type_iov_len_x(); `MPI_ERR_TRUNCATE`: the source has more bytes than fit, and those that fit have
 *          been copied.
 *  @note Threads: any. It sends no message, and no packed copy is made. */
THENCE_EXPORT int thence_type_copy(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Count *bytes);

/** @brief What is known of a datatype, which stays after the datatype was freed. */
typedef struct thence_layout thence_layout;

/** @brief Get the layout of a datatype.
 *  @param datatype    any datatype.
 *  @param[out] layout the layout. thence_layout_free() frees it.
 *  @return as thence_type_iov_len().
 *  @note Threads: any. It is shared with the datatype, so this is cheap. */
THENCE_EXPORT int thence_layout_create(MPI_Datatype datatype, thence_layout **layout);

/** @brief Free a layout. Every one that was created is freed once.
 *  @param[in,out] layout the layout; null on return.
 *  @return `MPI_ERR_ARG` (a null pointer).
 *  @note Threads: any; while no other uses this layout. Also after `MPI_Finalize`. */
THENCE_EXPORT int thence_layout_free(thence_layout **layout);

/** @brief As thence_type_iov_len_x(), of a layout.
 *  @param layout the layout.
 *  @param count, max_iov_bytes, iov_len, actual_iov_bytes as there.
 *  @return `MPI_ERR_ARG` and `MPI_ERR_COUNT` as there; `MPI_ERR_ARG` also for a null `layout`.
 *  @note Threads: any. Also after the datatype was freed, and after `MPI_Finalize`. */
THENCE_EXPORT int thence_layout_iov_len(const thence_layout *layout, MPI_Count count, MPI_Count max_iov_bytes,
                                        MPI_Count *iov_len, MPI_Count *actual_iov_bytes);

/** @brief As thence_type_iov_x(), of a layout.
 *  @param layout the layout.
 *  @param buf, count, iov_offset, iov, max_iov_len, actual_iov_len as there.
 *  @return `MPI_ERR_ARG` and `MPI_ERR_COUNT` as there; `MPI_ERR_ARG` also for a null `layout`.
 *  @note Threads: any. Also after the datatype was freed, and after `MPI_Finalize`. */
THENCE_EXPORT int thence_layout_iov(const thence_layout *layout, const void *buf, MPI_Count count, MPI_Count iov_offset,
                                    thence_iov *iov, MPI_Count max_iov_len, MPI_Count *actual_iov_len);

#ifdef __cplusplus
}
#endif
