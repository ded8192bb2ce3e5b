#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws thence.pgm, the grey-scale picture that picture.cfg starts from (binary PGM, 320 x 200 pixels, 8 bits)."""
import argparse
import math

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.patches import Circle, Polygon

WIDTH, HEIGHT = 320, 200


def draw():
    figure = pyplot.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    axes = figure.add_axes([0, 0, 1, 1], xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.axis("off")
    # A sky that grows warmer towards the horizon, a sun with rays, two ridges and the name.
    for y in range(HEIGHT):
        axes.axhspan(y, y + 1, color=str(0.10 + 0.32 * (1 - y / HEIGHT)), lw=0)
    sun = (236, 92)
    for ray in range(24):
        angle = math.tau * ray / 24
        length = 74 if ray % 2 else 58
        tip = [(sun[0] + r * math.cos(angle + a), sun[1] + r * math.sin(angle + a)) for r, a in ((36, -0.05), (length, 0), (36, 0.05))]
        axes.add_patch(Polygon(tip, color="0.75", lw=0))
    axes.add_patch(Circle(sun, 31, color="1.0", lw=0))
    for base, height, shade, phase in ((58, 26, "0.22", 0.4), (34, 20, "0.05", 2.1)):
        ridge = [(x, base + height * (0.6 * math.sin(x / 31 + phase) + 0.4 * math.sin(x / 13 + 2 * phase))) for x in range(WIDTH + 1)]
        axes.add_patch(Polygon([(0, 0), *ridge, (WIDTH, 0)], color=shade, lw=0))
    axes.text(16, 118, "thence", color="0.95", fontsize=34, fontweight="bold", family="DejaVu Sans")
    figure.canvas.draw()
    return bytes(figure.canvas.buffer_rgba())[::4]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default="thence.pgm")
    file = parser.parse_args().file
    grey = draw()
    assert len(grey) == WIDTH * HEIGHT
    with open(file, "wb") as out:
        out.write(b"P5\n# drawn by make_picture.py\n%d %d\n255\n" % (WIDTH, HEIGHT) + grey)


if __name__ == "__main__":
    main()
