// SPDX-License-Identifier: BSD-3-Clause
// The query of MPICH's extensions, and that of device memory.
#include <thence/extensions.h>

#include "core/api/checks.hpp"
#include "core/api/sized.hpp"
#include "core/engine/is_complete.hpp"
#include "core/mpi/extension.hpp"
#include "core/mpi/gpu.hpp"
#include "core/progress/threads.hpp"
#include "mpix/datatype/layout.hpp"
#include "mpix/grequest/source.hpp"
#include "mpix/queues/cuda.hpp"
#include "mpix/queues/source.hpp"
#include "mpix/streams/multiplex.hpp"
#include "mpix/streams/stream.hpp"
#include "mpix/threadcomm/create.hpp"

#include <iterator>

using namespace thence;
using api::fail;
namespace reason = api::reason;

namespace {

constexpr std::size_t first_extension_info = THENCE_SIZE_UP_TO(thence_extension_info, why);
static_assert(sizeof(thence_extension_info) == first_extension_info);

// One row per extension, or per kind of it where the kinds differ.
struct extension_row {
    const char *name;
    mpi::extension_facts (*facts)() noexcept;
};
constexpr extension_row rows[] = {
    {"GPU queries", &mpi::gpu_queries},
    {"generalized requests", &grequest::grequest_facts},
    {"async functions", &grequest::async_facts},
    {"progress threads", &progress::thread_facts},
    {"MPIX_Request_is_complete", &engine::is_complete_facts},
    {"streams", &streams::streams},
    {"multiplex communicators", &streams::multiplex_communicators},
    {"enqueue on host queues", &queues::host_queues},
    {"enqueue on CUDA streams", &queues::cuda_streams},
    {"enqueue on other queues", &queues::other_queues},
    {"datatype iovecs", &datatype::extension},
    {"thread communicators", &threadcomm::facts},
};

const char *text(mpi::extension_state state) noexcept {
    switch (state) {
    case mpi::extension_state::native:
        return "native";
    case mpi::extension_state::ours:
        return "ours";
    case mpi::extension_state::not_possible:
        break;
    }
    return "not possible";
}

// 0, too, while MPI is not active.
int supports(mpi::gpu kind) noexcept {
    return continuation::set_up() == continuation::setting_up::done && mpi::takes_memory_of(kind) ? 1 : 0;
}

} // namespace

extern "C" {

int thence_extension_query(int index, thence_extension_info *info, size_t size) {
    constexpr const char *call = "thence_extension_query";
    if (index < 0) {
        return fail(call, reason::negative_index);
    }
    if (info == nullptr || size < first_extension_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    thence_extension_info facts{};
    const auto i = static_cast<std::size_t>(index);
    if (i < std::size(rows)) {
        const mpi::extension_facts known = rows[i].facts();
        facts.name = rows[i].name;
        facts.state = text(known.state);
        facts.why = known.why;
    }
    api::copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

int thence_gpu_query_support(int gpu_type, int *is_supported) {
    constexpr const char *call = "thence_gpu_query_support";
    if (gpu_type < 0 || gpu_type >= mpi::gpu_kinds) {
        return fail(call, {MPI_ERR_ARG, "gpu_type is no kind of device memory"});
    }
    if (is_supported == nullptr) {
        return fail(call, {MPI_ERR_ARG, "is_supported is null"});
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    *is_supported = supports(static_cast<mpi::gpu>(gpu_type));
    return MPI_SUCCESS;
}

int thence_query_cuda_support(void) {
    return supports(mpi::gpu::cuda);
}

int thence_query_ze_support(void) {
    return supports(mpi::gpu::ze);
}

int thence_query_hip_support(void) {
    return supports(mpi::gpu::hip);
}

} // extern "C"
