// SPDX-License-Identifier: BSD-3-Clause
// The life of an application: MPI with the thread level of the variant, then the run, then its exit status. An error
// that all ranks find is an InputError: it is printed once and every rank leaves. Any other exception may be of one
// rank only, so it ends the program.
#pragma once

#include "input_error.hpp"
#include "variant.hpp"

#include <functional>
#include <initializer_list>
#include <mpi.h>
#include <string>

namespace apps {

// Starts MPI, calls `run` with MPI_COMM_WORLD, ends MPI and returns the exit status. `remedy`: a variant that needs no
// thread level.
int run_with_mpi(const char *program, const VariantInfo &variant, const char *remedy,
                 const std::function<int(MPI_Comm)> &run);

// The number of threads of this rank; `wanted` is 0 for the cores of the node divided by its ranks. Prints a note if
// the node has fewer cores than all ranks have threads. Collective.
int choose_threads(const char *program, const VariantInfo &variant, int wanted, int rank, MPI_Comm comm);

// Calls `work` on rank 0. If it throws, every rank throws an InputError, with the text on rank 0. Collective.
void on_first_rank(MPI_Comm comm, const std::function<void()> &work);

// Throws an InputError on every rank if rank 0 cannot write one of the files, so that this is known before the run and
// not after it. Empty names are skipped. Changes no file, and leaves none that was not there. Collective.
void check_outputs(MPI_Comm comm, std::initializer_list<std::string> files);

// Throws an InputError if this MPI has no tag as large as `largest`. `uses`: what needs so many, and what to do.
void check_tags(MPI_Comm comm, long largest, const std::string &uses);

// Throws an InputError on every rank if one of them needs more notifications than a segment has. `uses`: what needs
// them, and what to do. Collective.
void check_notifications(MPI_Comm comm, unsigned long needed, unsigned long most, const std::string &uses);

// Throws an InputError on every rank if the ranks of a host need more memory than the system says it can give. `bytes`:
// what this rank needs; `what` needs it. Does nothing where the system does not say. Collective.
void check_memory(MPI_Comm comm, double bytes, const std::string &what);

// `wrong`: which value of this rank is wrong, or an empty text. Returns on every rank the number and the text of the
// first rank that has one; an empty text if all values are right. Rank 0 prints it as an error. Collective.
std::string first_wrong(const char *program, const std::string &wrong, MPI_Comm comm);

} // namespace apps
