// SPDX-License-Identifier: BSD-3-Clause
#include "measure/contest.hpp"

#include <algorithm>
#include <stdexcept>

namespace measure {

contest::contest(const std::vector<contender> &all, int rounds) : times(all.size()) {
    for (const contender &c : all)
        names.push_back(c.name);
    std::optional<double> checksum;
    std::string checked;
    for (int i = 0; i < rounds; ++i)
        for (std::size_t c = 0; c < all.size(); ++c) {
            const numbers found = all[c].run();
            times[c].push_back(found.at("seconds"));
            const auto own = found.find("checksum");
            if (own == found.end())
                continue;
            if (!checksum)
                checksum = own->second, checked = names[c];
            else if (*checksum != own->second)
                throw std::runtime_error(names[c] + " computes other values than " + checked);
        }
}

sample contest::speed(std::size_t c, std::size_t baseline) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[c].size(); ++i)
        ratios.push_back(times[baseline][i] / times[c][i]);
    return median_of(ratios);
}

std::size_t contest::best(std::size_t first, std::size_t last) const {
    std::size_t found = first;
    for (std::size_t c = first + 1; c < last; ++c)
        if (seconds(c) < seconds(found))
            found = c;
    return found;
}

figure contest::compared(std::size_t c, std::size_t baseline, double steps) const {
    return {.name = names[c],
            .found = speed(c, baseline),
            .unit = "times the speed",
            .against = names[baseline],
            .side_unit = steps == 1 ? "milliseconds" : "milliseconds per step",
            .ours = 1e3 * seconds(c) / steps,
            .baseline = 1e3 * seconds(baseline) / steps};
}

} // namespace measure
