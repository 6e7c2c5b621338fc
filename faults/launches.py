"""Launch files that need unlimited memory, time or processes, or that access the launcher.

Each is evaluated and its arguments are listed, as `dyn-nodes launch` does before it starts anything. It ends in a
description within the budget or in an error of one line, with its file and line, within time and memory.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

from dyn_nodes.middleware.launching import LaunchError, declared_arguments, interpret
from faults.files import Journal
from roslite.launching.budget import MOST_PROCESSES

MOST_MEMORY = 1.0e6
"""Greatest growth of resident memory by a case, KiB."""
NODE = '<node pkg="dyn_nodes" exec="recorder_node"/>'
ELEMENTS: dict[str, str] = {
    'let': '<let name="big" value="{}"/>',
    'arg': '<arg name="other" default="{}"/>',
    'log': '<log message="{}"/>',
    'env': '<set_env name="BIG" value="{}"/>',
    'parameter': '<set_parameter name="big" value="{}"/>',
    'words': '<node pkg="dyn_nodes" exec="recorder_node" args="{}"/>',
    'condition': '<group if="{}"/>',
}
"""Elements with an attribute for a text."""
ODD = (
    '', '-1', '20', '1e9', 'nan', 'true', 'x' * 100, '99999999999999999999999', '\u0663', '$(var _include_depth)', '/',
)  # fmt: skip


def _file(path: Path, *elements: str) -> Path:
    path.write_text(f'<launch>\n{chr(10).join(elements)}\n</launch>\n', encoding='utf-8')
    return path


def _doubled(directory: Path, rng: random.Random) -> Path:
    """Write a variable that grows by the same factor in each line, and is used somewhere."""
    factor = rng.choice((2, 3, 10))
    lines = ['<let name="a" value="xxxxxxxxxx"/>']
    lines += [f'<let name="a" value="{"$(var a)" * factor}"/>'] * rng.choice((30, 100))
    lines.append(rng.choice(list(ELEMENTS.values())).format('$(var a)'))
    return _file(directory / 'a.launch.xml', *lines)


def _many_times(directory: Path, rng: random.Random) -> Path:
    """Write a text of a megabyte that is used often."""
    element = rng.choice(list(ELEMENTS.values())).format('$(var a)' * rng.choice((1, 15)))
    lines = [f'<arg name="a" default={quoteattr("x" * 1_000_000)}/>', *[element] * rng.choice((100, 3000))]
    lines += [NODE] * rng.choice((0, 100))
    return _file(directory / 'a.launch.xml', *lines)


def _fan(directory: Path, rng: random.Random) -> Path:
    """Write files that include the next one several times each."""
    depth, width = rng.choice((5, 19, 40)), rng.choice((2, 4, 50))
    inner = rng.choice((NODE, '<arg name="b" default="1"/>', '<log message="a"/>', ''))
    _file(directory / f'{depth}.launch.xml', inner)
    for k in reversed(range(depth)):
        line = f'<include file="$(dirname)/{k + 1}.launch.xml"/>'
        if rng.random() < 0.3:
            line = f'<group>{line}</group>'
        _file(directory / f'{k}.launch.xml', *[line] * width)
    return directory / '0.launch.xml'


def _circle(directory: Path, rng: random.Random) -> Path:
    """Write a file that includes itself, within groups, with a depth as a variable."""
    groups = rng.choice((0, 1, 30, 90))
    line = rng.choice(('', '<let name="_include_depth" value="0"/>')) + '<include file="$(filename)">'
    line += rng.choice(('', '<arg name="_include_depth" value="0"/>')) + '</include>'
    return _file(directory / 'a.launch.xml', '<group>' * groups + line * rng.choice((1, 3)) + '</group>' * groups)


def _depth(directory: Path, rng: random.Random) -> Path:
    """Write the former name of the include counter, as a variable with any value."""
    _file(directory / 'b.launch.xml', NODE)
    value = rng.choice(ODD)
    name = rng.choice(('_include_depth', 'include_depth', '__depth'))
    return _file(
        directory / 'a.launch.xml',
        f'<arg name="{name}" default={quoteattr("a" if value.startswith("$") else value)}/>',
        '<include file="$(dirname)/b.launch.xml"/>',
    )


def _processes(directory: Path, rng: random.Random) -> Path:
    count = rng.choice((MOST_PROCESSES - 1, MOST_PROCESSES + 1, 20_000))
    return _file(directory / 'a.launch.xml', *[rng.choice((NODE, '<executable cmd="true"/>'))] * count)


def _nested(directory: Path, rng: random.Random) -> Path:
    """Write substitutions within substitutions, groups within groups, one attribute of megabytes."""
    count = rng.choice((20, 49, 200))
    text = rng.choice((
        '$(var a ' * count + 'x' + ')' * count,
        '$(var a)' * rng.choice((10, 400_000)),
        "$(eval '" + '(' * count + '1' + ')' * count + "')",
        'x ' * rng.choice((10, 1_000_000)),
        "$(eval '1' * 100000)",
        '$(env PATH)' * 10_000,
        '$(file-content $(filename))' * 3000,
    ))  # fmt: skip
    element = rng.choice(list(ELEMENTS.values())).format(quoteattr(text)[1:-1])
    return _file(directory / 'a.launch.xml', '<let name="a" value="true"/>', *[element] * rng.choice((1, 100)))


def _groups(directory: Path, rng: random.Random) -> Path:
    """Write many variables, copied by many groups."""
    count = rng.choice((100, 5000))
    lines = [f'<let name="a{k}" value="x"/>' for k in range(count)]
    return _file(directory / 'a.launch.xml', *lines, *['<group><let name="b" value="y"/></group>'] * count)


KINDS: dict[str, Callable[[Path, random.Random], Path]] = {
    'doubled': _doubled,
    'used-often': _many_times,
    'fan': _fan,
    'circle': _circle,
    'depth': _depth,
    'processes': _processes,
    'nested': _nested,
    'groups': _groups,
}


def make(number: int, seed: int, directory: Path) -> tuple[str, Path]:
    """Write a case; equal numbers give equal cases. Return its kind and the launch file."""
    rng = random.Random(f'launch {seed} {number}')
    kind = list(KINDS)[number % len(KINDS)]
    return kind, KINDS[kind](directory, rng)


def examine(path: Path) -> Iterator[str]:
    """Evaluate a launch file; yield the faults."""
    for read in (interpret, declared_arguments):
        try:
            description = read(path)
        except LaunchError as error:
            text = str(error)
            if not text.isprintable() or len(text) > 10_000:
                yield f'{read.__name__}: an error that is no line: {text[:100]!r}'
            if error.path is None or not (error.line or 'bytes, found more' in text):
                yield f'{read.__name__}: an error without file and line: {text[:200]}'
            continue
        if not isinstance(description, list) and len(description.children) > MOST_PROCESSES:
            yield f'{len(description.children)} processes'


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
    journal = Journal(out, MOST_MEMORY)
    for number in range(start, end):
        with tempfile.TemporaryDirectory() as name:
            kind, path = make(number, seed, Path(name))
            journal.enter(number, kind, examine(path))
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
