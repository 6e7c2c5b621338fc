"""Damping, springs, dry friction and stops of joints, in trees and with constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from joint_machines import INERTIA, LENGTH, MASS, Part, machine_of

from dyn_nodes.model import load_machine_report
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings, System, initial_state
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.constrained_machine import constrained_machine

ABOUT_PIN = MASS * LENGTH**2 + INERTIA
GRAVITY = 9.81
NO_WEIGHT = 'gravity: 0\n'
LOCKED_FLAP = 'joints:\n  flap: {class: pseudo}\n'
FLAP = Part('flap', axis='0 0 1', com='0.1 0 0')
"""A body on the fixed base: a lock of its joint adds a constraint without effect on the machine."""


def constrained_accelerations(machine, q, v, numbers=None):
    """Return the accelerations of a machine with constraints at joint positions and rates, without drive efforts."""
    at = constrained_machine(machine).system.blocks.at(q, v, numbers)
    n, m = len(q), len(at.gamma)
    saddle = np.block([[at.M, -at.J.T], [at.J, np.zeros((m, m))]])
    return np.linalg.solve(saddle, np.concatenate([-at.h, at.gamma]))[:n]


def test_damping_of_the_urdf_acts_beside_constraints(tmp_path):
    """Two geared joints with damping 5 at a rate of 1: both efforts decelerate both bodies."""
    parts = [Part('left', dynamics='damping="5"'), Part('right', origin='0 1 0', dynamics='damping="5"')]
    keys = NO_WEIGHT + 'constraints:\n  gear: {kind: coupling, coefficients: {left: 1, right: -1}}\n'
    accelerations = constrained_accelerations(machine_of(tmp_path, parts, keys), [0.1, 0.1], [1.0, 1.0])
    assert accelerations == pytest.approx([-10.0 / (2 * ABOUT_PIN)] * 2, rel=1e-12)


def test_a_lock_elsewhere_changes_no_acceleration(tmp_path):
    """Spring, damping, friction and stop of a double pendulum act equally in a tree and with a constraint."""
    parts = [
        Part('upper', dynamics='damping="0.3" friction="0.5"', limits='lower="-0.2" upper="0.2"'),
        Part('lower', parent='upper_link', origin='0 0 -1', dynamics='damping="0.1" friction="0.2"'),
        FLAP,
    ]
    spring = '  lower: {class: flexible, stiffness: 30, damping: 0.4, rest: 0.1}\n'
    plant = Assembly(machine_of(tmp_path, parts, 'joints:\n' + spring), 'effort')
    q, v = [0.3, -0.4, 0.0], [1.5, -0.7, 0.0]
    deflections = {'upper/friction_deflection': 1e-4, 'lower/friction_deflection': -2e-5}
    values = dict(zip(plant.states.names, [*q, *v])) | deflections
    p = plant.default_parameters()
    p[plant.parameters.names.index('joint_stop_scale')] = 1.0
    evaluate = ca.Function('accelerations', [plant.x, plant.u, plant.p], [plant.accelerations])
    expected = np.array(evaluate([values[name] for name in plant.states.names], 0, p)).ravel()
    held = machine_of(tmp_path, parts, LOCKED_FLAP + spring)
    accelerations = constrained_accelerations(held, q, v, deflections | {'joint_stop_scale': 1.0})
    assert accelerations == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert np.abs(expected[:2]).min() > 1.0


START = 'initial: {joint_positions: {swing: 0.4}}\n'
SWING = Part('swing', dynamics='damping="0.01" friction="0.15"')


class Swing:
    """Physical pendulum about the y axis, as a tree or with a constraint, released at rest at 0.4 rad."""

    def __init__(self, directory, constrained):
        self.machine = machine_of(directory, [SWING, FLAP], (LOCKED_FLAP if constrained else '') + START)
        self.constrained = constrained_machine(self.machine) if constrained else None
        self.system = None if constrained else System(self.machine, 'effort', audit=True)

    @property
    def start(self):
        x0 = np.zeros(len(self.system.state_names))
        x0[0] = 0.4
        return x0

    def run(self, friction, duration, step=1e-3, spacing=1e-3, **settings):
        times = np.arange(round(duration / spacing) + 1) * spacing
        if self.constrained is not None:
            at = self.constrained
            return at.system.run(at.x, times, p={'swing/friction': friction}, settings=Settings(step=step))
        p = self.system.parameters({'swing/friction': friction})
        return self.system.run(self.start, times, Inputs.constant(), p, Settings(step=step, **settings))

    def motion(self, friction, duration, **options):
        """Return times, angle and rate."""
        run = self.run(friction, duration, **options)
        assert run.status == 'done'
        if self.constrained is not None:
            return run.times, run.position('swing'), run.velocity('swing')
        return run.times, run.state('swing'), run.state('swing_rate')


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    return Swing(tmp_path_factory.mktemp('tree'), False)


@pytest.fixture(scope='module', params=['tree', 'constrained'])
def swing(request, tmp_path_factory):
    if request.param == 'tree':
        return request.getfixturevalue('tree')
    return Swing(tmp_path_factory.mktemp('constrained'), True)


def test_a_pendulum_with_dry_friction_loses_its_closed_form_every_half_swing(swing):
    """From one turning point a to the next, b: m g l (cos b - cos a) = F (a + b)."""
    friction = 0.15
    times, angle, rate = swing.motion(friction, 6.0)
    turns = [0.4, *np.abs(angle[1:][(rate[1:] * rate[:-1] < 0) & (times[1:] > 0.1)])]
    assert len(turns) > 6
    for k in range(5):
        before, after = turns[k], turns[k + 1]
        lost = MASS * GRAVITY * LENGTH * (np.cos(after) - np.cos(before))
        # dissipation of the damper of 0.01 along a nearly sinusoidal swing
        damped = 0.01 * np.pi / 2 * np.sqrt(MASS * GRAVITY * LENGTH / ABOUT_PIN) * ((before + after) / 2) ** 2
        assert lost == pytest.approx(friction * (before + after) + damped, rel=6e-3)


def test_a_joint_whose_friction_exceeds_its_load_stays_where_it_is(swing):
    """It sticks without creep: after a short transient it stays at rest."""
    load = MASS * GRAVITY * LENGTH * np.sin(0.4)
    _, angle, rate = swing.motion(1.05 * load, 10.0)
    assert np.abs(angle - 0.4).max() < 1e-3
    assert np.ptp(angle[2000:]) < 1e-12
    assert np.abs(rate[2000:]).max() < 1e-12
    _, angle, _ = swing.motion(0.95 * load, 1.0)
    assert angle[-1] < 0.36


def test_energy_of_friction_is_heat_and_the_spring_before_the_foot(tmp_path):
    """In the balance of a constrained run, dissipation of friction, damping and stops is heat."""
    parts = [
        Part('left', dynamics='damping="0.05" friction="0.4"'),
        Part('right', origin='0 1 0', dynamics='friction="0.2"', limits='lower="-0.3" upper="0.3"'),
    ]
    keys = 'constraints:\n  gear: {kind: coupling, coefficients: {left: 1, right: -1}}\n'
    keys += 'initial: {joint_positions: {left: 0.25, right: 0.25}}\n'
    at = constrained_machine(machine_of(tmp_path, parts, keys))
    run = at.system.run(at.x, np.linspace(0, 3, 301), p={'joint_stop_scale': 1.0}, settings=Settings(step=2e-4))
    assert run.heat[-1] > 0.5
    assert np.abs(run.energy_balance).max() < 1e-8 * run.heat[-1]
    assert np.diff(run.heat).min() >= 0.0
    assert np.abs(run.position('left') - run.position('right')).max() < 1e-12


def test_friction_work_equals_the_energy_loss_of_a_tree(tree):
    """In an audited run, the energy loss equals the work of friction and damper on the body."""
    run = tree.run(0.3, 3.0, step=5e-4)
    energy = run.output('kinetic_energy') + run.output('potential_energy')
    work = run.state('work_actuators')
    assert work[-1] < -0.5
    assert np.abs(energy - energy[0] - work).max() < 1e-8 * abs(work[-1])


@pytest.mark.parametrize('method', ['dopri5', pytest.param('rodas3', marks=pytest.mark.slow)])
def test_adaptive_integrators_integrate_stick_and_slip(tree, method):
    _, fine, _ = tree.motion(0.4, 3.0, step=1e-4)
    _, path, _ = tree.motion(0.4, 3.0, method=method, rtol=1e-7, atol=1e-7)
    assert path == pytest.approx(fine, abs=2e-5)


def test_slipping_and_sticking_are_events(tree):
    run = tree.run(0.4, 8.0, watch=True)
    kinds = [event.kind for event in run.events]
    assert kinds[:4] == ['joint_slip', 'joint_stick', 'joint_slip', 'joint_stick']
    assert kinds[-1] == 'joint_stick'
    assert abs(run.state('swing_rate')[-1]) < 1e-9
    assert {event.details['joint'] for event in run.events} == {'swing'}


@pytest.mark.parametrize('keys', ['locked: [swing]\n', 'joints:\n  swing: {class: locked}\n'])
def test_friction_of_a_joint_that_is_held_is_a_warning(tmp_path, keys):
    machine_of(tmp_path, [SWING, FLAP], keys)
    report = load_machine_report(tmp_path / 'joints.urdf', tmp_path / 'joints.yaml')
    assert report.problems == ()
    (warning,) = (warning for warning in report.warnings if 'friction' in warning.found)
    assert 'found friction of 0.15 in the URDF, which has no effect in a joint that is held' in str(warning)
    assert warning.line == 1 + keys.count('\n')


ON_FEET = """base: {attachment: free}
initial: {joint_positions: {swing: 0.4}}
defaults:
  wheel: {stiffness: 2.0e4, damping: 400.0, free_length: 0.3}
wheels:
  front_left: {link: base, position: [0.6, 0.5, 0]}
  front_right: {link: base, position: [0.6, -0.5, 0]}
  rear_left: {link: base, position: [-0.6, 0.5, 0]}
  rear_right: {link: base, position: [-0.6, -0.5, 0]}
joints:
  swing: {class: free}
"""
BOX = (
    '<inertial><mass value="30"/><inertia ixx="2" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><box size="1.2 1 0.2"/></geometry></collision>'
)


def test_a_machine_on_feet_rests_with_a_passive_joint_that_friction_holds(tmp_path):
    load = MASS * GRAVITY * LENGTH * np.sin(0.4)
    system = System(machine_of(tmp_path, [Part('swing', dynamics='friction="1"')], ON_FEET, BOX), 'effort')
    strong, weak = (system.parameters({'swing/friction': share * load}) for share in (1.2, 0.8))
    x0 = initial_state(system, strong)
    run = system.run(x0, np.linspace(0, 1, 11), Inputs.constant(), strong, Settings(step=1e-3))
    assert np.abs(run.states - x0).max() < 1e-6
    with pytest.raises(NoEquilibriumError, match="nothing holds joint 'swing'"):
        initial_state(system, weak)
