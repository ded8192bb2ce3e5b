// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/calls/mpi_of_caller.hpp"

#include "interpose/calls/function_slots.hpp"

#include <cstdio>
#include <dlfcn.h>

namespace thence::pmpi {

namespace {

// The MPI with which an object is linked: what the loader finds from there. All members are null if there is none.
Dl_info mpi_of(const Dl_info &object) noexcept {
    void *handle = object.dli_fname != nullptr ? dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    handle = handle != nullptr ? handle : dlopen(nullptr, RTLD_LAZY); // the program itself, which has no such name
    const void *const found = handle != nullptr ? dlsym(handle, "PMPI_Init") : nullptr;
    if (handle != nullptr) {
        dlclose(handle);
    }
    return found != nullptr ? object_of(found) : Dl_info{};
}

} // namespace

bool is_of_another_mpi(const char *call, const void *caller) noexcept {
    const Dl_info calling_object = object_of(caller);
    if (calling_object.dli_fname == nullptr) { // code that was compiled at run time belongs to no object
        return false;
    }
    const Dl_info own_object = object_of(reinterpret_cast<const void *>(&is_of_another_mpi));
    const Dl_info mpi_of_caller = mpi_of(calling_object);
    const Dl_info own_mpi = mpi_of(own_object);
    if (mpi_of_caller.dli_fbase == nullptr || own_mpi.dli_fbase == nullptr ||
        mpi_of_caller.dli_fbase == own_mpi.dli_fbase) {
        return false;
    }
    std::fprintf(
        stderr,
        "thence: %s is refused: it was called by %s, which is linked with %s, and %s is for %s. Name the MPI of "
        "the program to thence run: --mpi-library %s\n",
        call, file_name(calling_object.dli_fname), file_name(mpi_of_caller.dli_fname), file_name(own_object.dli_fname),
        file_name(own_mpi.dli_fname), mpi_of_caller.dli_fname);
    return true;
}

} // namespace thence::pmpi
