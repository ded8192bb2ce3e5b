// SPDX-License-Identifier: BSD-3-Clause
// CUDA streams as queues, through the driver library, which is loaded at run time: neither headers nor libraries of
// CUDA are needed to build Thence.
//
// The device stores the trigger word and waits for the done word itself (stream memory operations). On a device without
// them, host functions do: one sets the trigger, another one waits. CUDA may run the host functions of all streams on
// one thread. So there an enqueued operation that waits can hold up host functions of other streams.
//
// Invariants: a host function calls neither CUDA nor MPI. On threads that make progress no function of CUDA is called
// that may wait for the device, so memory is given back to the driver only when the stream is freed.
#pragma once

#include "core/mpi/extension.hpp"

#include <thence/enqueue.h>

namespace thence::queues {

// The queue of a CUDA stream. Its `use(..., 0)` releases it. Null table: there is none, and `why` says why.
thence_queue open_cuda_stream(void *cuda_stream, const char *&why) noexcept;

// Loads the driver, as the first open_cuda_stream() does.
mpi::extension_facts cuda_streams() noexcept;

} // namespace thence::queues
