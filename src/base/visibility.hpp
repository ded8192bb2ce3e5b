// SPDX-License-Identifier: BSD-3-Clause
// Symbols that libthence uses of libthence-core beside its C API.
#pragma once

// Visible to libthence, but bound inside libthence-core without indirection.
#if defined(THENCE_CORE_BUILD)
#define THENCE_INTERNAL __attribute__((visibility("protected")))
#else
#define THENCE_INTERNAL __attribute__((visibility("default")))
#endif
