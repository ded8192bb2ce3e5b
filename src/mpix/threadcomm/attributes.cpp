// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/attributes.hpp"

#include "core/api/errors.hpp"
#include "core/mpi/calls.hpp"
#include "mpix/threadcomm/message_calls.hpp"

namespace thence::threadcomm {

namespace {

using mpi::table;

bool is_predefined(int keyval) noexcept {
    for (const int each : {int{MPI_TAG_UB}, int{MPI_HOST}, int{MPI_IO}, int{MPI_WTIME_IS_GLOBAL},
                           int{MPI_UNIVERSE_SIZE}, int{MPI_LASTUSEDCODE}, int{MPI_APPNUM}}) {
        if (keyval == each) {
            return true;
        }
    }
    return false;
}

// Calls `use` with the communicator that has the attributes of this thread, which is made before if there is none.
template <class Use> int with_attributes(communicator &comm, const char *call, Use use) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return code;
    }
    if (me->attributes == MPI_COMM_NULL) {
        code = make_self(comm.handle, me->attributes);
    }
    return code == MPI_SUCCESS ? use(me->attributes) : code;
}

} // namespace

int set_attribute(communicator &comm, int keyval, void *value) noexcept {
    return with_attributes(comm, "MPI_Comm_set_attr",
                           [&](MPI_Comm own) { return table.Comm_set_attr(own, keyval, value); });
}

int get_attribute(communicator &comm, int keyval, void *value, int *flag) noexcept {
    if (is_predefined(keyval)) {
        return table.Comm_get_attr(comm.handle, keyval, value, flag);
    }
    int code = MPI_SUCCESS;
    const member *const me = check_self("MPI_Comm_get_attr", comm, code);
    if (me == nullptr) {
        return code;
    }
    if (me->attributes == MPI_COMM_NULL) {
        if (flag == nullptr) {
            return fail(comm.handle, "MPI_Comm_get_attr", api::reason::null_flag);
        }
        *flag = 0;
        return MPI_SUCCESS;
    }
    return table.Comm_get_attr(me->attributes, keyval, value, flag);
}

int delete_attribute(communicator &comm, int keyval) noexcept {
    return with_attributes(comm, "MPI_Comm_delete_attr",
                           [&](MPI_Comm own) { return table.Comm_delete_attr(own, keyval); });
}

void delete_attributes(member &me) noexcept {
    if (me.attributes != MPI_COMM_NULL) {
        table.Comm_free(&me.attributes);
        me.attributes = MPI_COMM_NULL;
    }
}

int copy_attributes(const member &from, MPI_Comm &copied) noexcept {
    copied = MPI_COMM_NULL;
    return from.attributes == MPI_COMM_NULL ? int{MPI_SUCCESS} : table.Comm_dup(from.attributes, &copied);
}

} // namespace thence::threadcomm
