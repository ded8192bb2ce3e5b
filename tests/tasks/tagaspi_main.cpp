// SPDX-License-Identifier: BSD-3-Clause
// The program of the tests of TAGASPI.
#include "tagaspi_fixture.hpp"

#include <TAMPI.h>

int main(int argc, char **argv) {
    find_runtime();
    return run_all_tests(argc, argv, MPI_TASK_MULTIPLE);
}
