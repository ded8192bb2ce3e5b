// SPDX-License-Identifier: BSD-3-Clause
// The reduction of a symmetric band matrix to tridiagonal form by sweeps of Householder reflectors (bulge chasing), for
// a band of b subdiagonals. Sweep s clears column s below its first subdiagonal, which creates a bulge outside of the
// band. Each following step of the sweep moves the bulge b columns further with one reflector, until it leaves the
// matrix. Step (s, t) works on the b columns from s + 1 + t b on. It needs the reflector that step (s, t - 1) computed,
// and its columns as step (s - 1, t + 1) left them.
//
// A station does a fixed number of consecutive steps of every sweep and holds their columns. In the next sweep these
// are one column further to the right. So a station sends its first column to the station on its left after its first
// step, and receives one from its right before its last step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace band {

// A band matrix, given by its lower half.
struct problem {
    int order;
    int width; // subdiagonals, at least 2
    int steps; // of a station in a sweep
    int stations() const { return (order - 2) / (steps * width) + 1; }
    int sweeps() const { return order - 2; }
    // First column of a station in a sweep. If it is beyond the last column, the station has no step in that sweep.
    int first(int sweep, int station) const { return sweep + 1 + station * steps * width; }
    bool active(int sweep, int station) const { return first(sweep, station) < order; }
    // True if the station receives a column from its right before its last step.
    bool takes(int sweep, int station) const { return sweep > 0 && active(sweep - 1, station + 1); }

    double element(int row, int column) const {
        auto mixed = static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(column) + 1;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return row - column > width ? 0 : static_cast<double>(mixed >> 11U) * 0x1p-53 - 0.5;
    }
};

struct tridiagonal {
    std::vector<double> diagonal;
    std::vector<double> below;
    bool operator==(const tridiagonal &) const = default;
};

class station {
public:
    station(const problem &of, int number)
        : problem_(of), number_(number), slots_(of.steps * of.width),
          columns_(static_cast<std::size_t>(slots_) * column_size()),
          reflector_(static_cast<std::size_t>(of.width) + 1), next_(reflector_.size()),
          work_(static_cast<std::size_t>(of.width)) {
        for (int j = of.first(0, number); j < std::min(of.order, of.first(0, number + 1)); ++j) {
            fill(column(j), j);
        }
        if (number == 0) {
            pivot_.resize(column_size());
            fill(pivot_.data(), 0);
            result_.diagonal.reserve(static_cast<std::size_t>(of.order));
            result_.below.reserve(static_cast<std::size_t>(of.order));
        }
    }

    int number() const { return number_; }
    std::size_t column_size() const { return 2 * static_cast<std::size_t>(problem_.width); }
    // The reflector that the next step applies: its scalar factor, followed by its vector.
    std::vector<double> &reflector() { return reflector_; }
    // The buffers of the column that is received from the right, and of the one that is sent to the left.
    double *incoming(int sweep) { return column(problem_.first(sweep, number_ + 1) - 1); }
    double *outgoing(int sweep) { return column(problem_.first(sweep, number_)); }

    // Only on the first station: it begins each sweep and collects the tridiagonal matrix.
    void begin(int sweep) {
        result_.diagonal.push_back(pivot_[0]);
        const int rows = std::min(problem_.width, problem_.order - sweep - 1);
        make_reflector(pivot_.data() + 1, rows, reflector_);
        result_.below.push_back(pivot_[1]);
    }
    void keep_outgoing(int sweep) { std::copy_n(outgoing(sweep), column_size(), pivot_.begin()); }
    tridiagonal &finish() {
        result_.diagonal.insert(result_.diagonal.end(), {pivot_[0], column(problem_.order - 1)[0]});
        result_.below.push_back(pivot_[1]);
        return result_;
    }

    // How many steps the station has in the sweep: those whose first column is inside the matrix.
    int steps(int sweep) const {
        const int columns = problem_.order - problem_.first(sweep, number_);
        return std::min(problem_.steps, (columns + problem_.width - 1) / problem_.width);
    }
    void step(int sweep, int which) {
        const int start = problem_.first(sweep, number_) + which * problem_.width;
        const int here = std::min(problem_.width, problem_.order - start);
        apply_from_both_sides(start, here);
        if (const int below = std::min(problem_.width, problem_.order - start - problem_.width); below > 0) {
            chase_bulge(start, below);
        }
    }

private:
    double *column(int j) { return columns_.data() + static_cast<std::size_t>(j % slots_) * column_size(); }
    void fill(double *into, int j) const {
        for (int i = j; i < std::min(problem_.order, j + 2 * problem_.width); ++i) {
            into[i - j] = problem_.element(i, j);
        }
    }

