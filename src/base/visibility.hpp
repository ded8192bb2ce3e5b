// SPDX-License-Identifier: BSD-3-Clause
// Everything in libthence-core is hidden; what libthence uses of it is marked. In the core it is protected rather than
// default: the core's own accesses stay as direct as to hidden symbols. The linker gives these names the version
// THENCE_PRIVATE.
#pragma once

#if !defined(__GNUC__)
#define THENCE_PRIVATE_API
#elif defined(THENCE_CORE)
#define THENCE_PRIVATE_API __attribute__((visibility("protected")))
#else
#define THENCE_PRIVATE_API __attribute__((visibility("default")))
#endif
