# SPDX-License-Identifier: BSD-3-Clause
"""What the plot.py of every application needs: reading files, and the style of figures."""
import json
import sys


def fail(message):
    sys.exit("plot.py: " + message)


def load(file):
    try:
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError) as error:
        fail(f"{file}: {error}")


def figures():
    """Imports matplotlib and sets its style. It is imported here so that `table` works without it."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        fail(f"{error}; install matplotlib (Debian: python3-matplotlib)")
    matplotlib.rcParams.update({
        "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "savefig.dpi": 130,
    })
    return matplotlib, pyplot


def save(figure, file):
    figure.savefig(file, facecolor="white")
    print(file)
