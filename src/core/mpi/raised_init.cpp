// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/raised_init.hpp"

#include <cstdlib>
#include <utility>

namespace thence::mpi {

namespace {

using variable = std::pair<const char *, const char *>; // name and value
constexpr std::array<variable, 2> all{
    {{"OMPI_MPI_THREAD_LEVEL", "3"}, {"MPIR_CVAR_DEFAULT_THREAD_LEVEL", "MPI_THREAD_MULTIPLE"}}};

} // namespace

raised_init::raised_init() {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (const char *const text = std::getenv(all[i].first); text != nullptr) {
            before_[i] = text;
        }
        setenv(all[i].first, all[i].second, 1);
    }
}

raised_init::~raised_init() {
    for (std::size_t i = 0; i < all.size(); ++i) {
        before_[i] ? setenv(all[i].first, before_[i]->c_str(), 1) : unsetenv(all[i].first);
    }
}

} // namespace thence::mpi
