// SPDX-License-Identifier: BSD-3-Clause
// The interface of a plug-in that uses pools. The host finds it by name in the shared object. Pools are passed as the
// address of a thence::pools, and any plug-in may use those that another has made.
#pragma once

struct plugin {
    // Pools without workers.
    void *(*make_pools)();
    void (*destroy_pools)(void *pools);
    // Receives a message with `tag`, and calls `inside`: in a task, or, if `in_completion`, in the completion itself.
    void (*start_receive)(void *pools, int tag, bool in_completion, void (*inside)());
    // Starts a receive that gets no message before its deadline of `ms` milliseconds. Then calls `over` in the
    // completion.
    void (*start_deadline)(void *pools, int ms, void (*over)());
    // Runs tasks and polls until `done` returns true.
    void (*work_until)(void *pools, bool (*done)());
    // @return whether sync_wait() of these pools throws here.
    bool (*is_refused)(void *pools);
};

using get_plugin = const plugin *();
