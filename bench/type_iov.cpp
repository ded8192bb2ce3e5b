// SPDX-License-Identifier: BSD-3-Clause
// The segments of datatypes with a million segments: many of them, the last 16, and how many fit in half of the bytes.
// Where the MPI has MPICH's own calls, they are measured in turn with ours, in one run.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <stdexcept>
#include <thence/type_iov.h>
#include <vector>

namespace {

// MPICH's calls have the signatures of ours.
struct calls {
    decltype(&thence_type_iov_len) len = nullptr;
    decltype(&thence_type_iov) iov = nullptr;

    explicit operator bool() const { return len != nullptr && iov != nullptr; }
};

calls native() {
    return {reinterpret_cast<decltype(calls::len)>(dlsym(RTLD_DEFAULT, "PMPIX_Type_iov_len")),
            reinterpret_cast<decltype(calls::iov)>(dlsym(RTLD_DEFAULT, "PMPIX_Type_iov"))};
}

// A million blocks of one double in one vector, or in vectors of 32 nested four deep.
MPI_Datatype make_type(bool nested) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (!nested) {
        MPI_Type_vector(1'000'000, 1, 2, MPI_DOUBLE, &type);
    } else {
        MPI_Type_vector(32, 1, 2, MPI_DOUBLE, &type);
        for (int level = 1; level < 4; ++level) {
            MPI_Datatype outer = MPI_DATATYPE_NULL;
            MPI_Aint lower = 0;
            MPI_Aint extent = 0;
            MPI_Type_get_extent(type, &lower, &extent);
            MPI_Type_create_hvector(32, 1, extent + 64, type, &outer); // a gap behind each
            MPI_Type_free(&type);
            type = outer;
        }
    }
    MPI_Type_commit(&type);
    return type;
}

// Nanoseconds of processor time of each query, through one of the two.
class queries {
public:
    queries(const calls &through, MPI_Datatype type) : through_(through), type_(type) {
        through_.len(type_, most, &all_, &bytes_);
        segments_.resize(static_cast<std::size_t>(all_));
    }
    // Of each segment when `count` are asked for in one call, from the first on.
    double of_one_segment(MPI_Count count, int times) {
        MPI_Count got = 0;
        const measure::nanoseconds begin = measure::processor_time();
        for (int i = 0; i < times; ++i) {
            through_.iov(type_, 0, segments_.data(), count, &got);
        }
        const auto taken = static_cast<double>(measure::processor_time() - begin);
        expect(got, count);
        return taken / static_cast<double>(count) / times;
    }
    double of_all_segments() { return of_one_segment(all_, 1); }
    double of_the_end(int times) {
        MPI_Count got = 0;
        const measure::nanoseconds begin = measure::processor_time();
        for (int i = 0; i < times; ++i) {
            through_.iov(type_, all_ - 16, segments_.data(), 16, &got);
        }
        const auto taken = static_cast<double>(measure::processor_time() - begin);
        expect(got, 16);
        return taken / times;
    }
    double of_half_the_bytes(int times) {
        MPI_Count fitting = 0;
        MPI_Count bytes = 0;
        const measure::nanoseconds begin = measure::processor_time();
        for (int i = 0; i < times; ++i) {
            through_.len(type_, bytes_ / 2 + 3, &fitting, &bytes);
        }
        const auto taken = static_cast<double>(measure::processor_time() - begin);
        expect(fitting, all_ / 2);
        return taken / times;
    }

private:
    static constexpr MPI_Count most = MPI_Count{1} << 40;
    static void expect(MPI_Count found, MPI_Count right) {
        if (found != right) {
            throw std::runtime_error("a query gave " + std::to_string(found) + " segments in place of " +
                                     std::to_string(right));
        }
    }

    calls through_;
    MPI_Datatype type_;
    MPI_Count all_ = 0;
    MPI_Count bytes_ = 0;
    std::vector<thence_iov> segments_;
};

// The results of all rounds of one of the two, in this order.
constexpr const char *kinds[] = {"segment", "all", "end", "half"};
using values = std::array<std::vector<double>, std::size(kinds)>;

