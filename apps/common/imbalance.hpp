// SPDX-License-Identifier: BSD-3-Clause
// Injected imbalance: part of the work costs a factor more, and the results stay the same. The extra cost is processor
// time of the thread that did the work, so it does not depend on how many threads share a core.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace apps {

// What --imbalance FACTOR@PART says.
struct Imbalance {
    enum Part { rank, zones, lanes, area } part = rank;
    double factor = 1;
    std::vector<int> members;              // the ranks, zones or lanes that are more expensive
    double x0 = 0, y0 = 0, x1 = 1, y1 = 1; // `area`: fractions of width and height
    std::string text;                      // as written

    bool has_member(int number) const;
    // Whether the point at these fractions of width and height is inside the area.
    bool covers(double x, double y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
    // How many times as expensive a part of a field is: that of a rank that is a member, or one whose centre is in the
    // area. `x` and `y`: fractions of width and height.
    double factor_of(int rank_of_part, double x, double y) const {
        return (part == area ? covers(x, y) : has_member(rank_of_part)) ? factor : 1;
    }
};

// Parses `5@rank:1`, `3@zones:0,2` or `4@area:0,0,0.5,1`. `parts`: the words that the application knows. Throws
// std::invalid_argument that says what is wrong.
Imbalance parse_imbalance(const std::string &text, const std::vector<std::string> &parts);

// Throws InputError if the imbalance names a rank, a zone or a lane that there is not. `others`: the number of zones or
// lanes. `option`: where it was written.
void check_imbalance(const std::optional<Imbalance> &imbalance, int ranks, int others = 0,
                     const std::string &option = "--imbalance");

// Nanoseconds of processor time of this thread.
inline long processor_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1'000'000'000L + t.tv_nsec;
}
// Keeps this thread busy until that is its processor time.
inline void spin_until(long end) {
    while (processor_time() < end) {
    }
}

// Makes the lifetime of this object cost `factor` times its processor time. With factor 1 it does nothing.
class Dearer {
public:
    explicit Dearer(double times) : factor(times), begin(factor > 1 ? processor_time() : 0) {}
    ~Dearer() {
        if (factor > 1) {
            spin_until(begin + static_cast<long>(factor * static_cast<double>(processor_time() - begin)));
        }
    }
    Dearer(const Dearer &) = delete;
    Dearer &operator=(const Dearer &) = delete;

private:
    const double factor;
    const long begin;
};

} // namespace apps
