# SPDX-License-Identifier: BSD-3-Clause
"""Draws how long the helper thread sleeps between polls, from the constants in src/core/progress/helper_pauses.hpp."""

import math
import re
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 300, 80, 30, 30, 60
FIRST, LAST = 1e-5, 100.0  # seconds on the horizontal axis
LEAST, MOST = 0.5e-6, 100e-6  # seconds on the vertical axis
TIMES = ((1e-5, "10 us"), (1e-4, "100 us"), (1e-3, "1 ms"), (1e-2, "10 ms"), (0.1, "100 ms"),
         (1, "1 s"), (10, "10 s"), (100, "100 s"))
SLEEPS = ((1e-6, "1 us"), (1e-5, "10 us"), (5e-5, "50 us"))


def constants(root):
    text = (Path(root) / "src/core/progress/helper_pauses.hpp").read_text()
    names = ("shortest", "longest", "spins_until", "adjusted_until", "target_percent")
    return {name: int(re.search(rf"nanoseconds {name} = (\d+);", text).group(1)) for name in names}


def x_of(seconds):
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(seconds / FIRST) / math.log(LAST / FIRST)


def y_of(seconds):
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - math.log(seconds / LEAST) / math.log(MOST / LEAST))


def draw(root):
    """The SVG."""
    value = constants(root)
    shortest, longest, spins_until, adjusted_until = (
        value[name] * 1e-9 for name in ("shortest", "longest", "spins_until", "adjusted_until"))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
             'font-family="sans-serif" font-size="12">',
             "<title>How long the helper thread sleeps between polls</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']

    def text(x, y, words, anchor="middle"):
        lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{words}</text>')

    def box(t0, t1, low, high, colour):
        lines.append(f'<rect x="{x_of(t0):.1f}" y="{y_of(high):.1f}" width="{x_of(t1) - x_of(t0):.1f}" '
                     f'height="{y_of(low) - y_of(high):.1f}" fill="{colour}"/>')

    def line(t0, s0, t1, s1, colour, width):
        lines.append(f'<line x1="{x_of(t0):.1f}" y1="{y_of(s0):.1f}" x2="{x_of(t1):.1f}" y2="{y_of(s1):.1f}" '
                     f'stroke="{colour}" stroke-width="{width}"/>')

    for time, label in TIMES:
        line(time, LEAST, time, MOST, "#e5e5e5", 1)
        text(x_of(time), HEIGHT - BOTTOM + 18, label)
    for sleep, label in SLEEPS:
        line(FIRST, sleep, LAST, sleep, "#e5e5e5", 1)
        text(LEFT - 8, y_of(sleep) + 4, label, "end")
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "time since the last completion")
    text(LEFT - 8, TOP - 12, "sleep", "end")
    box(FIRST, spins_until, LEAST, MOST, "#fbe3c0")
    text(x_of(math.sqrt(FIRST * spins_until)), y_of(7e-6), "spins, no sleep")
    text(x_of(math.sqrt(FIRST * spins_until)), y_of(7e-6) + 15, "(if it is alone on its processor)")
    box(spins_until, adjusted_until, shortest, longest, "#cfe3f5")
    text(x_of(math.sqrt(spins_until * adjusted_until)), y_of(7e-6), f"as long as {value['target_percent']} % of a processor allow")
    text(x_of(math.sqrt(spins_until * adjusted_until)), y_of(7e-6) + 15, "(the cost of a sleep is measured)")
    line(adjusted_until, longest, LAST, longest, "#2b6cb0", 3)
    return "\n".join([*lines, "</svg>"]) + "\n"
