// SPDX-License-Identifier: BSD-3-Clause
// The calls of thence/threadcomm.h.
#include <thence/threadcomm.h>

#include "core/api/checks.hpp"
#include "core/progress/interposed.hpp"
#include "mpix/threadcomm/create.hpp"

using namespace thence;
using api::fail;
using api::fail_with_detail;
namespace reason = api::reason;

extern "C" {

int thence_threadcomm_init(MPI_Comm comm, int num_threads, MPI_Comm *newthreadcomm) {
    constexpr const char *call = "thence_threadcomm_init";
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    if (!progress::interposed.communicators) {
        return fail_with_detail(call, reason::not_interposed, progress::interposed.communicators_why_not);
    }
    return threadcomm::init(call, comm, num_threads, newthreadcomm);
}

int thence_threadcomm_start(MPI_Comm threadcomm) {
    return threadcomm::start("thence_threadcomm_start", threadcomm, -1);
}

int thence_threadcomm_start_as(MPI_Comm threadcomm, int index) {
    constexpr const char *call = "thence_threadcomm_start_as";
    return index < 0 ? threadcomm::fail(threadcomm, call, MPI_ERR_RANK, "index is negative")
                     : threadcomm::start(call, threadcomm, index);
}

int thence_threadcomm_finish(MPI_Comm threadcomm) {
    return threadcomm::finish("thence_threadcomm_finish", threadcomm);
}

int thence_threadcomm_free(MPI_Comm *threadcomm) {
    return threadcomm::free_root("thence_threadcomm_free", threadcomm);
}

int thence_comm_test_threadcomm(MPI_Comm comm, int *flag) {
    if (flag == nullptr) {
        return fail("thence_comm_test_threadcomm", reason::null_flag);
    }
    *flag = threadcomm::find_if_any(comm) != nullptr ? 1 : 0;
    return MPI_SUCCESS;
}

} // extern "C"
