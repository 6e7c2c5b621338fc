"""Bodies and pairs as a graph: loops, spanning tree, and the system that they make (saha-1991, 3.4)."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints import constrained_dynamics, projected_velocity
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle
from dyn_nodes.studies.saha_1991.machines import SPATIAL, vehicle
from dyn_nodes.studies.saha_1991.pair_graph import PairGraph
from dyn_nodes.studies.saha_1991.wheeled_vehicles import caster_vehicle, omni_vehicle

X, Y, Z = np.eye(3)
DOWN = (0.0, 0.0, -9.81)


def caster_graph() -> PairGraph:
    """The vehicle with a caster, fork straight, as six points and seven edges (fig. 3.4)."""
    own, graph = CasterVehicle(), PairGraph()
    wheel = {'mass': own.wheel_mass, 'inertia': np.diag([own.axial, own.diametral, own.diametral])}
    up = own.radius * Z
    graph.body('platform', own.mass, own.yaw_inertia * np.eye(3), up)
    for name, side in (('left', -0.5), ('right', 0.5)):
        place = side * own.length * X - own.ahead * Y + up
        graph.body(name, p=place, **wheel)
        graph.revolute(f'{name}_axle', 'platform', name, place, X)
        graph.rolling(f'{name}_ground', name, X, own.radius)
    pivot = own.pivot * Y + up
    graph.body('fork', p=pivot)
    graph.body('caster', p=pivot - own.offset * Y, **wheel)
    graph.revolute('pivot', 'fork', 'platform', pivot, Z)  # the wrong way round, on purpose
    graph.revolute('caster_axle', 'fork', 'caster', pivot - own.offset * Y, X)
    graph.rolling('caster_ground', 'caster', X, own.radius)
    return graph


@pytest.mark.pins('saha-1991/6.1/structure')
def test_the_caster_vehicle_has_the_two_loops_of_the_source():
    graph = caster_graph()
    loops = graph.loops()
    assert len(graph.pairs) == 7
    assert len(loops) == 7 - 6 + 1
    touching = {frozenset((pair.first, pair.second)) for pair in graph.pairs}
    for loop in loops:
        assert all(frozenset(pair) in touching for pair in zip(loop, [*loop[1:], loop[0]]))
    carried, chords = graph.spanning_tree()
    assert carried['platform'] is None
    assert [pair.name for pair in chords] == ['left_ground', 'right_ground', 'caster_ground']


def test_the_system_of_a_graph_moves_as_the_one_built_by_hand():
    graph, hand = caster_graph(), caster_vehicle(base='free')
    system = graph.system(DOWN)
    q = graph.start(system.tree)
    assert np.abs(system.at(q).residual).max() < 1e-15
    rng = np.random.default_rng(0)
    v = projected_velocity(system, q, rng.normal(size=system.tree.nv))
    here = natural_orthogonal_complement(system).at(q, v)
    other = natural_orthogonal_complement(hand.blocks)
    places = [hand.blocks.tree.velocity_index(name) for name in ('left', 'right', 'fork', 'caster')]
    ours = [system.tree.velocity_index(name) for name in ('left_axle', 'right_axle', 'pivot', 'caster_axle')]
    signs = np.array([1, 1, -1, 1])  # of a pair it is the second body's rate against the first's
    rates = np.zeros(hand.blocks.tree.nv)
    rates[:6] = v[:6]
    rates[places] = v[ours] * signs
    there = other.at(hand.rest, rates)
    assert there.v == pytest.approx(rates, abs=1e-12)
    found, expected = here.accelerations(np.zeros(10)), there.accelerations(np.zeros(10))
    assert found[:6] == pytest.approx(expected[:6], abs=1e-10)
    assert found[ours] * signs == pytest.approx(expected[places], abs=1e-10)


def four_bar(*order: str) -> PairGraph:
    """A four-bar with a motor; pairs in the given order, which decides the spanning tree."""
    graph = PairGraph()
    corners = {'motor': (0, 0, 0), 'b': (0, 1, 0), 'c': (1.5, 1.4, 0), 'd': (1.5, 0, 0)}
    between = {'motor': ('ground', 'crank'), 'b': ('crank', 'coupler'), 'c': ('coupler', 'rocker')}
    between['d'] = ('rocker', 'ground')
    for name, mass, p in (('crank', 1.0, (0, 0.5, 0)), ('coupler', 2.0, (0.7, 1.3, 0)), ('rocker', 1.5, (1.5, 0.6, 0))):
        graph.body(name, mass, 0.1 * np.eye(3), p)
    for name in order:
        graph.revolute(name, *between[name], corners[name], Z)
    return graph


def test_which_pair_closes_the_loop_does_not_matter():
    motions = []
    for order in (('motor', 'b', 'c', 'd'), ('d', 'c', 'b', 'motor'), ('c', 'motor', 'd', 'b')):
        graph = four_bar(*order)
        assert [set(loop) for loop in graph.loops()] == [{'ground', 'crank', 'coupler', 'rocker'}]
        system = graph.system((0, -9.81, 0))
        formulation = natural_orthogonal_complement(system, ('motor',) if 'motor' in system.tree.velocity_names else ())
        q = graph.start(system.tree)
        assert formulation.mobility(q) == 1
        v = np.zeros(system.tree.nv)
        v[system.tree.velocity_index('motor')] = 2.0
        v = projected_velocity(system, q, v, held=['motor'])
        tau = np.zeros(3)
        a = formulation.at(q, v).accelerations(tau)
        assert a == pytest.approx(constrained_dynamics(system, q, v, tau, method='saddle').acceleration, abs=1e-9)
        motions.append(a[system.tree.velocity_index('motor')])
    assert motions == pytest.approx([motions[0]] * 3, rel=1e-10)


def test_sliders_and_rollers_are_pairs_too():
    plane, graph = vehicle(3), PairGraph()
    graph.body('platform', plane.mass, plane.yaw_inertia * np.eye(3), (0, 0, 0.1))
    for k, wheel in enumerate(plane.wheels, 1):
        axle = np.array([np.cos(wheel.hub), np.sin(wheel.hub), 0.0])
        place = wheel.distance * np.array([np.cos(wheel.direction), np.sin(wheel.direction), 0.0]) + 0.1 * Z
        own = wheel.diametral_inertia * np.eye(3) + (wheel.axial_inertia - wheel.diametral_inertia) * np.outer(
            axle, axle
        )
        graph.body(f'hub_{k}', wheel.mass, own, place)
        graph.revolute(f'wheel_{k}', 'platform', f'hub_{k}', place, axle)
        graph.roller(f'ground_{k}', f'hub_{k}', axle, wheel.radius, wheel.roller)
    graph.body('load', 3.0, 0.1 * np.eye(3), (0.1, 0, 0.3))
    graph.prismatic('rail', 'platform', 'load', X)
    system = graph.system(DOWN)
    q = graph.start(system.tree)
    here = natural_orthogonal_complement(system).at(q, np.zeros(system.tree.nv))
    assert len(here.independent) == 4
    # the loaded platform is pushed by its own load: nothing else holds it
    tau = np.zeros(system.tree.nv)
    tau[system.tree.velocity_index('rail')] = 1.0
    a = here.accelerations(tau)
    frame = omni_vehicle(plane)
    I_C = plane.inertia
    assert a[3] == pytest.approx(-1.0 / I_C[1, 1], rel=1e-10)
    assert a[-1] == pytest.approx(1 / 3.0 + 1 / I_C[1, 1], rel=1e-10)
    assert frame.blocks.tree.nv == 9


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (
            lambda g: g.revolute('hinge', 'arm', 'nobody', (0, 0, 0), Z),
            "hinge: unknown body 'nobody'; known: ground, arm",
        ),
        (lambda g: g.revolute('hinge', 'arm', 'arm', (0, 0, 0), Z), 'hinge: expected two bodies, found arm twice'),
        (lambda g: g.revolute('hinge', 'ground', 'arm', (0, 0, 0), (1, 1, 0)), 'hinge: expected a unit axis'),
        (lambda g: g.rolling('wheel', 'tyre', X, 0.3), "wheel: unknown body 'tyre'"),
        (lambda g: g.body('arm'), 'arm: there is a body of this name already'),
        (lambda g: g.body('ground'), 'ground: there is a body of this name already'),
    ],
)
def test_what_is_no_graph_is_refused(build, message):
    graph = PairGraph()
    graph.body('arm', 1.0, np.eye(3))
    with pytest.raises(ValueError, match=message):
        build(graph)


def test_a_wheel_with_rollers_that_can_not_be_is_refused():
    from dyn_nodes.multibody import Frame
    from dyn_nodes.studies.saha_1991.rollers import RollerWheel

    with pytest.raises(ValueError, match=r'left: rollers parallel to the hub \(roller angle 0 rad\)'):
        RollerWheel('left', Frame(0, np.eye(3), np.zeros(3)), X, 0.1, 0.0)
    assert 'omni 3' in SPATIAL
