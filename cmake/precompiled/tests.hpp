// SPDX-License-Identifier: BSD-3-Clause
// What many tests include and is slow to compile; cmake/precompiled.cmake says when it is used.
#include "library.hpp"

#include <gtest/gtest.h>
