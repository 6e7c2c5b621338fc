"""Examples and notebooks run, in one process, with the documented results."""

from __future__ import annotations

import importlib.util
import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.timeout(900)  # the first user compiles the kernels of a machine
EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
NOTEBOOKS = EXAMPLES / 'notebooks'
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob('*.py'))
SMALL = {
    'forward_dynamics_batch': {'count': 50},
    'margins_over_a_posture': {'swings': 3, 'reaches': 2},
    'kernel_in_numba': {'count': 2000},
    'payload_chart': {'reach_step': 3.0, 'swing_step': 90.0},
    'sweep': {'payloads': (3000.0, 5000.0), 'slopes': (4.0,)},
    'governor_in_a_loop': {'duration': 5.0, 'period': 0.05},
}
HOLDS = {
    'forward_dynamics_batch': lambda error: error < 1e-10,
    'margins_over_a_posture': lambda table: table.shape == (2, 3) and table[-1, 0] < table[0, 1],
    'tip_over': lambda run: run.status == 'done' and np.degrees(run.tilt.max()) == pytest.approx(8.55, abs=0.05),
    'linear_model': lambda model: len(model.poles) == 35 and len(model.input_names) == 3,
    'kernel_in_numba': lambda drift: drift < 1e-3,
    'c_source': lambda difference: difference < 1e-12,
    'payload_chart': lambda safe: (np.diff(safe, axis=1) < 0).all() and (safe[1] < safe[0]).all(),
    'sweep': lambda tilts: np.degrees(tilts[0, 0]) < 2.0 and np.degrees(tilts[0, 1]) > 60.0,
    'read_a_bag': lambda bag: bag.shape == (101, 2) and (np.diff(bag[:, 0]) > 0).all(),
    'governor_in_a_loop': lambda tilts: tilts[0] < tilts[1],
    'admissible_reactions': lambda spared: spared[0] > 2e4 and spared[-1] < 0 and (np.diff(spared) < 0).all(),
    'load_and_look': lambda nothing: nothing is None,
}


@pytest.mark.parametrize('name', SCRIPTS)
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(EXAMPLES / f'{name}.py'))['main']
    assert HOLDS[name](main(**SMALL.get(name, {})))
    assert len(capsys.readouterr().out.splitlines()) >= 1


def test_examples_are_short_and_listed():
    page = (EXAMPLES / 'README.md').read_text()
    for path in [*EXAMPLES.glob('*.py'), *NOTEBOOKS.glob('*.ipynb')]:
        assert f'({path.relative_to(EXAMPLES)})' in page, path
    for name in SCRIPTS:
        lines = (EXAMPLES / f'{name}.py').read_text().splitlines()
        assert 12 <= len(lines) <= 40, f'{name}: {len(lines)} lines'


@pytest.fixture(scope='module')
def runner():
    spec = importlib.util.spec_from_file_location('notebook_runner', NOTEBOOKS / 'run.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize('path', sorted(NOTEBOOKS.glob('*.ipynb')), ids=lambda path: path.stem)
def test_notebook(path, runner, tmp_path):
    """Every cell runs, and cells with output have output of the same kind."""
    pytest.importorskip('pandas')
    if shutil.which('sed') is None:
        pytest.skip('cells of a shell')
    notebook = json.loads(path.read_text(encoding='utf-8'))
    assert notebook['nbformat'] == 4
    outputs = runner.run_notebook(notebook, tmp_path)
    for cell, printed in zip(notebook['cells'], outputs):
        kept = [(output['output_type'], sorted(output.get('data', {}))) for output in cell.get('outputs', [])]
        assert kept == [(output['output_type'], sorted(output.get('data', {}))) for output in printed], ''.join(
            cell['source']
        )


def test_the_text_of_the_tip_over_notebook_agrees_with_its_figures():
    text = (NOTEBOOKS / 'tip_over_study.ipynb').read_text(encoding='utf-8')
    printed = ''.join(
        ''.join(output['text'])
        for cell in json.loads(text)['cells']
        for output in cell.get('outputs', [])
        if output['output_type'] == 'stream'
    )
    assert 'peak of 8.55 degrees' in printed
    assert '+0.2 s: up to' in printed
    assert '+0.3 s: overturned' in printed
