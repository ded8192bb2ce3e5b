// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of the fake MPI. A derived one is what the test says: the arguments of the constructor, as MPI would return
// them, and the extent. So a test can have datatypes that this MPI cannot make: those of other versions of MPI, and
// wrong ones.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace thence::mpi {
struct calls;
}

namespace thence::fake {

struct constructor {
    int combiner = 0;
    std::vector<int> integers = {};
    std::vector<MPI_Aint> addresses = {};
    std::vector<MPI_Count> counts = {}; // only if the MPI has large counts
    std::vector<MPI_Datatype> types = {};
    MPI_Aint extent = 0;
    bool predefined = false; // without a name, as MPI_Type_create_f90_real returns it
    int size = 0;            // of a predefined one
};

MPI_Datatype make_type(const constructor &by);
// As MPI_Type_dup, MPI_Type_free: these copy and delete attributes.
MPI_Datatype duplicate(MPI_Datatype of);
void free_type(MPI_Datatype &type);
// Derived datatypes that are not freed, and other references to them.
long type_references();
// How often MPI was asked for the contents of a datatype.
long contents_calls();
// The next call of this kind fails with this code.
void fail_next_attribute(int code);

// Sets the entries of the call table. `large_counts`: also those for large counts.
void install_type_calls(::thence::mpi::calls &table, bool large_counts);

} // namespace thence::fake
