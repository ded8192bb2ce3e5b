// SPDX-License-Identifier: BSD-3-Clause
// The arguments of the call that made a datatype, as MPI returns them (MPI 4.1, section 5.1.13).
#pragma once

#include <mpi.h>

#include <vector>

namespace thence::datatype {

// A call of MPI failed with this code; MPI has called the error handler.
struct mpi_failure {
    int code;
};

struct contents {
    int combiner = 0;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Count> counts; // not empty if the datatype was made by a call with large counts
    std::vector<MPI_Datatype> types;
};

// The combiner, and arrays of the right lengths. Throws mpi_failure and std::bad_alloc.
contents envelope_of(MPI_Datatype type);
// The combiner alone. Throws mpi_failure.
int combiner_of(MPI_Datatype type);
// Fills the arrays. Throws mpi_failure. The caller frees the derived ones of `types`.
void get_contents(MPI_Datatype type, contents &args);

// A datatype that MPI has from the beginning, under a name or as MPI_Type_create_f90_real and others return it. It must
// not be freed.
bool is_predefined(int combiner) noexcept;
// One of a value and an index, from MPI_Type_get_value_index.
bool is_value_index(int combiner) noexcept;

MPI_Aint extent_of(MPI_Datatype type);
int size_of_predefined(MPI_Datatype type);

} // namespace thence::datatype
