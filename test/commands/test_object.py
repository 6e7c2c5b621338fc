"""Tests of `dyn-nodes object check`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.cli import main

PLANK = """
box: {size: [1.2, 0.2, 0.03], divisions: [12, 2, 1]}
material: {young_modulus: 1.0e10, poisson_ratio: 0.3, density: 500.0}
grasps:
  rear_left: {position: [-0.6, 0.1, 0.0], size: [0.0, 0.0, 0.03]}
  rear_right: {position: [-0.6, -0.1, 0.0], size: [0.0, 0.0, 0.03]}
  front: {position: [0.6, 0.0, 0.0], size: [0.0, 0.2, 0.03]}
"""


def test_check_prints_frequencies_stiffness_sag_and_residuals(tmp_path, capsys):
    path = tmp_path / 'plank.yaml'
    path.write_text(PLANK)
    assert main(['object', 'check', str(path), '--refine']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'plank: 78 nodes, 24 bricks, 3 grasps, model finite_elements'
    for word in (
        'mass',
        'inertia',
        'free',
        'grasps at rest',
        'stiffness',
        'elements halved',
        'sag by weight',
        'reduced',
    ):
        assert any(line.startswith(f'  {word}') for line in lines), word
    assert any('rear_left - front' in line for line in lines)
    assert main(['object', 'check', str(path), '--json', '--frequencies', '2']) == 0
    facts = json.loads(capsys.readouterr().out)
    weight = np.sum(list(facts['grasp_forces'].values()), axis=0)
    assert weight == pytest.approx([0.0, 0.0, 3.6 * 9.81], abs=1e-6)
    bending = 4.730040745**2 / (2.0 * np.pi) * np.sqrt(1e10 / (12.0 * 500.0)) * 0.03 / 1.2**2
    assert facts['free_frequencies'][0] == pytest.approx(bending, rel=0.03)
    beam = 5.0 * 3.6 * 9.81 / 1.2 * 1.2**4 / (384.0 * 1e10 * 0.2 * 0.03**3 / 12.0)
    assert -facts['sag'][2] == pytest.approx(beam, rel=0.05)
    assert facts['reduced_mass_residual'] < 1e-6
    assert facts['rods']['mass_residual'] < 1e-9


def test_objects_are_read_by_name_and_mistakes_are_reported_in_one_line(tmp_path, capsys):
    assert main(['object', 'check', 'bar', '--frequencies', '0']) == 0
    assert 'left - right: 3333.33 N/m, 1.2 kg' in capsys.readouterr().out
    for arguments, status, part in (
        (['bra'], 1, 'expected a file, or one of bar, plank, plate, triangle'),
        (['bar', '--frequencies', '99'], 2, 'expected 0 to 50'),
        ([str(tmp_path / 'none.yaml')], 1, 'none.yaml'),
    ):
        assert main(['object', 'check', *arguments]) == status
        error = capsys.readouterr().err
        assert part in error
        assert error.count('\n') == 1