void report(measure::work &work, const std::string &whose, const values &found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const measure::sample middle = measure::median_of(found[i]);
        work.result(whose + kinds[i], middle.value);
        work.result(whose + kinds[i] + "_low", middle.low);
        work.result(whose + kinds[i] + "_high", middle.high);
    }
}

void all(measure::work &work) {
    MPI_Datatype type = make_type(work.parameter("nested") != 0);
    const calls theirs = native();
    queries mine({&thence_type_iov_len, &thence_type_iov}, type);
    queries others(theirs ? theirs : calls{&thence_type_iov_len, &thence_type_iov}, type);
    values by_us;
    values by_mpi;
    values ratios;
    constexpr MPI_Count in_cache = 10'000; // so many segments fit into a cache
    const int rounds = work.quick() ? 5 : 21;
    for (int i = -1; i < rounds; ++i) {
        const double ours[] = {mine.of_one_segment(in_cache, 100), mine.of_all_segments(), mine.of_the_end(10'000),
                               mine.of_half_the_bytes(10'000)};
        double native[std::size(kinds)] = {1, 1, 1, 1};
        if (theirs) {
            const double found[] = {others.of_one_segment(in_cache, 100), others.of_all_segments(),
                                    others.of_the_end(5), others.of_half_the_bytes(1)};
            std::ranges::copy(found, native);
        }
        for (std::size_t k = 0; i >= 0 && k < std::size(kinds); ++k) { // memory is touched in a round before the first
            by_us[k].push_back(ours[k]);
            by_mpi[k].push_back(native[k]);
            ratios[k].push_back(ours[k] / native[k]);
        }
    }
    work.result("native", theirs ? 1 : 0);
    report(work, "", by_us);
    if (theirs) {
        report(work, "mpi_", by_mpi);
        report(work, "ratio_", ratios);
    }
    MPI_Type_free(&type);
}

measure::sample sample_of(const measure::numbers &found, const std::string &key) {
    return {found.at(key), found.at(key + "_low"), found.at(key + "_high")};
}

void judge(measure::session &session) {
    for (const bool nested : {false, true}) {
        const measure::numbers found = session.alone({.work = "all", .parameters = {{"nested", nested ? 1 : 0}}});
        const bool has_native = found.at("native") != 0;
        const std::string what = nested ? "vectors of 32 nested four deep" : "vector of 1,000,000 blocks";
        const auto add_time = [&](const std::string &name, const std::string &key, bool has_bar) {
            measure::figure each{.name = what + ", " + name,
                                 .found = sample_of(found, has_native ? "ratio_" + key : key),
                                 .unit = has_native ? "times the time of MPIX_Type_iov" : "ns per segment",
                                 .to_beat = "MPICH 5.0: 4.1 ns per segment"};
            if (has_native) {
                each.kind = has_bar ? measure::bar_kind::at_most : measure::bar_kind::none;
                each.bar = 0.5;
                each.against = "MPIX_Type_iov of this MPI";
                each.side_unit = "ns per segment";
                each.ours = found.at(key);
                each.baseline = found.at("mpi_" + key);
            }
            session.add(each);
        };
        add_time("10,000 segments in one call", "segment", true);
        // The array does not fit into a cache, so the speed of memory counts too.
        add_time("all segments in one call", "all", false);
        const auto add_query = [&](const std::string &name, const std::string &key, const std::string &to_beat) {
            measure::figure query{.name = what + ", " + name,
                                  .found = sample_of(found, key),
                                  .unit = "ns",
                                  .kind = measure::bar_kind::at_most,
                                  .bar = 100,
                                  .to_beat = to_beat};
            if (has_native) {
                query.against = "the call of this MPI";
                query.side_unit = "ns";
                query.ours = found.at(key);
                query.baseline = found.at("mpi_" + key);
            }
            session.add(query);
        };
        add_query("16 segments at the end", "end", "MPICH 5.0: 741,000 ns for the vector");
        add_query("segments in half of the bytes", "half", "MPICH 5.0: 11,200,000 ns for the vector");
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "type_iov",
                          .about = "segments of datatypes with a million segments, compared with MPICH's own calls",
                          .bars =
                              "at most 0.5 times the time of MPICH per segment; at most 100 ns for the last segments "
                              "and from bytes to segments",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
