// SPDX-License-Identifier: BSD-3-Clause
// What many sources of the library include and is slow to compile; cmake/precompiled.cmake says when it is used.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
