// SPDX-License-Identifier: BSD-3-Clause
// How a variable of another file is reached. Without a word the compiler goes through a table of addresses: an
// instruction more each time.
#pragma once

// Its own library's alone.
#define THENCE_HIDDEN __attribute__((visibility("hidden")))

// libthence uses it of libthence-core, beside the C API. Bound inside libthence-core.
#if defined(THENCE_CORE_BUILD)
#define THENCE_INTERNAL __attribute__((visibility("protected")))
#else
#define THENCE_INTERNAL __attribute__((visibility("default")))
#endif
