"""A whole number on the command line of a benchmark, and its help."""

from __future__ import annotations

import argparse

from dyn_nodes.commands.option_types import count


def count_of(doc: str | None, name: str, default: int) -> int:
    """Return the only argument of a benchmark, above 0; `--help` prints its docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(name, nargs='?', type=count(1), default=default, help=f'default: {default:,}')
    return int(getattr(parser.parse_args(), name))
