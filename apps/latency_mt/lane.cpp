// SPDX-License-Identifier: BSD-3-Clause
#include "lane.hpp"

#include "common/wrong_value.hpp"

namespace latency_mt {

Lane::Lane(int own_number, int own_rank, int bytes, apps::Nanoseconds nanoseconds)
    : number(own_number), rank(own_rank), computing(nanoseconds), out(static_cast<std::size_t>(bytes)),
      in(static_cast<std::size_t>(bytes)) {}

char Lane::expected(int round, int sender, std::size_t i) const {
    return static_cast<char>(number * 31 + round * 7 + sender * 101 + static_cast<int>(i % 251));
}

void Lane::write(int round, bool whole) {
    if (whole) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = expected(round, rank, i);
        }
    }
    out.front() = expected(round, rank, 0);
    out.back() = expected(round, rank, out.size() - 1);
}

bool Lane::check_byte(int round, std::size_t i) {
    const char right = expected(round, 1 - rank, i);
    if (in[i] == right) {
        return true;
    }
    first_wrong = apps::wrong_value("lane " + std::to_string(number) + ", round " + std::to_string(round) + ", byte " +
                                        std::to_string(i) + " of " + std::to_string(in.size()),
                                    static_cast<unsigned char>(in[i]), static_cast<unsigned char>(right));
    return false;
}

void Lane::check(int round, bool whole) {
    if (!first_wrong.empty()) {
        return;
    }
    if (whole) {
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (!check_byte(round, i)) {
                return;
            }
        }
    } else if (check_byte(round, 0)) {
        check_byte(round, in.size() - 1);
    }
    in.front() = static_cast<char>(~in.front()); // a message that does not arrive must not look like the last one
}

} // namespace latency_mt
