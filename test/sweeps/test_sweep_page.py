"""docs/how_to/sweeps.md has every key, outcome and function there is; its commands and its example are real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dyn_nodes.analysis.sweeps.design import KINDS
from dyn_nodes.analysis.sweeps.expression import FUNCTIONS
from dyn_nodes.analysis.sweeps.outcomes import OUTCOMES
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.cli import build_parser
from dyn_nodes.model.schema import keys_of
from dyn_nodes.model.sweep import DesignEntry, FactorEntry, SweepEntries

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'how_to' / 'sweeps.md').read_text()
KEYS = [key.name for record in (SweepEntries, FactorEntry, DesignEntry) for key in keys_of(record)]


@pytest.mark.parametrize('name', [*KEYS, *KINDS, *OUTCOMES, *FUNCTIONS])
def test_the_page_has_every_name(name):
    assert f'`{name}`' in PAGE


def test_the_commands_of_the_page_are_commands():
    lines = [line for block in re.findall(r'```sh\n(.*?)```', PAGE, re.DOTALL) for line in block.splitlines()]
    parsed = [
        build_parser(['sweep']).parse_args(shlex.split(line, comments=True)[1:])
        for line in lines
        if 'nodes sweep' in line
    ]
    assert {arguments.command for arguments in parsed} == {'sweep'}


def test_the_example_of_the_page_is_a_sweep(tmp_path):
    (text,) = re.findall(r'```yaml\n(.*?)```', PAGE, re.DOTALL)
    path = tmp_path / 'sweep.yaml'
    path.write_text(text)
    sweep = load_sweep(path)
    assert sweep.design.runs == 1000
    assert [factor.structural for factor in sweep.factors] == [False, False, False]
