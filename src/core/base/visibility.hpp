// SPDX-License-Identifier: BSD-3-Clause
// Visibility of variables that other files use. Default visibility would make every access go through the GOT: one more
// instruction each time.
#pragma once

// Used only inside its own library.
#define THENCE_HIDDEN __attribute__((visibility("hidden")))

// Defined in libthence-core and also used by libthence. Inside libthence-core an access does not go through the GOT.
#if defined(THENCE_CORE_BUILD)
#define THENCE_INTERNAL __attribute__((visibility("protected")))
#else
#define THENCE_INTERNAL __attribute__((visibility("default")))
#endif
