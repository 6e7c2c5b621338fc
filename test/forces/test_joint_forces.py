"""Effort, energy and event surfaces of a joint's spring, damping, dry friction and stops, each alone."""

from __future__ import annotations

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.elements.forces.joint import joint_motion
from dyn_nodes.elements.forces.joint_damping import JointDamping
from dyn_nodes.elements.forces.joint_friction import JointFriction, apparent_inertias, joint_frictions
from dyn_nodes.elements.forces.joint_spring import JointSpring, joint_springs, rest_position
from dyn_nodes.elements.forces.joint_stop import SCALE, JointStop, joint_stops
from dyn_nodes.model.constraint import JointClass
from dyn_nodes.model.machine import Base, InitialState, Joint, Link, Machine, Payload, frozen_array
from dyn_nodes.multibody import TreeState, build_tree

LENGTH, MASS, INERTIA = 0.7, 2.0, 0.05
ABOUT_PIN = MASS * LENGTH**2 + INERTIA


def pendulum(joints=1, **keys):
    """Return bodies in a row on a fixed base, `arm0` first, each with its mass at the end."""
    links = [Link('base', 0.0, frozen_array((0, 0, 0), (3,)), frozen_array(np.zeros((3, 3)), (3, 3)))]
    made = []
    for k in range(joints):
        links.append(
            Link(f'body{k}', MASS, frozen_array((0, 0, -LENGTH), (3,)), frozen_array(INERTIA * np.eye(3), (3, 3)))
        )
        origin = np.eye(4)
        origin[2, 3] = -LENGTH if k else 0.0
        parent = f'body{k - 1}' if k else 'base'
        made.append(
            Joint(
                f'arm{k}', 'revolute', parent, f'body{k}', frozen_array(origin, (4, 4)), frozen_array((0, 1, 0), (3,))
            )
        )
    made[0] = dataclasses.replace(made[0], **keys)
    return Machine(
        name='pendulum', links=tuple(links), joints=tuple(made), base=Base('base', 'fixed'), wheels=(), actuators=(),
        payload=None, initial=InitialState(), gravity=9.81, slope=(0.0, 0.0), overturn_angle=1.3, urdf='', sources=(),
    )  # fmt: skip


TREE = build_tree(pendulum(2))
SYMBOLS = {name: ca.SX.sym(name) for name in ('rest', 'k', 'd', 'F', 's', 'scale')}
STATE = TreeState(TREE, ca.SX.sym('q', 2), ca.SX.sym('v', 2))


class Alone:
    """An element on the second joint of a double pendulum, evaluated without compilation."""

    def __init__(self, element, names):
        self.element = element
        symbols = {name: SYMBOLS[short] for name, short in names.items()}
        states = [symbols[state.name] for state in element.states]
        rates = ca.vertcat(*element.rates(STATE, symbols)) if states else ca.SX(0, 1)
        energy = ca.SX(element.potential_energy(STATE, symbols))
        change = ca.jtimes(energy, STATE.q, STATE.v)
        for symbol, rate in zip(states, element.rates(STATE, symbols) if states else ()):
            change += ca.jacobian(energy, symbol) * rate
        inputs = [STATE.q, STATE.v, *SYMBOLS.values()]
        self.surfaces = element.surfaces(STATE, symbols)
        self._at = ca.Function(
            'alone',
            inputs,
            [
                element.generalized_force(STATE, symbols), energy, element.dissipated_power(STATE, symbols), change,
                rates, ca.vertcat(*(surface.value for surface in self.surfaces)),
                ca.vertcat(*(surface.quantity for surface in self.surfaces)),
                ca.vertcat(*element.outputs(STATE, symbols).values()),
            ],
        )  # fmt: skip

    def at(self, q, v, **numbers):
        values = self._at([0.4, q], [-0.3, v], *(numbers.get(name, 0.0) for name in SYMBOLS))
        names = ('force', 'energy', 'power', 'change', 'rates', 'surfaces', 'quantities', 'outputs')
        return dict(zip(names, (np.array(value).ravel() for value in values)))

    def balance(self, q, v, **numbers):
        """Return the power of the force, and the power from storage less dissipation."""
        values = self.at(q, v, **numbers)
        assert values['power'][0] >= -1e-9
        return values['force'] @ [-0.3, v], -values['change'][0] - values['power'][0]


