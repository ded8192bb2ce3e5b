// SPDX-License-Identifier: BSD-3-Clause
// Every header of C++ includes this, or one that does, before it declares anything: a compiler of an older standard
// says what to do and ends there.
#pragma once

#if __cplusplus < 202002L
#error "Thence's headers need C++20: compile with -std=c++20"
#include <no_such_file> // a fatal error, so no other follows
#endif
