// SPDX-License-Identifier: BSD-3-Clause
// Where an interposed call goes on: to the definition of the same MPI_ name that comes next in the process, as tools
// that wrap MPI's calls do. So a tool that was loaded behind libthence sees the calls that are passed on. Without one,
// that is MPI's own function. The definitions are looked up when libthence is loaded.
//
// What a call does besides, such as the tests of a call that waits, goes to MPI's own PMPI_ functions: the program has
// not made these calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <type_traits>

namespace thence::pmpi {

// One for each call that libthence interposes, in a list.
struct interposed_call {
    const char *name;
    const interposed_call *previous;
};
inline constinit const interposed_call *last_interposed_call = nullptr;

// Adds the call to the list. Sets `function` to the next definition, if there is one. Returns true.
bool look_up_next(interposed_call &call, void **function) noexcept;

template <std::size_t n> struct call_name {
    char text[n]{};
    constexpr call_name(const char (&name)[n]) noexcept { // so that the text can be an argument of a template
        for (std::size_t i = 0; i < n; ++i) {
            text[i] = name[i];
        }
    }
};

template <call_name name, auto pmpi> struct next_call {
    // MPI's own until libthence is loaded completely.
    static inline constinit decltype(pmpi) function = pmpi;
    static inline constinit interposed_call listed{name.text, nullptr};
    static inline const bool is_looked_up = look_up_next(listed, reinterpret_cast<void **>(&function));
    using at_load = std::integral_constant<const bool *, &is_looked_up>; // without a use it would not be initialized
};

} // namespace thence::pmpi

// As PMPI_name, in the function MPI_name.
#define THENCE_NEXT(name) (::thence::pmpi::next_call<"MPI_" #name, &PMPI_##name>::function)