SPRING = Alone(JointSpring('arm1', 20.0, 3.0, 0.1), {'arm1/rest': 'rest', 'arm1/stiffness': 'k', 'arm1/damping': 'd'})
DAMPING = Alone(JointDamping('arm1', 3.0), {})
STOP = Alone(JointStop('arm1', -0.5, 1.0, 200.0, 15.0), {SCALE: 'scale'})
FRICTION = Alone(
    JointFriction('arm1', 4.0, 200.0, 15.0), {'arm1/friction_deflection': 's', 'arm1/friction': 'F'}
)  # fmt: skip
NUMBERS = st.tuples(st.floats(-2, 2), st.floats(-3, 3), st.floats(-0.05, 0.05))


@reaches(power=4)
@given(NUMBERS)
@pytest.mark.parametrize('element', [SPRING, DAMPING, STOP, FRICTION], ids=['spring', 'damping', 'stop', 'friction'])
def test_the_power_of_the_force_equals_stored_and_dissipated_power(element, numbers):
    q, v, s = numbers
    power, expected = element.balance(q, v, rest=0.1, k=20.0, d=3.0, F=4.0, s=s, scale=0.5)
    reached('power', abs(power) > 1e-3)
    assert power == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_spring_pulls_to_its_rest_and_its_damper_brakes():
    values = SPRING.at(0.3, 2.0, rest=0.1, k=20.0, d=3.0)
    assert values['force'] == pytest.approx([0.0, -20.0 * 0.2 - 3.0 * 2.0])
    assert (values['energy'][0], values['power'][0]) == pytest.approx((0.5 * 20.0 * 0.2**2, 3.0 * 2.0**2))
    assert SPRING.element.parameters == {'arm1/rest': 0.1, 'arm1/stiffness': 20.0, 'arm1/damping': 3.0}
    assert SPRING.element.name == 'arm1'
    assert JointSpring('arm1').parameters == dict.fromkeys(SPRING.element.parameters, 0.0)


@pytest.mark.parametrize(('stiffness', 'damping'), [(-1.0, 0.0), (0.0, -1.0)])
def test_a_spring_is_not_negative(stiffness, damping):
    with pytest.raises(ValueError, match='expected stiffness and damping not below zero'):
        JointSpring('arm1', stiffness, damping)


def test_a_flexible_joint_rests_at_its_rest_position_or_else_at_its_initial_one():
    machine = dataclasses.replace(
        pendulum(2),
        initial=InitialState(joint_positions={'arm0': 0.7}),
        joint_classes=(
            JointClass('arm0', 'flexible', 20.0, 3.0),
            JointClass('arm1', 'locked'),
        ),
    )
    assert joint_springs(machine) == {'arm0': JointSpring('arm0', 20.0, 3.0, 0.7)}
    assert rest_position(machine, JointClass('arm0', 'flexible', 20.0, 3.0, rest=0.2)) == 0.2
    assert rest_position(machine, JointClass('arm1', 'flexible')) == 0.0


def test_damping_is_proportional_to_the_rate():
    values = DAMPING.at(0.3, 2.0)
    assert values['force'] == pytest.approx([0.0, -6.0])
    assert values['power'][0] == 12.0
    assert DAMPING.element.name == 'arm1/damping'


def test_a_stop_pushes_beyond_its_limits_as_a_spring_and_damper_that_never_pulls():
    assert STOP.at(1.1, 0.5, scale=1.0)['force'] == pytest.approx([0.0, -(200.0 * 0.1 + 15.0 * 0.5)])
    assert STOP.at(-0.7, -0.5, scale=1.0)['force'] == pytest.approx([0.0, 200.0 * 0.2 + 15.0 * 0.5])
    for q, v in ((1.1, -5.0), (-0.7, 5.0), (0.99, 3.0), (-0.49, -3.0)):
        assert STOP.at(q, v, scale=1.0)['force'] == pytest.approx([0.0, 0.0])
    assert STOP.element.effort(0.0, 1.0) == 0.0
    assert STOP.at(1.1, 0.5, scale=0.0)['force'] == pytest.approx([0.0, 0.0])
    assert STOP.element.parameters == {SCALE: 0.0}


