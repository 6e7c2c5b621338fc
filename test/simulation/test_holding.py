"""Servos hold joints, also on machines that stand on these joints."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest
from standing_machines import CORNERS, joint, legged_box, link, loaded, slider_box

from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.spatial import entries
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.initial import settle, statics_functions
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.simulation.system import System

FRICTION = ('none', 'lugre', 'karnopp')
BOXES = [
    *itertools.product(('planar', 'free'), (0, 1, 2), FRICTION),
    *itertools.product(('fixed',), (1, 2), FRICTION),
]


@pytest.mark.parametrize(('attachment', 'sliders', 'friction'), BOXES)
def test_the_statics_kernel_fills_exactly_the_buffers_of_the_equilibrium_search(
    tmp_path, attachment, sliders, friction
):
    machine = slider_box(tmp_path, attachment, sliders, friction)
    functions, meta = statics_functions(machine)
    free, deflections = len(meta['free']), len(meta['deflections'])
    sizes = [functions['statics'].size_out(k) for k in range(4)]
    assert sizes == [(meta['nv'], 1), (free * free, 1), (free * deflections, 1), (len(meta['used']), 1)]


@pytest.mark.parametrize(('attachment', 'sliders', 'friction'), BOXES)
def test_no_expression_selects_an_empty_row_from_a_single_number(tmp_path, monkeypatch, attachment, sliders, friction):
    """`x[[]]` of a column with one row is (1, 0), which `vertcat` counts as a row."""
    take = ca.SX.__getitem__

    def checked(self, key):
        result = take(self, key)
        assert not (self.shape == (1, 1) and result.shape == (1, 0)), 'an empty index of one number'
        return result

    machine = slider_box(tmp_path, attachment, sliders, friction)
    monkeypatch.setattr(ca.SX, '__getitem__', checked)
    plant = Assembly(machine, 'effort')
    assert plant.rhs.shape == (len(plant.states.names), 1)
    names, outputs = traced_outputs(plant)
    assert outputs.shape == (len(names), 1)
    statics_functions(machine)


def test_entries_of_a_column_are_a_column():
    for rows, indices in ((0, []), (1, []), (2, []), (1, [0]), (3, [2, 0]), (1, slice(1, 1)), (3, slice(0, 2))):
        column = ca.SX.sym('x', rows)
        count = len(indices) if isinstance(indices, list) else len(range(rows)[indices])
        assert entries(column, indices).shape == (count, 1)


def test_a_box_on_feet_with_one_slider_comes_to_rest(tmp_path):
    plant = Plant(slider_box(tmp_path), 'effort', 0.002, 0.001)
    rest = plant.x.copy()
    advance_held(plant, 0.2)
    np.testing.assert_allclose(plant.x, rest, atol=1e-6)


def advance_held(plant: Plant, duration: float, target: np.ndarray | None = None) -> None:
    """Advance with the joints held by the servo, like dynamics_node."""
    target = plant.positions.copy() if target is None else target
    for _ in range(round(duration / plant.period)):
        plant.set_efforts(plant.servo_efforts(target, np.zeros(len(plant.joints))))
        plant.advance()


@pytest.fixture(scope='module')
def legged(tmp_path_factory) -> Machine:
    return legged_box(tmp_path_factory.mktemp('legged'))


def test_a_machine_on_legs_rests_on_held_joints(legged):
    plant = Plant(legged, 'effort', 0.002, 0.001)
    rest, held = plant.x.copy(), plant.positions.copy()
    np.testing.assert_allclose(plant.holding_efforts(), plant.u, atol=1e-5 * np.abs(plant.u).max())
    assert np.abs(plant.u).max() > 4.5  # the knees carry it: N m
    advance_held(plant, 2.0)
    assert not plant.overturned
    np.testing.assert_allclose(plant.positions, held, atol=1e-6)
    np.testing.assert_allclose(plant.x[:7], rest[:7], atol=1e-6)


def test_held_legs_carry_a_machine_that_is_pushed(legged):
    """After an impulse on the base, the joints deflect little, and the base rocks on its feet and returns."""
    plant = Plant(legged, 'effort', 0.002, 0.0005)
    height, held = plant.x[2], plant.positions.copy()
    plant.x[plant.system.nq + 3] += 0.2  # m/s of the base, forward
    plant.forget_command()
    worst = 0.0
    for _ in range(100):
        advance_held(plant, 0.01, held)
        worst = max(worst, np.abs(plant.positions - held).max())
    assert worst < 0.01
    np.testing.assert_allclose(plant.positions, held, atol=1e-4)
    assert plant.x[2] == pytest.approx(height, abs=2e-4)
    assert not plant.overturned


def test_legs_follow_a_target_with_the_bandwidth_of_the_servo(legged):
    """The machine crouches: e'' + 2 wn e' + wn^2 e = 0, although its feet are on the ground."""
    plant = Plant(legged, 'effort', 0.001, 0.0005)
    start = plant.positions.copy()
    target = start + 0.02 * np.sign(start)
    follows = 0.0
    for k in range(100):
        advance_held(plant, plant.period, target)
        t = 40.0 * plant.period * (k + 1)
        follows = 0.02 * (1.0 - (1.0 + t) * np.exp(-t))
        np.testing.assert_allclose(plant.positions - start, follows * np.sign(start), atol=1.5e-3)
    assert follows > 0.018


def test_a_servo_moves_to_the_end_of_the_range_without_force_on_the_stop(tmp_path):
    plant = Plant(slider_box(tmp_path), 'effort', 0.002, 0.0005, values={'joint_stop_scale': 1.0})
    target = np.array([0.35])  # the limit is 0.3
    for _ in range(20):
        advance_held(plant, 0.1, target)
    assert plant.positions[0] == pytest.approx(0.3, abs=1e-9)
    assert abs(plant.efforts[0]) < 1.0  # the linear law alone would press with several hundred N


def test_an_undriven_hook_hangs_at_the_start(tmp_path):
    """Its link starts inclined; effort 0 makes the joint passive."""
    elements = [link('box', 100.0, 5.0), link('hook', 5.0, 0.1)]
    elements[1] = elements[1].replace('<inertial>', '<inertial><origin xyz="0 0 -0.5"/>')
    swing = joint('swing', 'revolute', 'box', 'hook', (0.3, 0, 1.0), '0 1 0').replace('effort="1e4"', 'effort="0"')
    elements.append(swing.replace('<origin xyz="0.3 0 1.0"/>', '<origin xyz="0.3 0 1.0" rpy="0 0.4 0"/>'))
    config = 'base: {link: box, attachment: free}\ndefaults: {wheel: {stiffness: 5.0e+4, damping: 1000.0}}\nwheels:\n'
    for name, (x, y) in CORNERS.items():
        config += f'  {name}: {{link: box, position: [{0.5 * x}, {0.4 * y}, 0.0], free_length: 0.3}}\n'
    machine = loaded(tmp_path, 'hook', [*elements], config)
    rest = settle(System(machine, 'effort'), System(machine, 'effort').parameters())
    assert rest.joints[0] == pytest.approx(-0.4 - rest.pose[4], abs=1e-9)
    assert abs(rest.holding[-1]) < 1e-6
