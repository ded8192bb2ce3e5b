// SPDX-License-Identifier: BSD-3-Clause
// What messages between endpoints need of MPI for requests and for other processes.
#include "fake_mpi.hpp"
#include "request.hpp"

namespace thence::fake {

namespace {

// What a test of one process without requests never calls.
template <class... Arguments> int never(Arguments...) {
    abort_test("a call of MPI", "not in this fake");
}
template <class Function> struct entry;
template <class... Arguments> struct entry<int (*)(Arguments...)> {
    static constexpr auto value = &never<Arguments...>;
};

} // namespace

void install_message_calls() {
    auto &table = thence::mpi::table;
#define X(name) table.name = entry<decltype(table.name)>::value;
    THENCE_MPI_MESSAGE_CALLS(X)
#undef X
}

} // namespace thence::fake
