// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/type_dup.hpp"

#include "core/mpi/calls.hpp"

namespace thence::mpi {

namespace {

bool is_gone = false; // the datatype of ask()

int note(MPI_Datatype, int, void *, void *) {
    is_gone = true;
    return MPI_SUCCESS;
}

// MPI deletes the attributes of a datatype together with it.
bool ask() noexcept {
    int key = MPI_KEYVAL_INVALID;
    MPI_Datatype original = MPI_DATATYPE_NULL;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    if (table.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &note, &key, nullptr) != MPI_SUCCESS ||
        table.Type_contiguous(2, MPI_INT, &original) != MPI_SUCCESS) {
        return false;
    }
    bool is_kept = table.Type_set_attr(original, key, nullptr) == MPI_SUCCESS &&
                   table.Type_dup(original, &copy) == MPI_SUCCESS && table.Type_free(&original) == MPI_SUCCESS &&
                   !is_gone;
    is_kept = is_kept && table.Type_free(&copy) == MPI_SUCCESS && is_gone;
    table.Type_free_keyval(&key);
    return is_kept;
}

} // namespace

bool dup_keeps_original() noexcept {
    static const bool answer = ask();
    return answer;
}

} // namespace thence::mpi
