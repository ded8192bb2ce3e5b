// SPDX-License-Identifier: BSD-3-Clause
// Messages as a source of progress: while the request of an operation is open, MPI's hook, the helper thread and
// waiting calls receive what other processes have sent, match it, and go on with nonblocking collectives.
#pragma once

namespace thence::messages {

// While anybody uses messages between threads, they are a source of progress. False: there can be no more sources.
bool begin_use() noexcept;
void end_use() noexcept;

} // namespace thence::messages
