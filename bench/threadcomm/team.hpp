// SPDX-License-Identifier: BSD-3-Clause
// Thread communicators of two makers in one process, Thence's and MPICH's own where the MPI has them, and a team of
// threads that are ranks of both at the same time. The benchmark times blocks of one maker and of the other in turn.
#pragma once

#include "measure/session.hpp"
#include "measure/work.hpp"

#include <dlfcn.h>
#include <functional>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <thence/threadcomm.h>
#include <thread>
#include <vector>

namespace threadcomms {

// MPICH's own calls; null if this MPI does not have them. Messages on its communicators go by PMPI_Send and so on.
struct native_calls {
    using init_call = int (*)(MPI_Comm, int, MPI_Comm *);
    using call = int (*)(MPI_Comm);
    using free_call = int (*)(MPI_Comm *);
    init_call init = reinterpret_cast<init_call>(dlsym(RTLD_DEFAULT, "PMPIX_Threadcomm_init"));
    call start = reinterpret_cast<call>(dlsym(RTLD_DEFAULT, "PMPIX_Threadcomm_start"));
    call finish = reinterpret_cast<call>(dlsym(RTLD_DEFAULT, "PMPIX_Threadcomm_finish"));
    free_call free = reinterpret_cast<free_call>(dlsym(RTLD_DEFAULT, "PMPIX_Threadcomm_free"));
};

inline void check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        throw std::runtime_error(std::string(call) + " failed");
    }
}

class team {
public:
    explicit team(int threads) : threads_(threads) {
        check(thence_threadcomm_init(MPI_COMM_WORLD, threads, &ours), "thence_threadcomm_init");
        // An MPI may have the calls and not the feature.
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
        if (calls_.init == nullptr || calls_.init(MPI_COMM_WORLD, threads, &native) != MPI_SUCCESS) {
            native = MPI_COMM_NULL;
        }
    }
    ~team() {
        thence_threadcomm_free(&ours);
        if (has_native()) {
            calls_.free(&native);
        }
    }
    team(const team &) = delete;
    team &operator=(const team &) = delete;

    bool has_native() const { return native != MPI_COMM_NULL; }

    // Each thread calls `body` with its number in this process.
    void run(const std::function<void(int)> &body) const {
        std::vector<std::thread> others;
        others.reserve(static_cast<std::size_t>(threads_));
        const auto member = [&](int number) {
            check(thence_threadcomm_start_as(ours, number), "thence_threadcomm_start_as");
            if (has_native()) {
                check(calls_.start(native), "MPIX_Threadcomm_start");
            }
            body(number);
            if (has_native()) {
                check(calls_.finish(native), "MPIX_Threadcomm_finish");
            }
            check(thence_threadcomm_finish(ours), "thence_threadcomm_finish");
        };
        for (int i = 1; i < threads_; ++i) {
            others.emplace_back(member, i);
        }
        member(0);
        for (std::thread &each : others) {
            each.join();
        }
    }

    MPI_Comm ours = MPI_COMM_NULL;
    MPI_Comm native = MPI_COMM_NULL;

private:
    int threads_;
    native_calls calls_;
};

// The times of one way to do a thing, and their ratios to those of another way in the same rounds.
class series {
public:
    void add(double time) { times_.push_back(time); }
    bool empty() const { return times_.empty(); }
    void report(const measure::work &work, const std::string &name) const { put(work, name, times_); }
    void report_ratio(const measure::work &work, const std::string &name, const series &to) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < times_.size() && i < to.times_.size(); ++i) {
            ratios.push_back(times_[i] / to.times_[i]);
        }
        put(work, name, ratios);
    }

private:
    static void put(const measure::work &work, const std::string &name, const std::vector<double> &values) {
        const measure::sample middle = measure::median_of(values);
        work.result(name, middle.value);
        work.result(name + "_low", middle.low);
        work.result(name + "_high", middle.high);
    }
    std::vector<double> times_;
};

inline measure::sample sample_of(const measure::numbers &found, const std::string &name) {
    return {found.at(name), found.at(name + "_low"), found.at(name + "_high")};
}

} // namespace threadcomms
