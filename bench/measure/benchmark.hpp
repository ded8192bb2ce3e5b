// SPDX-License-Identifier: BSD-3-Clause
// A benchmark consists of pieces of work and a judge, which runs them and adds figures to a report.
//
// It is one executable with two roles. Without --work it is the judge: it runs itself under callgrind or the launcher
// and prints its report as JSON. With --work NAME it is the measured program.
#pragma once

#include "measure/session.hpp"
#include "measure/work.hpp"

#include <string>
#include <vector>

namespace measure {

struct benchmark {
    std::string name;
    std::string about; // one line: what is compared with what
    std::string bars;  // one line: the bars
    struct piece {
        std::string name;
        void (*run)(work &);
    };
    std::vector<piece> pieces;
    void (*judge)(session &);
};

int main(int argc, char **argv, const benchmark &what);

} // namespace measure
