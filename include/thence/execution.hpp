// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <thence/detail/cxx20.hpp>

/** @file execution.hpp
 *  @brief `thence::ex`: the implementation of senders that the program uses.
 *
 *  | macro defined before                | `thence::ex` is                                              |
 *  |-------------------------------------|--------------------------------------------------------------|
 *  | none                                | std::execution where the compiler has it, else thence::exec   |
 *  | THENCE_USE_STDEXEC                  | NVIDIA's stdexec; its include directory must be in the path   |
 *  | THENCE_USE_OWN_EXECUTION            | thence::exec, see thence/exec.hpp                             |
 *
 *  All translation units of a program must choose the same. This header then defines one of `THENCE_EXECUTION_IS_STD`,
 *  `THENCE_EXECUTION_IS_STDEXEC` and `THENCE_EXECUTION_IS_THENCE` as 1. thence::exec and stdexec also have `split`,
 *  `start_detached` and `any_sender`, which C++26 lacks. A `task` of thence::exec resumes on the thread on which what
 *  it awaited has completed. A task of the other two resumes on the scheduler on which it was started. */

#include <version>

#if defined(THENCE_USE_STDEXEC) && defined(THENCE_USE_OWN_EXECUTION)
#error "define only one of THENCE_USE_STDEXEC and THENCE_USE_OWN_EXECUTION"
#elif defined(THENCE_USE_STDEXEC)
#if !__has_include(<stdexec/execution.hpp>)
#error "THENCE_USE_STDEXEC is defined, but <stdexec/execution.hpp> is not found: add stdexec's include directory (-I)"
#elif !__has_include(<exec/split.hpp>)
#error "THENCE_USE_STDEXEC is defined, but this stdexec is too old: 26.05 or later is needed"
#endif
#define THENCE_EXECUTION_IS_STDEXEC 1
#if __has_include(<stdexec/__detail/__task.hpp>) // since 2026 a task needs get_start_scheduler() from its receiver
#define THENCE_EXECUTION_HAS_START_SCHEDULER 1
#endif

#include <exec/any_sender_of.hpp>
#include <exec/split.hpp>
#include <exec/start_detached.hpp>
#include <exec/task.hpp>
#include <stdexec/execution.hpp>

namespace thence::ex {
using namespace ::stdexec; // NOLINT(google-build-using-namespace): a name for a library
using ::exec::split;       // hides the name of the namespace above
using ::exec::start_detached;
template <class T = void> using task = ::exec::task<T>;
template <class... Sigs> using any_sender = ::exec::any_sender<::exec::any_receiver<completion_signatures<Sigs...>>>;
} // namespace thence::ex

#elif defined(__cpp_lib_senders) && !defined(THENCE_USE_OWN_EXECUTION)
#define THENCE_EXECUTION_IS_STD 1

#include <execution>
#include <stop_token>

namespace thence::ex {
using namespace ::std::execution; // NOLINT(google-build-using-namespace): a name for a library
using ::std::get_allocator;
using ::std::get_stop_token;
using ::std::inplace_stop_callback;
using ::std::inplace_stop_source;
using ::std::inplace_stop_token;
using ::std::never_stop_token;
using ::std::stop_callback_for_t;
using ::std::stop_token_of_t;
using ::std::stoppable_token;
using ::std::unstoppable_token;
using ::std::this_thread::sync_wait;
} // namespace thence::ex

#else
#define THENCE_EXECUTION_IS_THENCE 1

#include <thence/exec.hpp>

namespace thence {
namespace ex = exec;
} // namespace thence

#endif
