// SPDX-License-Identifier: BSD-3-Clause
#include "measure/benchmark.hpp"

#include "measure/process.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <mpi.h>
#include <nlohmann/json.hpp>

namespace measure {
namespace {

struct options {
    std::string work_name;
    std::string level = "multiple";
    std::string mpiexec = THENCE_BENCH_MPIEXEC;
    std::vector<std::string> parameters;
    bool describe = false;
    work::settings measured;
};

int do_work(const benchmark &what, options &chosen) {
    for (const std::string &entry : chosen.parameters) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos) {
            std::cerr << what.name << ": --parameter needs NAME=NUMBER, not " << entry << '\n';
            return 2;
        }
        chosen.measured.parameters[entry.substr(0, equals)] = std::stol(entry.substr(equals + 1));
    }
    const auto piece = std::find_if(what.pieces.begin(), what.pieces.end(),
                                    [&](const benchmark::piece &p) { return p.name == chosen.work_name; });
    if (piece == what.pieces.end()) {
        std::cerr << what.name << ": no work named " << chosen.work_name << '\n';
        return 2;
    }
    const int wanted = chosen.level == "single"     ? MPI_THREAD_SINGLE
                       : chosen.level == "funneled" ? MPI_THREAD_FUNNELED
                                                    : MPI_THREAD_MULTIPLE;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, wanted, &provided);
    if (provided < wanted) {
        std::cerr << what.name << ": this MPI does not provide MPI_THREAD_MULTIPLE\n";
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        work running(chosen.measured, rank);
        piece->run(running);
    } catch (const std::exception &error) {
        std::cerr << what.name << ": " << error.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

int do_judge(const benchmark &what, const options &chosen) {
    report result{what.name, what.about, {}, {}, {}};
    const std::string folder = own_folder();
    session judging({chosen.measured.quick, words(chosen.mpiexec), thence_command(), folder, folder + "/" + what.name},
                    result);
    try {
        what.judge(judging);
    } catch (const std::exception &error) {
        result.failed = error.what();
    }
    std::cout << nlohmann::json(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return !result.failed.empty() ? 3 : result.passed() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv, const benchmark &what) {
    options chosen;
    CLI::App app(what.about + "\n" + what.bars +
                 "\nPrints a report as JSON, which `thence bench` formats. With --work it is the measured program.");
    app.add_option("--work", chosen.work_name, "run this piece of work instead of judging");
    app.add_option("--level", chosen.level, "thread level of the work")
        ->check(CLI::IsMember({"single", "funneled", "multiple"}));
    app.add_option("--parameter", chosen.parameters, "NAME=NUMBER for the work; may be repeated")
        ->take_all()
        ->expected(1);
    app.add_option("--few", chosen.measured.few, "smaller iteration count of the work")->check(CLI::PositiveNumber);
    app.add_option("--many", chosen.measured.many, "larger iteration count of the work")->check(CLI::PositiveNumber);
    app.add_option("--repeats", chosen.measured.repeats, "number of repetitions")->check(CLI::PositiveNumber);
    app.add_flag("--quick", chosen.measured.quick, "fewer repetitions");
    app.add_option("--mpiexec", chosen.mpiexec, "launcher and its arguments")->capture_default_str();
    app.add_flag("--describe", chosen.describe, "print name, comparison and bars as JSON");
    CLI11_PARSE(app, argc, argv);
    if (chosen.describe) {
        std::cout << nlohmann::json{{"name", what.name}, {"about", what.about}, {"bars", what.bars}} << '\n';
        return 0;
    }
    return chosen.work_name.empty() ? do_judge(what, chosen) : do_work(what, chosen);
}

} // namespace measure
