// SPDX-License-Identifier: BSD-3-Clause
// The calls on one continuation request: they check the arguments, call the continuation layer, and report errors.
#include "core/api/cr_calls.hpp"

#include "core/api/checks.hpp"
#include "core/continuation/cancel.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/wait.hpp"
#include "core/engine/engine.hpp"
#include "core/mpi/calls.hpp"

#include <thence/thence.h>

namespace thence::api::reason {

constexpr failure started_already{MPI_ERR_REQUEST, "{cr} is a continuation request that is started already"};

} // namespace thence::api::reason

namespace thence::api {

using continuation::continuation_request;

namespace {

// Returns the CR that a handle names. If there is none, it reports the error, sets `code`, and returns null.
continuation_request *checked(const public_call &call, const MPI_Request *cr, int &code) noexcept {
    continuation_request *object = nullptr;
    code = MPI_SUCCESS;
    if (cr == nullptr) {
        code = fail(call, reason::null_cr);
    } else if ((object = continuation_request::of_handle(*cr)) == nullptr) {
        code = fail(call, why_not_live(*cr));
    }
    return object;
}

// Calls `use(object)` with that CR. @return the code of that, or of the error.
template <class Handle, class Use> int on_cr(const public_call &call, Handle *cr, Use &&use) noexcept {
    int code = MPI_SUCCESS;
    continuation_request *object = checked(call, cr, code);
    return object == nullptr ? code : use(*object);
}

int finish_test(const public_call &call, const continuation::test_result &result, MPI_Status *status) noexcept {
    if (!result.complete && result.error == MPI_ERR_PENDING) [[unlikely]] {
        return fail(
            call,
            {MPI_ERR_PENDING,
             "called inside a callback, and only the return of that callback lets the remaining continuations run"});
    }
    if (!result.complete && result.error != MPI_SUCCESS) [[unlikely]] {
        return fail(call, reason::library_has_ended);
    }
    if (result.complete && status != MPI_STATUS_IGNORE && status != nullptr) {
        *status = mpi::empty_status();
    }
    return continuation::report(result);
}

__attribute__((noinline)) int wait_long(const public_call &call, MPI_Request *cr, MPI_Status *status) noexcept {
    return on_cr(call, cr, [&](auto &object) { return finish_test(call, continuation::wait(object), status); });
}

inline int wait(const public_call &call, MPI_Request *cr, MPI_Status *status) noexcept {
    if (cr == nullptr || !continuation::run_last_of(*cr)) [[unlikely]] {
        return wait_long(call, cr, status);
    }
    if (engine::wanted(status)) {
        *status = mpi::empty_status();
    }
    return MPI_SUCCESS;
}

constexpr renamed_argument of_mpi_wait[] = {{"cr", "request"}};
constexpr public_call mpi_wait_call{"MPI_Wait", of_mpi_wait};
constexpr public_call wait_call{"thence_wait"};
constexpr public_call test_call{"thence_test"};

} // namespace

int test(const public_call &call, MPI_Request *cr, int *flag, MPI_Status *status) noexcept {
    int code = MPI_SUCCESS;
    continuation_request *object = checked(call, cr, code);
    if (object == nullptr || flag == nullptr) {
        return object == nullptr ? code : fail(call, reason::null_flag);
    }
    const continuation::test_result result = continuation::test(*object);
    *flag = result.complete ? 1 : 0;
    return finish_test(call, result, status);
}

std::optional<failure> wrong_to_start(MPI_Request cr) noexcept {
    const continuation_request *object = continuation_request::of_handle(cr);
    if (object == nullptr) {
        return why_not_live(cr);
    }
    if (object->has(THENCE_CR_NEEDS_START) && object->active()) {
        return reason::started_already;
    }
    return std::nullopt;
}

int start(const public_call &call, MPI_Request *cr) noexcept {
    return on_cr(call, cr,
                 [&](auto &object) { return object.start() ? MPI_SUCCESS : fail(call, reason::started_already); });
}

int free(const public_call &call, MPI_Request *cr) noexcept {
    return on_cr(call, cr, [cr](auto &object) {
        object.free_handle();
        *cr = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    });
}

int cancel(const public_call &call, MPI_Request *cr) noexcept {
    return on_cr(call, cr, [](auto &object) {
        continuation::cancel_all(object);
        return MPI_SUCCESS;
    });
}

int get_failed(const public_call &call, MPI_Request cr, int *count, void **data) noexcept {
    int code = MPI_SUCCESS;
    continuation_request *object = checked(call, &cr, code);
    if (object == nullptr) {
        return code;
    }
    if (count == nullptr || *count < 0 || (data == nullptr && *count > 0)) {
        return fail(call, count == nullptr ? reason::null_count
                          : *count < 0
                              ? failure{MPI_ERR_ARG, "the capacity in count is negative"}
                              : failure{MPI_ERR_ARG, "{data} is null although the capacity in count is not 0"});
    }
    *count = object->take_failed(*count, data);
    return MPI_SUCCESS;
}

int mpi_wait(MPI_Request *request, MPI_Status *status) noexcept {
    return wait(mpi_wait_call, request, status);
}

} // namespace thence::api

using namespace thence;

extern "C" {

int thence_test(MPI_Request *cr, int *flag, MPI_Status *status) {
    return api::test(api::test_call, cr, flag, status);
}

int thence_wait(MPI_Request *cr, MPI_Status *status) {
    return api::wait(api::wait_call, cr, status);
}

int thence_start(MPI_Request *cr) {
    return api::start("thence_start", cr);
}

int thence_free(MPI_Request *cr) {
    return api::free("thence_free", cr);
}

int thence_cancel(MPI_Request *cr) {
    return api::cancel("thence_cancel", cr);
}

int thence_get_failed(MPI_Request cr, int *count, void **data) {
    return api::get_failed("thence_get_failed", cr, count, data);
}

} // extern "C"
