# SPDX-License-Identifier: BSD-3-Clause
"""What the plot.py of every application needs: reading files, the style of figures, and its commands."""
import argparse
import json
import os
import sys


def fail(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def misfit(value, form, name="the file"):
    """What of a value has not the form; None if all has. A form is str, int, float (which an int fits, too) or list; or a dict of
    the members that are needed; or a list of the one form that all of its items have, of which there is at least one."""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{name} is no object"
        for member, inner in form.items():
            if member not in value:
                return f"{name} has no {member}"
            if why := misfit(value[member], inner, member):
                return why
        return None
    if isinstance(form, list):
        if not isinstance(value, list) or not value:
            return f"{name} is no list, or an empty one"
        return next((why for item in value if (why := misfit(item, form[0], f"an item of {name}"))), None)
    fits = isinstance(value, (int, float) if form is float else form) and not isinstance(value, bool)
    return None if fits else f"{name} is no {form.__name__}"


def load(file, source, form):
    """Reads a JSON file. `source`: what writes such files, for errors. `form`: see misfit()."""
    try:
        with open(file, encoding="utf-8") as text:
            value = json.load(text)
    except (OSError, ValueError) as error:
        fail(f"{file}: {error}")
    if why := misfit(value, form):
        fail(f"{file} is no file of {source}: {why}")
    return value


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
    try:
        figure.savefig(file, facecolor="white")
    except (OSError, ValueError) as error:
        fail(f"{file}: {error}")
    print(file)


class Commands:
    """The commands of a plot.py: each draws or prints what files of one application say."""

    def __init__(self, program, about):
        self.program = program
        self.parser = argparse.ArgumentParser(description=about)
        self.commands = self.parser.add_subparsers(dest="command", required=True)

    def add(self, name, function, about, description, output=None):
        """`function` gets the arguments. `output`: the picture that it writes if there is no -o. Returns the parser, for more options."""
        command = self.commands.add_parser(name, help=about, description=description)
        command.set_defaults(function=function)
        command.add_argument("files", nargs="+")
        if output:
            command.add_argument("-o", "--output", default=output, help=f"figure to write [{output}]")
        return command

    def run(self):
        args = self.parser.parse_args()
        args.function(args)
