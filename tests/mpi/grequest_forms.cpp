// SPDX-License-Identifier: BSD-3-Clause
// Runs the test in C of generalized requests.
#include "support.hpp"

extern "C" int count_failures_of_grequest_forms(void); // grequest_forms_in_c.c

namespace {

TEST(grequest_forms, have_both_names_and_both_forms_in_c) {
    EXPECT_EQ(count_failures_of_grequest_forms(), 0);
}

} // namespace
