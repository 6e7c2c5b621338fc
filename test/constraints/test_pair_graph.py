"""Bodies and pairs as a graph: loops, spanning tree, and the resulting system (saha-1991, 3.4)."""

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
    """Return the vehicle with a caster, fork straight, as six points and seven edges (fig. 3.4)."""
    plane, graph = CasterVehicle(), PairGraph()
    wheel = {
        'mass': plane.wheel_mass,
        'inertia': np.diag([plane.axial, plane.diametral, plane.diametral]),
    }
    up = plane.radius * Z
    graph.body('platform', plane.mass, plane.yaw_inertia * np.eye(3), up)
    for name, side in (('left', -0.5), ('right', 0.5)):
        position = side * plane.length * X - plane.ahead * Y + up
        graph.body(name, p=position, **wheel)
        graph.revolute(f'{name}_axle', 'platform', name, position, X)
        graph.rolling(f'{name}_ground', name, X, plane.radius)
    pivot = plane.pivot * Y + up
    graph.body('fork', p=pivot)
    graph.body('caster', p=pivot - plane.offset * Y, **wheel)
    graph.revolute('pivot', 'fork', 'platform', pivot, Z)  # deliberately in reverse order
    graph.revolute('caster_axle', 'fork', 'caster', pivot - plane.offset * Y, X)
    graph.rolling('caster_ground', 'caster', X, plane.radius)
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


def test_the_system_of_a_graph_agrees_with_a_system_built_directly():
    graph, built = caster_graph(), caster_vehicle(base='free')
    system = graph.system(DOWN)
    q = graph.start(system.tree)
    assert np.abs(system.at(q).residual).max() < 1e-15
    rng = np.random.default_rng(0)
    v = projected_velocity(system, q, rng.normal(size=system.tree.nv))
    here = natural_orthogonal_complement(system).at(q, v)
    other = natural_orthogonal_complement(built.blocks)
    indices = [built.blocks.tree.velocity_index(name) for name in ('left', 'right', 'fork', 'caster')]
    graph_indices = [system.tree.velocity_index(name) for name in ('left_axle', 'right_axle', 'pivot', 'caster_axle')]
    signs = np.array([1, 1, -1, 1])  # a pair's rate is of the second body relative to the first
    rates = np.zeros(built.blocks.tree.nv)
    rates[:6] = v[:6]
    rates[indices] = v[graph_indices] * signs
    there = other.at(built.rest, rates)
    assert there.v == pytest.approx(rates, abs=1e-12)
    accelerations, expected = here.accelerations(np.zeros(10)), there.accelerations(np.zeros(10))
    assert accelerations[:6] == pytest.approx(expected[:6], abs=1e-10)
    assert accelerations[graph_indices] * signs == pytest.approx(expected[indices], abs=1e-10)


def four_bar(*order: str) -> PairGraph:
    """Return a four-bar with a motor; the order of its pairs determines the spanning tree."""
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
        position = wheel.distance * np.array([np.cos(wheel.direction), np.sin(wheel.direction), 0.0]) + 0.1 * Z
        hub_inertia = wheel.diametral_inertia * np.eye(3) + (wheel.axial_inertia - wheel.diametral_inertia) * np.outer(
            axle, axle
        )
        graph.body(f'hub_{k}', wheel.mass, hub_inertia, position)
        graph.revolute(f'wheel_{k}', 'platform', f'hub_{k}', position, axle)
        graph.roller(f'ground_{k}', f'hub_{k}', axle, wheel.radius, wheel.roller)
    graph.body('load', 3.0, 0.1 * np.eye(3), (0.1, 0, 0.3))
    graph.prismatic('rail', 'platform', 'load', X)
    system = graph.system(DOWN)
    q = graph.start(system.tree)
    here = natural_orthogonal_complement(system).at(q, np.zeros(system.tree.nv))
    assert len(here.independent) == 4
    # only the effort of the load acts on the platform
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
def test_invalid_graphs_are_rejected(build, message):
    graph = PairGraph()
    graph.body('arm', 1.0, np.eye(3))
    with pytest.raises(ValueError, match=message):
        build(graph)


def test_an_invalid_wheel_with_rollers_is_rejected():
    from dyn_nodes.multibody import Frame
    from dyn_nodes.studies.saha_1991.rollers import RollerWheel

    with pytest.raises(ValueError, match=r'left: rollers parallel to the hub \(roller angle 0 rad\)'):
        RollerWheel('left', Frame(0, np.eye(3), np.zeros(3)), X, 0.1, 0.0)
    assert 'omni 3' in SPATIAL
