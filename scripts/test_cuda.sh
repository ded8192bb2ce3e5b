#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: scripts/test_cuda.sh [BUILD_DIR]
#
# For a machine with a GPU: builds the tests of CUDA streams as queues and runs them on NVIDIA's driver, on 1 and 2 ranks. CUDA's
# headers and libraries are not needed, only the driver (libcuda.so.1). Prints which device and which MPI it ran on.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/cuda}

if ! ldconfig -p | grep -q 'libcuda\.so\.1' && [ -z "${LD_LIBRARY_PATH:-}" ]; then
    echo "test_cuda.sh: no libcuda.so.1 found: this machine has no driver of NVIDIA" >&2
    exit 1
fi
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
fi
if [ "$(id -u)" = 0 ]; then # Open MPI's launcher refuses to run as root without these
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
mpiexec --version | head -n 1
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DTHENCE_BUILD_BENCH=OFF >/dev/null
cmake --build "$build" --target cuda_queue --parallel >/dev/null
for ranks in 1 2; do
    echo "cuda_queue on $ranks ranks"
    output=$(mpiexec -n "$ranks" "$build/tests/cuda_queue" 2>&1) || { echo "$output"; exit 1; }
    echo "$output" | tail -n 3
    if echo "$output" | grep -q 'no CUDA driver'; then
        echo "test_cuda.sh: the driver gives no device" >&2
        exit 1
    fi
done
