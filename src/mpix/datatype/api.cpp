// SPDX-License-Identifier: BSD-3-Clause
// The segments of datatypes: checks arguments, looks the layout up, and walks it.
#include <thence/type_iov.h>

#include "core/api/errors.hpp"
#include "mpix/datatype/copy.hpp"
#include "mpix/datatype/layout.hpp"

#include <optional>
#include <sys/uio.h>
#include <utility>

namespace thence::api::reason {

constexpr failure null_iov_result{MPI_ERR_ARG, "a pointer to a result is null"};
constexpr failure null_layout{MPI_ERR_ARG, "layout is null"};

} // namespace thence::api::reason

using namespace thence;
using api::fail;
namespace reason = api::reason;
using datatype::sequence;

static_assert(sizeof(thence_iov) == sizeof(iovec) && offsetof(thence_iov, iov_base) == offsetof(iovec, iov_base) &&
              offsetof(thence_iov, iov_len) == offsetof(iovec, iov_len));

namespace {

int fail_lookup(const char *call, const char *argument, const datatype::lookup &failed) noexcept {
    switch (failed.how) {
    case datatype::found::yes:
        return MPI_SUCCESS;
    case datatype::found::mpi_inactive:
        return fail(call, reason::mpi_inactive);
    case datatype::found::library_has_ended:
        return fail(call, reason::library_has_ended);
    case datatype::found::null_datatype:
        return fail(call, argument, {MPI_ERR_TYPE, "it is MPI_DATATYPE_NULL"});
    case datatype::found::unknown_combiner:
        return fail(call, argument,
                    {MPI_ERR_UNSUPPORTED_OPERATION, "it was made by a constructor that is in no MPI up to 5.0"});
    case datatype::found::too_large:
        return fail(call, argument, {MPI_ERR_TYPE, "one element has 2^63 bytes or more"});
    case datatype::found::too_deep:
        return fail(call, argument, {MPI_ERR_TYPE, "it is nested more than 1000 levels deep"});
    case datatype::found::no_memory:
        return fail(call, reason::no_memory);
    case datatype::found::mpi_error:
        break;
    }
    return failed.code; // MPI has reported it
}

std::optional<api::failure> wrong_count(MPI_Count count, const sequence &elements) noexcept {
    if (count < 0) {
        return api::failure{MPI_ERR_COUNT, "the number of elements is negative"};
    }
    return datatype::countable(elements)
               ? std::nullopt
               : std::optional(api::failure{MPI_ERR_COUNT, "so many elements have 2^63 bytes or more"});
}

std::optional<api::failure> wrong_length_query(MPI_Count max_bytes, const MPI_Count *length,
                                               const MPI_Count *bytes) noexcept {
    if (max_bytes < -1) {
        return api::failure{MPI_ERR_ARG, "max_iov_bytes is below -1"};
    }
    return length == nullptr || bytes == nullptr ? std::optional(reason::null_iov_result) : std::nullopt;
}

std::optional<api::failure> wrong_request(MPI_Count offset, const thence_iov *iov, MPI_Count max,
                                          const MPI_Count *got) noexcept {
    if (offset < 0) {
        return api::failure{MPI_ERR_ARG, "iov_offset is negative"};
    }
    if (max < 0) {
        return api::failure{MPI_ERR_ARG, "max_iov_len is negative"};
    }
    if (iov == nullptr && max > 0) {
        return api::failure{MPI_ERR_ARG, "iov is null although max_iov_len is not 0"};
    }
    return got == nullptr ? std::optional(reason::null_iov_result) : std::nullopt;
}

// The arguments are right.
void count_segments(const sequence &elements, MPI_Count max_bytes, MPI_Count *length, MPI_Count *bytes) noexcept {
    if (max_bytes < 0 || max_bytes >= elements.bytes()) {
        *length = elements.segments();
        *bytes = elements.bytes();
    } else {
        const datatype::fitting found = datatype::fit(elements, max_bytes);
        *length = found.segments;
        *bytes = found.bytes;
    }
}

int iov_len(const char *call, MPI_Count count, MPI_Datatype type, MPI_Count max_bytes, MPI_Count *length,
            MPI_Count *bytes) noexcept {
    if (const auto why = wrong_length_query(max_bytes, length, bytes)) {
        return fail(call, *why);
    }
    const datatype::lookup found = datatype::layout_of(type);
    if (found.what == nullptr) {
        return fail_lookup(call, "datatype", found);
    }
    const sequence elements = found.what->at(nullptr, count);
    if (const auto why = wrong_count(count, elements)) {
        return fail(call, *why);
    }
    count_segments(elements, max_bytes, length, bytes);
    return MPI_SUCCESS;
}

int iov(const char *call, const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Count offset, thence_iov *to,
        MPI_Count max, MPI_Count *got) noexcept {
    if (const auto why = wrong_request(offset, to, max, got)) {
        return fail(call, *why);
    }
    const datatype::lookup found = datatype::layout_of(type);
    if (found.what == nullptr) {
        return fail_lookup(call, "datatype", found);
    }
    const sequence elements = found.what->at(buffer, count);
    if (const auto why = wrong_count(count, elements)) {
        return fail(call, *why);
    }
    *got = datatype::write_segments(elements, offset, to, max);
    return MPI_SUCCESS;
}

const datatype::layout *inside(const thence_layout *layout) noexcept {
    return reinterpret_cast<const datatype::layout *>(layout);
}

// One side of a copy: its elements, or the error.
struct side {
    sequence elements{};
    int code = MPI_SUCCESS;
};
side side_of(const char *argument, const void *buffer, MPI_Count count, MPI_Datatype type) noexcept {
    constexpr const char *call = "thence_type_copy";
    const datatype::lookup found = datatype::layout_of(type);
    if (found.what == nullptr) {
        return {.code = fail_lookup(call, argument, found)};
    }
    const sequence elements = found.what->at(buffer, count);
    if (const auto why = wrong_count(count, elements)) {
        return {.code = fail(call, argument, *why)};
    }
    return {.elements = elements};
}

} // namespace

