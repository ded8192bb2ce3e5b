// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/gpu.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>
#include <iterator>

namespace thence::mpi {

bool takes_memory_of(gpu kind) noexcept {
    int (*const query)() = table.query_gpu_support[static_cast<int>(kind)];
    return query != nullptr && query() == 1;
}

extension_facts gpu_queries() noexcept {
    const bool any = std::any_of(std::begin(table.query_gpu_support), std::end(table.query_gpu_support),
                                 [](auto *query) { return query != nullptr; });
    return any ? extension_facts{extension_state::native, "this MPI has a query for some kinds of device memory"}
               : extension_facts{extension_state::ours, "this MPI has no such query, so the answer is always 0"};
}

} // namespace thence::mpi
