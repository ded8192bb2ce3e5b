// SPDX-License-Identifier: BSD-3-Clause
// Known differences of an MPI from the standard. They are found at run time, since one build for the standard ABI runs
// on several MPIs.
#pragma once

#include <mpi.h>

#include <string_view>

namespace thence::mpi {

// What MPI says that it is: the first line of MPI_Get_library_version. Valid until the process ends.
const char *library();

// True for MPICH and MPIs that are derived from it. Their MPI_Finalize turns locking off before it deletes the
// attributes of MPI_COMM_SELF. A thread of ours that is in MPI then leaves a lock taken, and MPI_Finalize aborts (with
// a polling thread, in a third to a half of all runs on MPICH 4.0 and 5.0). So no thread of ours may be in MPI when
// MPI_Finalize begins.
bool finalize_forbids_other_threads() noexcept;

// True for Open MPI. It takes no lock for the list of nonblocking operations on files, those inside of its collective
// calls included, which each thread that makes progress walks. Two threads at a time crash there (4.1.4 and 5.0), also
// at MPI_THREAD_MULTIPLE.
bool files_forbid_other_threads() noexcept;

// True for Open MPI before 5.0. At MPI_THREAD_MULTIPLE it refuses windows where only its component pt2pt could create
// them, as over TCP.
bool level_may_forbid_windows() noexcept;

// True for MPICH after 4.0. There MPI_Request_get_status frees a part of the request of a nonblocking operation on a
// file that is complete: a later MPI_Test or MPI_Testsome of it fails or aborts (5.0).
bool asking_breaks_file_requests() noexcept;

// True for MPICH before 5.0 on UCX (found with 4.0.2), on several nodes. If rank A is in MPI_Finalize there while rank
// B still makes progress in another call, for example MPI_Iprobe, the MPI_Finalize of B may never return: A needs
// nothing more from B then, has left UCX, and does not acknowledge the end of B's connection.
bool finalize_may_not_return() noexcept;

// The same for an MPI whose MPI_Get_library_version says `version`. `on_this_node`: what MPICH's launcher has put into
// MPI_LOCALNRANKS, or nullptr: then there may be several nodes.
bool finalize_may_not_return(std::string_view version, int ranks, const char *on_this_node) noexcept;

// The binary interface that was built for: `native`, `standard`, or `standard, ` and how the MPI disagrees. MPIs from
// before the correction of October 2025 give some constants other values, MPI_ERRORS_RETURN that of MPI_ERRORS_ABORT.
const char *abi() noexcept;

// The value of MPI_ERRORS_RETURN in this MPI.
MPI_Errhandler errors_return() noexcept;

} // namespace thence::mpi
