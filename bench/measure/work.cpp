// SPDX-License-Identifier: BSD-3-Clause
#include "measure/work.hpp"

#include "measure/callgrind.hpp"

#include <cstdio>
#include <stdexcept>

// Callgrind counts the calls of this function, each separately. It has C linkage since callgrind needs its name.
extern "C" __attribute__((noinline, visibility("default"))) void thence_bench_counted(void (*body)(void *, long),
                                                                                      void *data, long iterations) {
    body(data, iterations);
    asm volatile("" ::: "memory"); // prevents a tail call: callgrind must see the return
}

namespace measure {

long work::parameter(const std::string &name) const {
    const auto found = chosen_.parameters.find(name);
    if (found == chosen_.parameters.end()) {
        throw std::runtime_error("the work needs the parameter " + name + "=NUMBER");
    }
    return found->second;
}

void work::result(const std::string &name, double value) const {
    if (rank_ == 0) {
        std::printf("result %s %.17g\n", name.c_str(), value);
        std::fflush(stdout);
    }
}

void work::count_calls(step body, void *data, step prepare) const {
    const auto call = [&](long iterations) {
        if (prepare != nullptr) {
            prepare(data, iterations);
        }
        thence_bench_counted(body, data, iterations);
    };
    // A warm-up of pools, caches of MPI and lazily bound symbols. The count of this call is not used, since it includes
    // the instructions of other threads before it.
    call(chosen_.few);
    for (int i = 0; i < chosen_.repeats; ++i) {
        call(chosen_.few);
        call(chosen_.many);
    }
}

} // namespace measure