    // Computes the reflector that maps x to (beta, 0, ...), and overwrites x with the result.
    static void make_reflector(double *x, int count, std::vector<double> &made) {
        double *const v = made.data() + 1;
        double squares = 0;
        for (int i = 1; i < count; ++i) {
            squares += x[i] * x[i];
        }
        std::fill(made.begin(), made.end(), 0.0);
        v[0] = 1;
        if (squares == 0) {
            return;
        }
        const double beta = -std::copysign(std::sqrt(x[0] * x[0] + squares), x[0]);
        made[0] = (beta - x[0]) / beta;
        for (int i = 1; i < count; ++i) {
            v[i] = x[i] / (x[0] - beta);
            x[i] = 0;
        }
        x[0] = beta;
    }

    // D := H D H for the diagonal block, of which only the lower half is stored.
    void apply_from_both_sides(int start, int count) {
        const double factor = reflector_[0];
        const double *const v = reflector_.data() + 1;
        double *const w = work_.data();
        std::fill_n(w, count, 0.0);
        for (int j = 0; j < count; ++j) {
            const double *const d = column(start + j);
            double across = d[0] * v[j];
            for (int i = j + 1; i < count; ++i) {
                w[i] += d[i - j] * v[j];
                across += d[i - j] * v[i];
            }
            w[j] += across;
        }
        double dot = 0;
        for (int i = 0; i < count; ++i) {
            w[i] *= factor;
            dot += w[i] * v[i];
        }
        for (int i = 0; i < count; ++i) {
            w[i] -= 0.5 * factor * dot * v[i];
        }
        for (int j = 0; j < count; ++j) {
            double *const d = column(start + j);
            for (int i = j; i < count; ++i) {
                d[i - j] -= v[i] * w[j] + w[i] * v[j];
            }
        }
    }
    // Applies H from the right to the block below, which creates the bulge, and computes the next reflector, which
    // clears the first column of that block.
    void chase_bulge(int start, int rows) {
        const int width = problem_.width;
        const double *const v = reflector_.data() + 1;
        double *const u = work_.data();
        std::fill_n(u, rows, 0.0);
        for (int j = 0; j < width; ++j) {
            const double *const b = column(start + j) + width - j;
            for (int i = 0; i < rows; ++i) {
                u[i] += b[i] * v[j];
            }
        }
        for (int j = 0; j < width; ++j) {
            double *const b = column(start + j) + width - j;
            for (int i = 0; i < rows; ++i) {
                b[i] -= reflector_[0] * v[j] * u[i];
            }
        }
        make_reflector(column(start) + width, rows, next_);
        const double *const x = next_.data() + 1;
        for (int j = 1; j < width; ++j) {
            double *const b = column(start + j) + width - j;
            double dot = 0;
            for (int i = 0; i < rows; ++i) {
                dot += x[i] * b[i];
            }
            for (int i = 0; i < rows; ++i) {
                b[i] -= next_[0] * dot * x[i];
            }
        }
        std::swap(reflector_, next_);
    }

    problem problem_;
    int number_;
    int slots_;
    std::vector<double> columns_;
    std::vector<double> reflector_;
    std::vector<double> next_;
    std::vector<double> work_;
    std::vector<double> pivot_; // on the first station: the column that the next sweep clears
    tridiagonal result_;
};

// The same reduction with a single station, and therefore without messages.
inline tridiagonal reduce_alone(problem of) {
    of.steps = (of.order + of.width - 1) / of.width;
    station all(of, 0);
    for (int sweep = 0; sweep < of.sweeps(); ++sweep) {
        all.begin(sweep);
        for (int t = 0; t < all.steps(sweep); ++t) {
            all.step(sweep, t);
            if (t == 0) {
                all.keep_outgoing(sweep);
            }
        }
    }
    return all.finish();
}

} // namespace band
