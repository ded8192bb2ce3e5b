// SPDX-License-Identifier: BSD-3-Clause
// Function f replaces a number x in (0, 1) by r x (1 - x), `work` times, with an r of its own. Small differences grow,
// so a wrong number stays wrong to the end. This file is compiled with -ffp-contract=off: then all loops round in the
// same way, and all variants give the same numbers bit for bit.
#include "stage.hpp"

#include "common/input_error.hpp"
#include "common/simulated.hpp"
#include "common/wrong_value.hpp"

#include <algorithm>
#include <cstdint>

namespace streaming {
namespace {

// Numbers that go through a function together: independent, so that the processor need not wait for each step.
constexpr int strip = 16;

double factor(int function) {
    return 3.9 + 0.001 * (function % 97);
}

double initial(int chunk, int number) {
    const auto mixed =
        (static_cast<std::uint32_t>(chunk) * 2654435761U) ^ (static_cast<std::uint32_t>(number) * 40503U);
    return (static_cast<double>(mixed % 1000003U) + 0.5) / 1000003.0;
}

void apply(int function, int work, double *numbers, int count) {
    const double r = factor(function);
    for (int i = 0; i < count; i += strip) {
        double x[strip];
        const int here = std::min(strip, count - i);
        for (int k = 0; k < strip; ++k) {
            x[k] = numbers[i + std::min(k, here - 1)];
        }
        for (int w = 0; w < work; ++w) {
            for (int k = 0; k < strip; ++k) {
                x[k] = r * x[k] * (1.0 - x[k]);
            }
        }
        std::copy_n(x, here, numbers + i);
    }
}

} // namespace

void check_settings(const Settings &s, int ranks) {
    if (ranks % s.lanes != 0) {
        throw apps::InputError("--lanes: " + std::to_string(ranks) + " ranks are no multiple of " +
                               std::to_string(s.lanes) + " lanes");
    }
    if (s.size < s.lanes) {
        throw apps::InputError("--size: " + std::to_string(s.size) + " numbers are too few for " +
                               std::to_string(s.lanes) + " lanes");
    }
    if (s.functions != 0 && s.functions < ranks / s.lanes) {
        throw apps::InputError("--functions: " + std::to_string(s.functions) + " are too few for " +
                               std::to_string(ranks / s.lanes) + " stages");
    }
    if (s.verify && static_cast<double>(s.size) * s.chunks > double(1 << 27)) {
        throw apps::InputError(
            "--verify keeps all chunks, here more than 1 GiB; use fewer --chunks, or a smaller --size");
    }
}

Stage::Stage(const Settings &s, int rank, int ranks)
    : settings(s), rank_(rank), all(ranks / s.lanes), index(rank / s.lanes) {
    const auto share = [&](int whole, int number, int parts) {
        return static_cast<int>(static_cast<long>(whole) * number / parts);
    };
    const int lane = rank % s.lanes;
    offset = share(s.size, lane, s.lanes);
    part = share(s.size, lane + 1, s.lanes) - offset;
    const int functions = s.functions == 0 ? all : s.functions;
    first_function = share(functions, index, all);
    last_function = share(functions, index + 1, all);
    own_in.resize(static_cast<std::size_t>(part));
    own_out.resize(static_cast<std::size_t>(part));
    use_memory(own_in.data(), own_out.data());
    if (s.verify && !sends()) {
        kept.resize(static_cast<std::size_t>(part) * static_cast<std::size_t>(s.chunks));
    }
}

void Stage::compute(int chunk, int block) {
    double *const to = out(block);
    const int count = length(block);
    if (receives()) {
        std::copy_n(in(block), count, to);
    } else {
        for (int i = 0; i < count; ++i) {
            to[i] = initial(chunk, offset + first(block) + i);
        }
    }
    for (int f = first_function; f < last_function; ++f) {
        apply(f, settings.work, to, count);
    }
    apps::inject(settings.cell_cost * count * (last_function - first_function));
    if (!kept.empty()) {
        std::copy_n(to, count,
                    &kept[static_cast<std::size_t>(chunk) * static_cast<std::size_t>(part) +
                          static_cast<std::size_t>(first(block))]);
    }
}

std::string Stage::check() const {
    std::size_t at = 0;
    for (int chunk = 0; chunk < settings.chunks && !kept.empty(); ++chunk) {
        for (int i = 0; i < part; ++i, ++at) {
            double right = initial(chunk, offset + i);
            for (int f = 0; f < last_function; ++f) {
                for (int w = 0; w < settings.work; ++w) {
                    right = factor(f) * right * (1.0 - right);
                }
            }
            if (!apps::same_bits(kept[at], right)) {
                return apps::wrong_value("chunk " + std::to_string(chunk) + ", number " + std::to_string(offset + i),
                                         kept[at], right);
            }
        }
    }
    return "";
}

} // namespace streaming
