// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/grequest.h>.
#include <thence/grequest.h>

#include "core/api/checks.hpp"
#include "mpix/grequest/classes.hpp"
#include "mpix/grequest/request.hpp"
#include "mpix/grequest/source.hpp"

#include <optional>

namespace thence::api::reason {

constexpr failure null_greq_class{MPI_ERR_ARG, "greq_class is null"};
constexpr failure no_greq_class{MPI_ERR_ARG, "greq_class is no class of generalized requests, or was freed"};

} // namespace thence::api::reason

using namespace thence;
using api::fail;
namespace reason = api::reason;

namespace {

inline std::optional<api::failure> wrong(const grequest::functions &of_user) noexcept {
    if (of_user.query == nullptr) {
        return api::failure{MPI_ERR_ARG, "query_fn is null"};
    }
    if (of_user.free == nullptr) {
        return api::failure{MPI_ERR_ARG, "free_fn is null"};
    }
    return of_user.cancel == nullptr ? std::optional(api::failure{MPI_ERR_ARG, "cancel_fn is null"}) : std::nullopt;
}

int set_up_room(const api::public_call &call) noexcept {
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    return grequest::set_up() ? MPI_SUCCESS : fail(call, reason::too_many_sources);
}

[[gnu::always_inline]] inline int start(const char *call, const grequest::functions &of_user, void *state,
                                        MPI_Request *request, bool calls_no_mpi) {
    if (request == nullptr) [[unlikely]] {
        return fail(call, reason::null_request);
    }
    if (!grequest::is_set_up.load(std::memory_order_acquire)) [[unlikely]] {
        if (const int code = set_up_room(call); code != MPI_SUCCESS) {
            return code;
        }
    }
    const int code = grequest::start(of_user.query, of_user.free, of_user.cancel, of_user.poll, of_user.wait, state,
                                     request, calls_no_mpi);
    if (code == grequest::out_of_memory) [[unlikely]] {
        return fail(call, reason::no_memory);
    }
    return code;
}

} // namespace

extern "C" {

int thence_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                          MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                          thence_grequest_wait_function *wait_fn, void *extra_state, MPI_Request *request) {
    constexpr const char *call = "thence_grequest_start";
    const grequest::functions of_user{query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    if (const auto why = wrong(of_user)) {
        return fail(call, *why);
    }
    return start(call, of_user, extra_state, request, false);
}

int thence_grequest_start_x(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                            MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                            thence_grequest_wait_function *wait_fn, void *extra_state, unsigned flags,
                            MPI_Request *request) {
    constexpr const char *call = "thence_grequest_start_x";
    const grequest::functions of_user{query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    if (const auto why = wrong(of_user)) {
        return fail(call, *why);
    }
    if ((flags & ~THENCE_POLL_CALLS_NO_MPI) != 0) {
        return fail(call, {MPI_ERR_ARG, "flags has bits other than THENCE_POLL_CALLS_NO_MPI"});
    }
    return start(call, of_user, extra_state, request, (flags & THENCE_POLL_CALLS_NO_MPI) != 0);
}

int thence_grequest_class_create(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                 MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
                                 thence_grequest_wait_function *wait_fn, thence_grequest_class *greq_class) {
    constexpr const char *call = "thence_grequest_class_create";
    const grequest::functions of_user{query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    if (const auto why = wrong(of_user)) {
        return fail(call, *why);
    }
    if (greq_class == nullptr) {
        return fail(call, reason::null_greq_class);
    }
    if (const int code = set_up_room(call); code != MPI_SUCCESS) {
        return code;
    }
    const thence_grequest_class created = grequest::create_class(of_user);
    if (created == 0) {
        return fail(call, reason::no_memory);
    }
    *greq_class = created;
    return MPI_SUCCESS;
}

int thence_grequest_class_allocate(thence_grequest_class greq_class, void *extra_state, MPI_Request *request) {
    constexpr const char *call = "thence_grequest_class_allocate";
    const std::optional<grequest::functions> of_class = grequest::functions_of(greq_class);
    return of_class ? start(call, *of_class, extra_state, request, false) : fail(call, reason::no_greq_class);
}

int thence_grequest_class_free(thence_grequest_class *greq_class) {
    constexpr const char *call = "thence_grequest_class_free";
    if (greq_class == nullptr || !grequest::free_class(*greq_class)) {
        return fail(call, greq_class == nullptr ? reason::null_greq_class : reason::no_greq_class);
    }
    *greq_class = 0;
    return MPI_SUCCESS;
}

int thence_grequest_complete(MPI_Request request) {
    return grequest::complete(request);
}

} // extern "C"
