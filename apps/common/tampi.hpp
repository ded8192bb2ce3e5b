// SPDX-License-Identifier: BSD-3-Clause
// The variants of an application that use TAMPI.h: tasks are those of the data-flow layer.
#pragma once

#include "variant.hpp"

#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace apps {

// Called before MPI_Init_thread, in which TAMPI asks which runtimes there are. The other variants need nothing that it
// starts.
inline void prepare_tampi(const VariantInfo &variant) {
    thence_task_runtime_add(thence_flow_task_runtime());
    TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, variant.tampi ? 1 : 0);
}

} // namespace apps
