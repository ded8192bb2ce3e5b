// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_CONTINUATION_REQUESTS_HPP
#define THENCE_SENDERS_DETAIL_CONTINUATION_REQUESTS_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/continuation_requests.hpp needs C++20: compile with -std=c++20"
#else

// The continuation requests of the senders, as an operation meets them: one for all operations that nobody can stop,
// one that is lent to each that somebody can. The fast path of the first is inlined; the rest is in libthence-senders.

#include <thence/error.hpp>
#include <thence/senders/detail/library.hpp>

namespace thence::detail {

using libthence_senders::completing;
using libthence_senders::give_back_request;
using libthence_senders::lend_request;
using libthence_senders::lent_request;

/** Before the first use of shared_request(). @return MPI's error code. */
inline int make_shared_requests() noexcept {
    if (!libthence_senders::requests.ready.load(order::acquire)) [[unlikely]]
        return libthence_senders::make_requests();
    return MPI_SUCCESS;
}
/** As check_mpi_is_active(). The continuation requests are there only while MPI is active, so a load is enough then. */
inline void need_mpi(const char *call) {
    if (!libthence_senders::requests.ready.load(order::acquire)) [[unlikely]]
        check_mpi_is_active(call);
}
inline MPI_Request shared_request() noexcept {
    return libthence_senders::requests.normal;
}
inline MPI_Request shared_request_in_completion() noexcept {
    return libthence_senders::requests.in_completion;
}

/** This thread is in a completion for the life of the object. */
struct completing_scope {
    completing_scope() noexcept { ++completing; }
    ~completing_scope() { --completing; }
    completing_scope(const completing_scope &) = delete;
    completing_scope &operator=(const completing_scope &) = delete;
};

} // namespace thence::detail

#endif // C++20
#endif
