"""Library, sweep and dynamics node start from the state that `check` prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_machines import random_mechanism

import dyn_nodes as dn
from dyn_nodes.analysis.sweeps.factors import Case
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import Trials
from dyn_nodes.commands.build_check import checked_start
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.multibody.base_motion import base_coordinates
from dyn_nodes.nodes.dynamics_node import DynamicsNode

pytestmark = pytest.mark.simulated

SAME = 1e-9
"""Of positions at the start from different entry points, m or rad."""
SWEEP = """name: starts
machine: {urdf}
config: {config}
duration: 0.1
step: 0.001
sample_period: 0.05
design: {{kind: latin_hypercube, runs: 1, seed: 1}}
factors:
  stiffness: {{parameter: wheel_stiffness_scale, from: 1.0, to: 1.1}}
outcomes: [overturned]
"""


def trials(folder: Path, urdf: str, config: str) -> Trials:
    file = folder / 'sweep.yaml'
    file.write_text(SWEEP.format(urdf=urdf, config=config))
    return Trials(load_sweep(file))


def check_entry_points(seed: int, folder: Path, make_node) -> None:
    machine = random_mechanism(seed).written(folder)
    urdf, config = machine.sources
    start = checked_start(machine)
    expected = np.array([*base_coordinates('free', start.pose), *start.joints.values()])
    library, count = dn.load(urdf, config), len(expected)
    assert library.posture() == pytest.approx(expected, abs=SAME)
    assert library.plant().x[:count] == pytest.approx(expected, abs=SAME)
    assert trials(folder, urdf, config).start(Case())[1][:count] == pytest.approx(expected, abs=SAME)
    node = make_node(DynamicsNode, machine=urdf, config=config)
    assert node.plant.x[:count] == pytest.approx(expected, abs=SAME)
    for _ in range(200):
        node.plant.advance()
    assert node.plant.x[:count] == pytest.approx(expected, abs=1e-6)


def test_an_oscillating_axle_on_a_slope_starts_everywhere_from_the_same_rest(tmp_path, make_node):
    assert any(random_mechanism(1).slope)
    check_entry_points(1, tmp_path, make_node)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(2, 28))
def test_machines_start_everywhere_from_the_same_rest(seed, tmp_path, make_node):
    check_entry_points(seed, tmp_path, make_node)


def test_a_machine_that_tips_is_rejected_everywhere_with_the_same_words(tmp_path, make_node):
    mechanism = random_mechanism(0)
    mechanism.bodies[-1].mass, mechanism.bodies[-1].com = 2.0 * mechanism.bodies[0].mass, (3.0, 0.0, 0.0)
    machine = mechanism.written(tmp_path)
    urdf, config = machine.sources
    with pytest.raises(NoEquilibriumError, match=r"the machine tips over '\w+' and '\w+'") as first:
        checked_start(machine)
    for start in (
        lambda: dn.load(urdf, config).posture(),
        lambda: dn.load(urdf, config).simulate(0.1),
        lambda: trials(tmp_path, urdf, config).start(Case()),
        lambda: make_node(DynamicsNode, machine=urdf, config=config),
    ):
        with pytest.raises(NoEquilibriumError) as again:
            start()
        assert str(again.value) == str(first.value)


def test_a_machine_that_starts_overturned_is_rejected_everywhere_with_the_same_words(tmp_path, make_node):
    mechanism = random_mechanism(0)
    machine = mechanism.written(tmp_path)
    urdf, config = machine.sources
    text = Path(config).read_text()
    Path(config).write_text(
        text.replace('initial: {', 'initial: {settle: false, base_position: [0, 0, 1], base_roll: 1.5, ')
    )
    with pytest.raises(NoEquilibriumError, match='overturned at the start') as first:
        dn.load(urdf, config).posture()
    with pytest.raises(NoEquilibriumError) as again:
        make_node(DynamicsNode, machine=urdf, config=config)
    assert str(again.value) == str(first.value)
    with pytest.raises(NoEquilibriumError) as again:
        checked_start(dn.load(urdf, config).data)
    assert str(again.value) == str(first.value)
