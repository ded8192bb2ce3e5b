// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec.hpp
 *  @brief Senders after C++26's std::execution for C++20 compilers: all of thence/exec/. Programs that should also run
 *         on std::execution or NVIDIA's stdexec include thence/execution.hpp instead. */

#include <thence/exec/any_sender.hpp>
#include <thence/exec/as_awaitable.hpp>
#include <thence/exec/awaitable.hpp>
#include <thence/exec/completion_signatures.hpp>
#include <thence/exec/connect.hpp>
#include <thence/exec/connect_awaitable.hpp>
#include <thence/exec/continues_on.hpp>
#include <thence/exec/counting_scope.hpp>
#include <thence/exec/env.hpp>
#include <thence/exec/inline_scheduler.hpp>
#include <thence/exec/inplace_stop_source.hpp>
#include <thence/exec/into_variant.hpp>
#include <thence/exec/just.hpp>
#include <thence/exec/let.hpp>
#include <thence/exec/operation_state.hpp>
#include <thence/exec/queries.hpp>
#include <thence/exec/read_env.hpp>
#include <thence/exec/receivers.hpp>
#include <thence/exec/run_loop.hpp>
#include <thence/exec/schedulers.hpp>
#include <thence/exec/scope.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>
#include <thence/exec/senders.hpp>
#include <thence/exec/spawn.hpp>
#include <thence/exec/spawn_future.hpp>
#include <thence/exec/split.hpp>
#include <thence/exec/start_detached.hpp>
#include <thence/exec/starts_on.hpp>
#include <thence/exec/stop_token.hpp>
#include <thence/exec/stop_when.hpp>
#include <thence/exec/sync_wait.hpp>
#include <thence/exec/task.hpp>
#include <thence/exec/then.hpp>
#include <thence/exec/when_all.hpp>
#include <thence/exec/with_awaitable_senders.hpp>
#include <thence/exec/write_env.hpp>