def test_a_stop_stores_spring_energy_and_dissipates_damper_power():
    values = STOP.at(1.1, 0.5, scale=1.0)
    assert (values['energy'][0], values['power'][0]) == pytest.approx((0.5 * 200.0 * 0.1**2, 15.0 * 0.5**2))
    values = STOP.at(-0.7, -0.5, scale=2.0)
    assert (values['energy'][0], values['power'][0]) == pytest.approx((200.0 * 0.2**2, 2 * 15.0 * 0.5**2))


def test_a_stop_has_an_event_surface_for_each_finite_limit():
    values = STOP.at(0.4, 0.5)
    assert values['surfaces'] == pytest.approx([0.9, 0.6])
    assert values['quantities'] == pytest.approx([0.4, 0.4])
    assert [surface.watch.subject['limit'] for surface in STOP.surfaces] == ['lower', 'upper']
    assert {(surface.watch.rise, surface.watch.fall) for surface in STOP.surfaces} == {('', 'joint_limit')}
    for low, high, limit in ((-math.inf, 1.0, 'upper'), (-0.5, math.inf, 'lower')):
        one = Alone(JointStop('arm1', low, high, 200.0, 15.0), {SCALE: 'scale'})
        assert [surface.watch.subject['limit'] for surface in one.surfaces] == [limit]
        for q in (-2.0, 2.0):
            pushed = one.at(q, 0.0, scale=1.0)
            expected = 200.0 * max(-0.5 - q, 0.0) if limit == 'lower' else -200.0 * max(q - 1.0, 0.0)
            assert pushed['force'] == pytest.approx([0.0, expected])
            assert pushed['energy'][0] == pytest.approx(expected**2 / 400.0)


def test_stops_have_15_hz_and_a_damping_ratio_of_0_7_with_the_stopped_inertia():
    rate = 2 * np.pi * 15.0
    (stop,) = joint_stops(pendulum(lower=-0.5, upper=1.0))
    assert (stop.joint, stop.lower, stop.upper) == ('arm0', -0.5, 1.0)
    assert (stop.stiffness, stop.damping) == pytest.approx((ABOUT_PIN * rate**2, 2 * 0.7 * ABOUT_PIN * rate))
    assert len(joint_stops(pendulum(lower=-math.inf, upper=1.0))) == 1
    assert len(joint_stops(pendulum(lower=-0.5, upper=math.inf))) == 1
    assert joint_stops(pendulum(lower=-math.inf, upper=math.inf)) == ()
    weightless = pendulum(lower=-0.5, upper=1.0)
    light = dataclasses.replace(weightless.links[1], mass=0.001, inertia=frozen_array(np.zeros((3, 3)), (3, 3)))
    (stop,) = joint_stops(dataclasses.replace(weightless, links=(weightless.links[0], light)))
    assert stop.stiffness == pytest.approx(0.001 * LENGTH**2 * rate**2)
    bare = dataclasses.replace(weightless.links[1], mass=0.0, inertia=frozen_array(np.zeros((3, 3)), (3, 3)))
    assert joint_stops(dataclasses.replace(weightless, links=(weightless.links[0], bare))) == ()


def test_friction_holds_like_a_spring_up_to_its_force_and_then_slides_with_it():
    held = FRICTION.at(0.0, 0.1, F=4.0, s=0.01)  # 3.5 N m
    assert held['force'] == pytest.approx([0.0, -3.5])
    assert held['rates'] == pytest.approx([0.1])
    assert held['power'][0] == pytest.approx(15.0 * 0.1**2)
    assert held['energy'][0] == pytest.approx(0.5 * 200.0 * 0.01**2)
    slips = FRICTION.at(0.0, 1.0, F=4.0, s=0.01)  # 17 N m if it stuck
    assert slips['force'] == pytest.approx([0.0, -4.0])
    assert slips['outputs'] == pytest.approx([-4.0])
    rate = 1.0 - (17.0 - 4.0) / 15.0
    assert slips['rates'] == pytest.approx([rate])
    assert slips['power'][0] == pytest.approx(15.0 * rate**2 + 4.0 * (1.0 - rate))
    assert list(FRICTION.element.outputs(STATE, {'arm1/friction_deflection': 0.0, 'arm1/friction': 4.0})) == [
        'arm1/friction_effort'
    ]


