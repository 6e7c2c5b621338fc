"""Draw the picture of the layers: rooms of test/test_layers.py with the words of contributing.md.

python docs/architecture.py docs/images/architecture.svg
"""

from __future__ import annotations

import ast
import html
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH, ROW, GAP, LEFT, BESIDE = 1180, 72, 8, 20, 230
HIDDEN = {'cli', 'entry'}
COLOURS = ('#e8eef4', '#dce8dc', '#f6ecd8', '#f3e2dc', '#e6e0f0')
RIGHT = (
    'common',
    'compile',
    'compile/integrators',
    'simulation/guards',
    'viewer',
    'middleware',
    'runtime',
    'launching',
    'bags',
)


def layers() -> list[list[str]]:
    """Return the rooms of every layer, the lowest first."""
    for statement in ast.parse((ROOT / 'test' / 'test_layers.py').read_text()).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], 'id', '') == 'LAYERS':
            return [sorted(rooms - HIDDEN) for rooms in ast.literal_eval(statement.value)]
    raise ValueError('test/test_layers.py: expected LAYERS')


def words() -> dict[str, str]:
    """Return what contributing.md says of every room."""
    text = (ROOT / 'docs' / 'contributing' / 'index.md').read_text()
    return {room: line.replace('`', '') for room, line in re.findall(r'^  ([\w/]+)/ +(.+)$', text, re.MULTILINE)}


def wrapped(line: str, width: int, most: int = 3) -> list[str]:
    """Return a line in parts of at most so many letters; what does not fit is cut."""
    parts = ['']
    for word in line.split():
        if len(parts[-1]) + len(word) >= width:
            parts.append('')
        parts[-1] = f'{parts[-1]} {word}'.strip()
    return parts if len(parts) <= most else [*parts[: most - 1], parts[most - 1][: width - 4] + ' ...']


def box(x: float, y: float, width: float, height: float, room: str, about: str, colour: str) -> str:
    """Return a room."""
    lines = wrapped(about, int((width - 20) / 5.9))
    text = ''.join(
        f'<text x="{x + 10:.0f}" y="{y + 35 + 14 * k:.0f}" font-size="11" fill="#444">{html.escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    size = min(13.0, (width - 16) / (0.64 * len(room) + 0.64))
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" fill="{colour}" '
        'stroke="#889"/>'
        f'<text x="{x + 10:.0f}" y="{y + 19:.0f}" font-size="{size:.1f}" font-weight="bold" '
        f'fill="#223">{room}/</text>{text}'
    )


def picture() -> str:
    """Return the picture as SVG."""
    about, rows = words(), layers()
    height = len(rows) * (ROW + GAP) + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="14" fill="#223">Higher packages import lower ones.</text>',
    ]
    inner = WIDTH - 2 * LEFT - BESIDE - GAP
    for level, rooms in enumerate(rows):
        y = 40 + (len(rows) - 1 - level) * (ROW + GAP)
        width = (inner - GAP * (len(rooms) - 1)) / len(rooms)
        for k, room in enumerate(rooms):
            colour = COLOURS[level % len(COLOURS)]
            parts.append(box(LEFT + k * (width + GAP), y, width, ROW, room, about.get(room, ''), colour))
    x, step = WIDTH - LEFT - BESIDE, len(rows) * (ROW + GAP) / len(RIGHT)
    for k, room in enumerate(RIGHT):
        parts.append(box(x, 40 + k * step, BESIDE, step - GAP, room, about.get(room, ''), '#f4f4f4'))
    return ''.join([*parts, '</svg>\n'])


if __name__ == '__main__':
    Path(sys.argv[1]).write_text(picture(), encoding='utf-8')
