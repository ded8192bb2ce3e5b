// SPDX-License-Identifier: BSD-3-Clause
// What programs share that use the library in the delete callbacks of attributes of MPI_COMM_SELF: checks without
// GoogleTest, which has ended by then, and how such an attribute is set.
#pragma once

#include <mpi.h>

#include <cstdio>

inline int rank = 0;
inline int size = 1;
inline int failed = 0;

inline void check(bool holds, const char *rule) {
    if (!holds) {
        ++failed;
        std::fprintf(stderr, "rank %d: failed: %s\n", rank, rule);
    }
}

inline void set_attribute(MPI_Comm_copy_attr_function *copied, MPI_Comm_delete_attr_function *deleted, void *value) {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copied, deleted, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, value);
    MPI_Comm_free_keyval(&key);
}
