#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures from the files that amr writes: the mesh over time, and timelines. Needs matplotlib."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import Commands, fail, figures, load, save
import timeline

LEVELS = ["#dfe8f2", "#a9c4de", "#6c9bc6", "#3a6ea5", "#1f4a7a", "#122f52", "#0a1c33", "#050e1a", "#02060c"]
RANKS = ["#d1495b", "#e4a84c", "#3f9c6b", "#8a3ffc", "#9d7660", "#2f6da8", "#b5638d", "#7f7f7f"]
FORM = {"roots": [int], "levels": int, "block_fields": [str], "blocks": [list]}
FIELDS = ["step", "level", "x", "y", "z", "rank"]


def load_meshes(file):
    data = load(file, "amr --mesh", FORM)
    if data["block_fields"] != FIELDS or len(data["roots"]) != 3 or not 0 <= data["levels"] < len(LEVELS):
        fail(f"{file} is no file of amr --mesh: the fields of a block are {', '.join(data['block_fields'])}")
    if any(len(b) != len(FIELDS) or any(type(v) is not int for v in b) or not 0 <= b[1] <= data["levels"] for b in data["blocks"]):
        fail(f"{file} is no file of amr --mesh: a block is no list of {len(FIELDS)} numbers")
    return data


def draw_slice(axes, data, step, height, rectangle):
    """The blocks that a plane of constant z cuts: colour by level, outline where the rank changes."""
    roots = data["roots"]
    owners = sorted({b[5] for b in data["blocks"]})
    for _, level, x, y, z, rank in (b for b in data["blocks"] if b[0] == step):
        size = [1 / (n << level) for n in roots]
        if not z * size[2] <= height < (z + 1) * size[2]:
            continue
        axes.add_patch(rectangle((x * size[0], y * size[1]), size[0], size[1], facecolor=LEVELS[level], edgecolor="white", linewidth=0.5))
        if len(owners) > 1:
            axes.plot((x + 0.5) * size[0], (y + 0.5) * size[1], ".", color=RANKS[rank % len(RANKS)], ms=3)
    axes.set_title(f"step {step}")
    axes.set_aspect("equal")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xticks([])
    axes.set_yticks([])


def command_mesh(args):
    if len(args.files) > 1:
        fail("mesh draws one file")
    data = load_meshes(args.files[0])
    _, pyplot = figures()
    from matplotlib.patches import Patch, Rectangle
    steps = sorted({b[0] for b in data["blocks"]})
    count = min(4, len(steps))
    chosen = [steps[i * (len(steps) - 1) // max(1, count - 1)] for i in range(count)]
    figure, panels = pyplot.subplots(1, count + 1, figsize=(3 * count + 4, 3.4), gridspec_kw={"width_ratios": [3] * count + [4]})
    for axes, step in zip(panels, chosen):
        draw_slice(axes, data, step, args.height, Rectangle)
    present = sorted({b[1] for b in data["blocks"]})
    counts = {level: [sum(1 for b in data["blocks"] if b[0] == step and b[1] == level) for step in steps] for level in present}
    panels[-1].stackplot(steps, *counts.values(), colors=[LEVELS[level] for level in present], step="post" if len(steps) > 1 else None)
    panels[-1].set_title("blocks of each level")
    panels[-1].set_xlabel("step")
    figure.legend(handles=[Patch(facecolor=LEVELS[level], edgecolor="#7f7f7f", label=f"level {level}") for level in present], loc="lower center",
                  ncol=len(present))
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(figure, args.output)


def main():
    commands = Commands("amr", __doc__)
    mesh = commands.add("mesh", command_mesh, "blocks and their levels over time", "Slices through the mesh at several steps, with a dot of the "
                        "rank's colour in each block, and how many blocks each level has (amr --mesh).", "mesh.png")
    mesh.add_argument("--height", type=float, default=0.25, help="z of the slice, from 0 to 1 [0.25]")
    timeline.add_to(commands, "three stages")
    commands.run()


if __name__ == "__main__":
    main()