extern "C" {

int thence_type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len_out,
                        MPI_Count *actual_iov_bytes) {
    return iov_len("thence_type_iov_len", 1, datatype, max_iov_bytes, iov_len_out, actual_iov_bytes);
}

int thence_type_iov(MPI_Datatype datatype, MPI_Count iov_offset, thence_iov *to, MPI_Count max_iov_len,
                    MPI_Count *actual_iov_len) {
    return iov("thence_type_iov", nullptr, 1, datatype, iov_offset, to, max_iov_len, actual_iov_len);
}

int thence_type_iov_len_x(MPI_Count count, MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len_out,
                          MPI_Count *actual_iov_bytes) {
    return iov_len("thence_type_iov_len_x", count, datatype, max_iov_bytes, iov_len_out, actual_iov_bytes);
}

int thence_type_iov_x(const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Count iov_offset, thence_iov *to,
                      MPI_Count max_iov_len, MPI_Count *actual_iov_len) {
    return iov("thence_type_iov_x", buf, count, datatype, iov_offset, to, max_iov_len, actual_iov_len);
}

int thence_type_copy(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Count *bytes) {
    const side source = side_of("sendtype", sendbuf, sendcount, sendtype);
    if (source.code != MPI_SUCCESS) {
        return source.code;
    }
    const side destination = side_of("recvtype", recvbuf, recvcount, recvtype);
    if (destination.code != MPI_SUCCESS) {
        return destination.code;
    }
    const datatype::copied done = datatype::copy(source.elements, destination.elements);
    if (bytes != nullptr) {
        *bytes = done.bytes;
    }
    return done.truncated
               ? fail("thence_type_copy",
                      {MPI_ERR_TRUNCATE, "the source has more bytes than fit; those that fit have been copied"})
               : MPI_SUCCESS;
}

int thence_layout_create(MPI_Datatype datatype, thence_layout **layout) {
    constexpr const char *call = "thence_layout_create";
    if (layout == nullptr) {
        return fail(call, reason::null_layout);
    }
    const datatype::lookup found = datatype::layout_of(datatype);
    if (found.what == nullptr) {
        return fail_lookup(call, "datatype", found);
    }
    found.what->acquire();
    *layout = reinterpret_cast<thence_layout *>(const_cast<datatype::layout *>(found.what));
    return MPI_SUCCESS;
}

int thence_layout_free(thence_layout **layout) {
    if (layout == nullptr || *layout == nullptr) {
        return fail("thence_layout_free", reason::null_layout);
    }
    inside(std::exchange(*layout, nullptr))->release();
    return MPI_SUCCESS;
}

int thence_layout_iov_len(const thence_layout *layout, MPI_Count count, MPI_Count max_iov_bytes, MPI_Count *iov_len_out,
                          MPI_Count *actual_iov_bytes) {
    constexpr const char *call = "thence_layout_iov_len";
    if (layout == nullptr) {
        return fail(call, reason::null_layout);
    }
    const sequence elements = inside(layout)->at(nullptr, count);
    auto why = wrong_length_query(max_iov_bytes, iov_len_out, actual_iov_bytes);
    if (!why) {
        why = wrong_count(count, elements);
    }
    if (why) {
        return fail(call, *why);
    }
    count_segments(elements, max_iov_bytes, iov_len_out, actual_iov_bytes);
    return MPI_SUCCESS;
}

int thence_layout_iov(const thence_layout *layout, const void *buf, MPI_Count count, MPI_Count iov_offset,
                      thence_iov *to, MPI_Count max_iov_len, MPI_Count *actual_iov_len) {
    constexpr const char *call = "thence_layout_iov";
    if (layout == nullptr) {
        return fail(call, reason::null_layout);
    }
    const sequence elements = inside(layout)->at(buf, count);
    auto why = wrong_request(iov_offset, to, max_iov_len, actual_iov_len);
    if (!why) {
        why = wrong_count(count, elements);
    }
    if (why) {
        return fail(call, *why);
    }
    *actual_iov_len = datatype::write_segments(elements, iov_offset, to, max_iov_len);
    return MPI_SUCCESS;
}

} // extern "C"