def test_the_surface_of_friction_is_the_effort_that_remains_until_slip():
    assert FRICTION.at(0.0, 0.1, F=4.0, s=0.01)['surfaces'] == pytest.approx([0.5])
    assert FRICTION.at(0.0, -0.1, F=4.0, s=-0.02)['surfaces'] == pytest.approx([-1.5])
    assert FRICTION.at(0.0, -0.1, F=4.0, s=-0.02)['quantities'] == pytest.approx([-0.1])
    (surface,) = FRICTION.surfaces
    assert (surface.watch.rise, surface.watch.fall) == ('joint_stick', 'joint_slip')


def test_the_deflection_of_friction_is_scaled_by_slip_and_balances_a_passive_joint():
    for passive in (False, True):
        (state,) = JointFriction('arm1', 4.0, 200.0, 15.0, passive).states
        assert (state.name, state.scale, state.start, state.balances) == (
            'arm1/friction_deflection', 0.02, 0.0, passive,
        )  # fmt: skip
    assert not JointFriction('arm1', 4.0, 200.0, 15.0).states[0].balances
    assert FRICTION.element.parameters == {'arm1/friction': 4.0}


def test_friction_has_20_hz_with_the_apparent_inertia():
    rate = 2 * np.pi * 20.0
    machine = pendulum(friction=0.5)
    (friction,) = joint_frictions(machine)
    assert (friction.joint, friction.friction) == ('arm0', 0.5)
    assert (friction.stiffness, friction.damping) == pytest.approx((ABOUT_PIN * rate**2, 2 * 0.7 * ABOUT_PIN * rate))
    assert not friction.passive
    (idle,) = joint_frictions(dataclasses.replace(machine, joint_classes=(JointClass('arm0', 'free'),)))
    assert idle.passive
    assert joint_frictions(dataclasses.replace(machine, joints=pendulum().joints)) == ()


def test_the_apparent_inertia_lets_all_other_joints_move():
    machine = pendulum(2)
    inertias = apparent_inertias(machine, machine.movable_joints)
    # two bodies in a row, straight down
    tip = MASS * LENGTH**2 + INERTIA
    across = MASS * 2 * LENGTH * LENGTH + INERTIA
    first = tip + MASS * (2 * LENGTH) ** 2 + INERTIA
    M = np.array([[first, across], [across, tip]])
    assert inertias == pytest.approx(1.0 / np.diag(np.linalg.inv(M)))
    bent = dataclasses.replace(machine, initial=InitialState(joint_positions={'arm1': math.pi / 2}))
    first = tip + 2 * MASS * LENGTH**2 + INERTIA
    M = np.array([[first, tip], [tip, tip]])
    assert apparent_inertias(bent, bent.movable_joints) == pytest.approx(1.0 / np.diag(np.linalg.inv(M)))


def test_the_apparent_inertia_includes_the_payload():
    machine = pendulum()
    carrying = dataclasses.replace(machine, payload=Payload('body0', frozen_array((0, 0, -1.0), (3,)), 5.0, 9.0))
    assert apparent_inertias(carrying, carrying.movable_joints) == pytest.approx([ABOUT_PIN + 5.0])


def test_with_a_singular_mass_matrix_the_moved_inertia_is_used():
    machine = pendulum(2)
    bare = dataclasses.replace(machine.links[2], mass=0.0, inertia=frozen_array(np.zeros((3, 3)), (3, 3)))
    singular = dataclasses.replace(machine, links=(*machine.links[:2], bare))
    assert apparent_inertias(singular, singular.movable_joints[:1]) == pytest.approx([ABOUT_PIN])


def test_springs_drive_and_springs_friction_and_stops_hold_a_machine_at_rest():
    kinds = (JointSpring, JointDamping, JointFriction, JointStop)
    assert [kind.drives for kind in kinds] == [True, False, False, False]
    assert [kind.rests for kind in kinds] == [True, False, True, True]


def test_a_free_body_has_no_single_position():
    machine = pendulum()
    tree = build_tree(dataclasses.replace(machine, base=Base('base', 'free')))
    state = TreeState(tree, ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv))
    free = next(body.name for body in tree.bodies if body.kind == 'free')
    with pytest.raises(ValueError, match='expected a joint of one degree of freedom, found a free body'):
        joint_motion(state, free)
