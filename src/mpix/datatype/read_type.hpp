// SPDX-License-Identifier: BSD-3-Clause
// From a datatype of MPI to its tree: one function for each way to make a datatype.
//
// Invariant: handles of derived datatypes that MPI returned are freed when the read is over, not before. So two handles
// of one read that are equal are one datatype.
#pragma once

#include "mpix/datatype/contents.hpp"
#include "mpix/datatype/tree.hpp"

#include <map>

namespace thence::datatype {

// A combiner that is in no standard which this file knows.
struct unknown_combiner {
    int combiner;
};

struct read_result {
    tree what;
    bool predefined = false;
};

// One read: of a datatype, and of those that it is made of.
class type_reader {
public:
    // `before`: looks up a datatype that was read before. Returns false if it was not.
    explicit type_reader(bool (*before)(MPI_Datatype, read_result &)) : before_(before) {}
    ~type_reader();
    type_reader &operator=(type_reader &&) = delete;

    // Throws mpi_failure, unknown_combiner, too_large, too_deep, and std::bad_alloc.
    read_result read(MPI_Datatype type);

private:
    void own(const contents &args);
    tree derived(const contents &args);
    tree old_type(const contents &args) { return read(args.types[0]).what; }
    tree structure(const contents &args);
    tree value_and_index(const contents &args);

    bool (*before_)(MPI_Datatype, read_result &);
    std::map<MPI_Datatype, read_result> read_; // of this read
    std::vector<MPI_Datatype> owned_;          // freed at the end
    int level_ = 0;
};

} // namespace thence::datatype
