"""The log-loader's bus for tests: its files, copies of them with a change, quantities of its work cycle."""

from __future__ import annotations

import shutil
from pathlib import Path

from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.can.mapping_file import load_mapping

CONFIG = Path(__file__).resolve().parents[2] / 'config/can'


def log_loader() -> CanMapping:
    return load_mapping(CONFIG / 'log_loader.yaml')[0]


def changed(folder: Path, file: str, old: str, new: str) -> Path:
    """Return the mapping in a copy of the files with a changed text."""
    for name in ('log_loader.yaml', 'log_loader.dbc'):
        shutil.copy(CONFIG / name, folder / name)
    text = (folder / file).read_text()
    assert text.count(old) >= 1, old
    (folder / file).write_text(text.replace(old, new, 1))
    return folder / 'log_loader.yaml'


def line_with(path: Path, text: str) -> int:
    return next(k for k, line in enumerate(path.read_text().split('\n'), 1) if text in line)


def with_j1939_commands(folder: Path, identifier: int) -> Path:
    """Return the mapping in a copy of the files with commands in a parameter group."""
    marked = identifier | 1 << 31
    path = changed(folder, 'log_loader.dbc', 'BO_ 512 ', f'BO_ {marked} ')
    text = (folder / 'log_loader.dbc').read_text()
    text = text.replace('"GenMsgCycleTime" BO_ 512 ', f'"GenMsgCycleTime" BO_ {marked} ')
    (folder / 'log_loader.dbc').write_text(f'{text}\nBA_ "VFrameFormat" BO_ {marked} 3;\n')
    return path
