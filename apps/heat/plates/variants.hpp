// SPDX-License-Identifier: BSD-3-Clause
// The variants of heat_plates. Each computes all steps of all plates on one thread; they differ in how they wait.
#pragma once

#include "run.hpp"

#include "common/variant.hpp"

#include <span>

namespace plates {

void solve_forkjoin(Run &run);
void solve_mpi(Run &run);
void solve_waitany(Run &run);
void solve_callbacks(Run &run);
void solve_coroutine(Run &run);

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
};
std::span<const Variant> variants();

} // namespace plates
