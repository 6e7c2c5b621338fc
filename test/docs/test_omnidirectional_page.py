"""The commands of the page on omnidirectional vehicles do what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dyn_nodes import cli
from dyn_nodes.analysis.omni_config import load_omni_machine
from dyn_nodes.cli import build_parser

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'how_to' / 'omnidirectional_design.md'
BLOCK = re.compile(r'(?:<!-- test: (\w+) -->\n)?```sh\n(.*?)```', re.DOTALL)
LINES = [(mark, line) for mark, text in BLOCK.findall(PAGE.read_text()) for line in text.splitlines()]
BROWSER, STUDY = 'dyn-nodes study view', 'dyn-nodes study run'


def quoted() -> str:
    """What the page quotes, on one line."""
    return ' '.join(line.removeprefix('>').strip() for line in PAGE.read_text().splitlines() if line.startswith('>'))


def test_the_commands_of_the_page_run_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for mark, line in LINES:
        if line.startswith((BROWSER, STUDY)):
            build_parser().parse_args(shlex.split(line)[1:])  # tested elsewhere
        elif line.startswith('dyn-nodes '):
            status = cli.main(shlex.split(line)[1:])
            printed = capsys.readouterr()
            assert status == (1 if mark == 'fails' else 0), f'{line}\n{printed.err}'
            if mark == 'fails':
                assert printed.err.strip().removeprefix('dyn-nodes: ') == quoted()
        else:
            subprocess.run(['bash', '-c', line], check=True, timeout=10)
    for name in ('omni_six_wheels.png', 'isotropic_four.png', 'mine.yaml', 'torques.csv'):
        assert (tmp_path / name).is_file()


def test_the_vehicle_of_the_page_is_one(tmp_path):
    (text,) = re.findall(r'```yaml\n(.*?)```', PAGE.read_text(), re.DOTALL)
    file = tmp_path / 'vehicle.yaml'
    file.write_text(text)
    machine = load_omni_machine(file)
    assert machine.wheels == ('front', 'left', 'right')
    assert machine.vehicle.total_mass == pytest.approx(38.0)
