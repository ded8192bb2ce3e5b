/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAITER_H
#define WAITER_H
#include <mpi.h>
int wait_elsewhere(MPI_Request *request);
#endif
