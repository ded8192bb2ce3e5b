// SPDX-License-Identifier: BSD-3-Clause
// Attaching a continuation to operations. Arguments are checked before: nothing here can refuse them.
#pragma once

#include "continuation/request.hpp"

namespace thence::continuation {

struct attachment {
    any_function callback;
    void *data;
    signature form;
    unsigned flags;       // THENCE_ options of thence_attach()
    const void *where;    // who attaches
};

struct attach_result {
    int flag = 0;            // 1: complete at once
    int error = MPI_SUCCESS; // of a failed operation when complete at once; or MPI_ERR_NO_MEM, and nothing happened
};

attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept;

} // namespace thence::continuation
