// SPDX-License-Identifier: BSD-3-Clause
// What the calls of <thence/am.h> have in common: the engine of a handle, and how an error is returned.
#pragma once

#include "am/engine.hpp"
#include "core/api/errors.hpp"

namespace thence::am {

using api::fail;
using api::failure;
namespace reason = api::reason;

inline constexpr failure null_am{MPI_ERR_ARG, "am is null"};
inline constexpr failure ended_in_finalize{MPI_ERR_OTHER, "MPI_Finalize has ended this engine"};
inline constexpr failure in_callback{MPI_ERR_PENDING, "it would wait in a handler or a callback, which must not wait"};
inline constexpr failure would_wait{MPI_ERR_PENDING, "it would wait for room in a callback, which must not wait: use "
                                                     "thence_am_send_then or thence_am_try_send there"};
inline constexpr failure is_awaited{MPI_ERR_PENDING, "the end of all messages is waited for already"};
inline constexpr failure not_communication_thread{
    MPI_ERR_OTHER, "this engine has one communication thread, the one that has created it: call it there"};

inline message_engine *object_of(thence_am handle) noexcept {
    return reinterpret_cast<message_engine *>(handle);
}

// What is wrong with the handle itself.
inline failure wrong_engine(thence_am handle) noexcept {
    return handle == nullptr ? null_am : object_of(handle)->has_ended() ? ended_in_finalize : failure{};
}

// As fail(), but a thread that may not call MPI calls no error handler.
inline int refuse(thence_am handle, const char *call, const failure &why) noexcept {
    return handle == nullptr || object_of(handle)->processes().may_call() ? fail(call, why) : why.error_class;
}

// Of an engine that cannot go on `failed` was told already, so no error handler is called.
inline int ended(thence_am handle, const char *call, int code) noexcept {
    if (code == MPI_SUCCESS) [[likely]] {
        return MPI_SUCCESS;
    }
    if (handle != nullptr && code == object_of(handle)->broken()) {
        return code;
    }
    return code == MPI_ERR_NO_MEM ? refuse(handle, call, reason::no_memory)
                                  : (code == MPI_ERR_PENDING ? refuse(handle, call, would_wait) : code);
}

} // namespace thence::am
