// SPDX-License-Identifier: BSD-3-Clause
// The reader checks each count of the header against the size of the file before it allocates memory.
#include "pgm.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace heat {
namespace {

class Reader {
public:
    Reader(std::string_view bytes, std::string_view file) : rest(bytes), name(file) {}

    [[noreturn]] void fail(const std::string &why) const { throw PictureError(std::string(name) + ": " + why); }

    // The next number in text form, after white space and comments.
    long number(const char *what) {
        skip_space();
        long value = 0;
        std::size_t digits = 0;
        for (; digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])); ++digits) {
            value = value * 10 + (rest[digits] - '0');
            if (value > 1'000'000'000) {
                fail(std::string(what) + " is too large");
            }
        }
        if (digits == 0) {
            if (rest.empty()) {
                fail(std::string("the file ends where ") + what + " should be");
            }
            fail(std::string(what) + " is not a number");
        }
        rest.remove_prefix(digits);
        return value;
    }

    std::string_view rest;

private:
    void skip_space() {
        while (!rest.empty()) {
            if (rest.front() == '#') {
                rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
            } else if (std::isspace(static_cast<unsigned char>(rest.front()))) {
                rest.remove_prefix(1);
            } else {
                return;
            }
        }
    }

    std::string_view name;
};

} // namespace

Picture parse_pgm(std::string_view bytes, std::string_view name) {
    Reader in(bytes, name);
    if (!bytes.starts_with("P2") && !bytes.starts_with("P5")) {
        in.fail("not a PGM picture: it must start with P2 or P5; most tools convert, for example "
                "'magick picture.png picture.pgm'");
    }
    const bool plain = bytes[1] == '2';
    in.rest.remove_prefix(2);

    Picture p;
    const long width = in.number("the width"), height = in.number("the height"), white = in.number("the maximal value");
    if (width < 1 || height < 1) {
        in.fail("the picture is empty");
    }
    if (white < 1 || white > 65535) {
        in.fail("the maximal value is " + std::to_string(white) + "; it lies between 1 and 65535");
    }
    const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    const std::size_t sample = white > 255 ? 2 : 1;

    if (plain) {
        // Each pixel takes at least one digit and one separator.
        if (pixels > (in.rest.size() + 1) / 2) {
            in.fail("the file is too short for " + std::to_string(pixels) + " pixels");
        }
    } else {
        if (in.rest.empty() || !std::isspace(static_cast<unsigned char>(in.rest.front()))) {
            in.fail("one white space must follow the maximal value");
        }
        in.rest.remove_prefix(1);
        if (in.rest.size() / sample < pixels) {
            in.fail("the file is too short: " + std::to_string(pixels * sample) + " bytes of pixels expected, " +
                    std::to_string(in.rest.size()) + " found");
        }
    }
    p.width = static_cast<int>(width);
    p.height = static_cast<int>(height);
    p.grey.resize(pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
        long value;
        if (plain) {
            value = in.number("a pixel");
        } else {
            const auto byte = [&](std::size_t at) {
                return static_cast<long>(static_cast<unsigned char>(in.rest[at]));
            };
            value = sample == 2 ? byte(2 * i) << 8 | byte(2 * i + 1) : byte(i);
        }
        if (value > white) {
            in.fail("pixel " + std::to_string(i) + " is " + std::to_string(value) + ", above the maximal value " +
                    std::to_string(white));
        }
        p.grey[i] = static_cast<float>(value) / static_cast<float>(white);
    }
    return p;
}

double Picture::at(double x, double y) const {
    const double px = std::clamp(x * width - 0.5, 0.0, width - 1.0);
    const double py = std::clamp(y * height - 0.5, 0.0, height - 1.0);
    const int x0 = static_cast<int>(px), y0 = static_cast<int>(py);
    const int x1 = std::min(x0 + 1, width - 1), y1 = std::min(y0 + 1, height - 1);
    const double fx = px - x0, fy = py - y0;
    const auto pixel = [&](int col, int row) {
        return static_cast<double>(
            grey[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(col)]);
    };
    return (pixel(x0, y0) * (1 - fx) + pixel(x1, y0) * fx) * (1 - fy) +
           (pixel(x0, y1) * (1 - fx) + pixel(x1, y1) * fx) * fy;
}

} // namespace heat
