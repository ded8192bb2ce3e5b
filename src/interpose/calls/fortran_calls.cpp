// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/calls/fortran_calls.hpp"

#include "interpose/calls/function_slots.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace thence::pmpi {

namespace {

constexpr std::array<const char *, 4> spellings_of_init{"mpi_init_", "mpi_init__", "mpi_init", "MPI_INIT"};
// Constants of Fortran that are functions, and the name of Open MPI's binding for Fortran: only MPI itself has them,
// while a tool may define the names of calls, too.
constexpr std::array<const char *, 5> only_of_mpi{"mpi_dup_fn_", "mpi_dup_fn__", "mpi_dup_fn", "MPI_DUP_FN",
                                                  "ompi_init_f"};

template <std::size_t n>
bool defines_one_of(const pinned_object &object, const std::array<const char *, n> &names) noexcept {
    return std::any_of(names.begin(), names.end(), [&](const char *each) { return object.defined(each) != nullptr; });
}

// What stands for PMPI_X in the slots: PMPI_X of libthence if it has one, else MPI_X as the program finds it. So tools
// and libthence-tampi, which define MPI_X before libthence and go on to it, see the call, as they do where MPI's
// library for Fortran calls MPI_X itself. Null for calls that are not interposed.
class own_functions {
public:
    own_functions() noexcept {
        const Dl_info own = object_of(reinterpret_cast<const void *>(&redirect_fortran_calls));
        base_ = own.dli_fbase;
        // In a static library `own` is the program, whose file name finds nothing.
        handle_ = own.dli_fname != nullptr ? dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
        handle_ = handle_ != nullptr ? handle_ : dlopen(nullptr, RTLD_LAZY);
    }
    bool interposes(const char *mpi_name) const noexcept { return own_symbol(mpi_name) != nullptr; }
    void *instead_of(const char *pmpi_name) const noexcept {
        void *const same = own_symbol(pmpi_name);
        void *const ours = same != nullptr ? same : own_symbol(pmpi_name + 1);
        if (ours == nullptr || same != nullptr) {
            return ours;
        }
        void *const first = dlsym(RTLD_DEFAULT, pmpi_name + 1);
        const bool is_of_mpi = object_of(first).dli_fbase == object_of(dlsym(RTLD_DEFAULT, pmpi_name)).dli_fbase;
        return first == nullptr || is_of_mpi ? ours : first;
    }

private:
    void *own_symbol(const char *name) const noexcept {
        void *const found = dlsym(handle_, name);
        return found != nullptr && object_of(found).dli_fbase == base_ ? found : nullptr;
    }
    const void *base_;
    void *handle_;
};

std::mutex mutex; // guards what follows
unsigned long long objects_seen = 0;
bool come_to_us = false;
const std::string *why_not = nullptr; // null: no library is refused

// Their addresses are given to the program, so none is ever destroyed.
const std::string &kept_text(std::string text) {
    static auto &all = *new std::set<std::string>;
    return *all.insert(std::move(text)).first;
}

void refuse(const std::string &path, const char *why) {
    why_not = &kept_text("not interposed: " + std::string(file_name(path.c_str())) + " " + why);
}

// Makes the slots of PMPI_X lead to ours. True if any call of the object comes to us then: by such a slot, or since it
// calls MPI_X as a program in C does.
bool redirect_slots(const loaded_object &object) {
    static const own_functions own;
    bool any = false;
    for (const function_slot &each : slots_of(object, "PMPI_")) {
        if (void *const ours = own.instead_of(each.name); ours != nullptr) {
            __atomic_store_n(each.address, ours, __ATOMIC_RELAXED);
            any = true;
        }
    }
    const std::vector<function_slot> slots = slots_of(object, "MPI_");
    return any || std::any_of(slots.begin(), slots.end(), [](auto &each) { return own.interposes(each.name); });
}

void redirect(const std::string &path) {
    pinned_object library(path.c_str());
    if (!defines_one_of(library, spellings_of_init) || !defines_one_of(library, only_of_mpi)) {
        return;
    }
    if (library.defined("MPI_Init") != nullptr) {
        return refuse(path, "has the functions of C, too, whose own calls cannot be told from those of Fortran");
    }
    if (!knows_slots()) {
        return refuse(path, "calls PMPI_ functions through slots that are not known for this processor");
    }
    const loaded_object object = library.object();
    const writable_slots writing(object);
    if (!writing.writable()) {
        return refuse(path, "has slots that the system does not make writable");
    }
    if (!redirect_slots(object)) {
        return refuse(path, "calls no function of MPI that libthence interposes");
    }
    library.keep(); // loaded once more, it would have new slots
    come_to_us = true;
}

[[maybe_unused]] const bool at_load = redirect_fortran_calls();

} // namespace

bool redirect_fortran_calls() noexcept {
    const std::scoped_lock guard(mutex);
    const unsigned long long loaded = objects_loaded();
    if (loaded != objects_seen) {
        objects_seen = loaded;
        come_to_us = false;
        why_not = nullptr;
        for (const std::string &each : paths_of_loaded_objects()) {
            redirect(each);
        }
    }
    return come_to_us && why_not == nullptr;
}

const char *fortran_calls() noexcept {
    const bool come = redirect_fortran_calls();
    const std::scoped_lock guard(mutex);
    return come                 ? "calls come to libthence"
           : why_not != nullptr ? why_not->c_str()
                                : "no library of MPI for Fortran is loaded";
}

} // namespace thence::pmpi
