// SPDX-License-Identifier: BSD-3-Clause
// How often an idle process wakes up: the helper thread is on and has run a continuation, and nothing is outstanding.
//
// The figure is the kernel's count of the thread's context switches, not a count of the library.
#include "measure/benchmark.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thence/thence.h>
#include <thread>

namespace {

constexpr const char *helper_name = "thence-helper";

int nothing(int, MPI_Status *, void *) {
    return MPI_SUCCESS;
}

// Context switches of the helper thread so far, voluntary and involuntary. There is at least one for each wake-up.
long switches_of_helper() {
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(task.path() / "status");
        std::string name;
        long switches = 0;
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("Name:")) {
                name = line.substr(line.find_first_not_of("\t ", 5));
            } else if (line.find("voluntary_ctxt_switches:") != std::string::npos) {
                switches += std::stol(line.substr(line.find(':') + 1));
            }
        }
        if (name == helper_name) {
            return switches;
        }
    }
    throw std::runtime_error("there is no helper thread, although THENCE_PROGRESS=thread is set");
}

void idle(measure::work &work) {
    MPI_Request cr;
    MPI_Request receive;
    int in = 0;
    int out = 0;
    int flag = 0;
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    thence_attach(1, &receive, nothing, nullptr, 0, MPI_STATUSES_IGNORE, cr, &flag);
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    thence_wait(&cr, MPI_STATUS_IGNORE);

    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // until the helper finds nothing to do and sleeps
    const auto seconds = work.quick() ? 1 : 5;
    const long before = switches_of_helper();
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    work.result("per_second", static_cast<double>(switches_of_helper() - before) / seconds);
    thence_free(&cr);
}

void judge(measure::session &session) {
    const double found = session.alone({.work = "idle", .environment = {"THENCE_PROGRESS=thread"}}).at("per_second");
    session.add({.name = "helper thread on, nothing outstanding",
                 .found = {found, found, found},
                 .unit = "wake-ups per second",
                 .kind = measure::bar_kind::at_most,
                 .bar = 0,
                 .against = "a sleeping process",
                 .to_beat = "TAMPI: one every 100 microseconds"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "idle_cpu",
                          .about = "wake-ups of an idle process with the helper thread on",
                          .bars = "0 wake-ups",
                          .pieces = {{"idle", idle}},
                          .judge = judge});
}
