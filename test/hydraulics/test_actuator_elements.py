"""The protocol of actuators for every kind: names, energy, rest, capacity; and an additional kind."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.commands.build_check import build_problems
from dyn_nodes.common.share import find_resource
from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.actuators import KINDS
from dyn_nodes.elements.hydraulics import linkage
from dyn_nodes.model import actuators, load_machine, load_machine_report
from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.machine import SharedPump, SlidingRod
from dyn_nodes.model.schema import number
from dyn_nodes.model.schema_doc import key_tables
from dyn_nodes.multibody.actuators import ActuatorElement, ActuatorTerms, Quantity
from dyn_nodes.multibody.elements import Command, ElementState
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem

CORPUS = Path(__file__).resolve().parents[1] / 'corpus'
POSITIONS = {'boom': (-0.3, 0.9), 'stick': (-2.2, -0.3), 'rod': (0.3, 1.6), 'swing': (-1.0, 1.0)}
BEYOND = {'boom': 2.0, 'stick': 0.45, 'rod': 1.7, 'swing': 0.0}
"""A position beyond the stroke of the cylinder."""


@pytest.fixture(params=['boom', 'stick', 'rod', 'swing'])
def element(request):
    return actuator_element(request.getfixturevalue(request.param))


class Traced:
    """Element as a function of position, rate, states, inputs and parameters."""

    def __init__(self, element):
        self.element = element
        self.names = [state.name for state in element.states]
        commands, parameters = [command.name for command in element.inputs], list(element.parameters)
        self.q, self.qd, self.x = ca.SX.sym('q'), ca.SX.sym('qd'), ca.SX.sym('x', len(self.names))
        self.u, self.p = ca.SX.sym('u', len(commands)), ca.SX.sym('p', len(parameters))
        named = ((self.names, self.x), (commands, self.u), (parameters, self.p))
        symbols = {name: vector[k] for names, vector in named for k, name in enumerate(names)}
        self.terms = element.terms(self.q, self.qd, symbols)

    def function(self, *expressions):
        """Return a function of position, rate, states and inputs, with default parameters."""
        values = ca.DM(list(self.element.parameters.values()))
        variables = [self.q, self.qd, self.x, self.u]
        inside = ca.Function('inside', [*variables, self.p], [ca.vertcat(*expressions)])
        return lambda *at: np.array(inside(*at, values)).ravel()


def random_states(element, count):
    """Yield positions, rates, states and voltages: spools of both signs, pressures from voids to above the reliefs."""
    rng = np.random.default_rng(len(element.name))
    low, high = POSITIONS[element.name]
    for k in range(count):
        q = BEYOND[element.name] if k % 10 == 0 else rng.uniform(low, high)
        pressures = rng.uniform(-1e5, 4e7, 2)
        yield q, rng.uniform(-1.0, 1.0), [rng.uniform(-8e-3, 8e-3), *pressures], rng.uniform(-8.0, 8.0)


def test_power_on_the_joint_is_supplied_less_stored_and_dissipated_power(element):
    """The balance is exact in every state: in chambers and lines, over reliefs, at the end stops."""
    traced = Traced(element)
    terms = traced.terms
    states, rates = ca.vertcat(traced.q, traced.x), ca.vertcat(traced.qd, *terms.rates)
    storing = ca.jtimes(terms.stored_energy, states, rates)
    powers = traced.function(terms.effort * traced.qd, terms.supplied_power, storing, terms.dissipated_power)
    for at in random_states(element, 200):
        joint, supplied, stored, dissipated = powers(*at)
        assert joint == pytest.approx(supplied - stored - dissipated, abs=1e-9 * (abs(supplied) + abs(stored)))
        assert dissipated >= 0.0
        assert max(abs(supplied), abs(joint)) > 1.0


def test_stored_energy_follows_from_the_pressures(element):
    """Within the stroke, the energy is zero without pressure, and V P^2 / (2 beta) to first order."""
    energy = (traced := Traced(element)).function(traced.terms.stored_energy)
    q, (low, high) = 0.5 * sum(POSITIONS[element.name]), (1e7, 2e7)
    assert energy(q, 0.0, [0.0, 0.0, 0.0], 0.0)[0] == 0.0
    one, two = (energy(q, 0.0, [0.0, pressure, pressure], 0.0)[0] for pressure in (low, high))
    assert two == pytest.approx(4.0 * one, rel=0.01)
    assert one > 100.0


@pytest.mark.parametrize('direction', [1.0, -1.0])
@pytest.mark.parametrize('position', [0.6, -0.5])
def test_a_rod_on_a_prismatic_joint_has_the_oil_of_the_pinned_cylinder(boom, position, direction):
    """Equal piston position and rate: equal power, rates of spool and pressures, outputs and energy."""
    rod = SlidingRod(boom.linkage.stroke, retracted_position=0.3, direction=direction)
    shape, rate = linkage(boom.linkage, position), 0.4
    slide_position, slide = 0.3 + direction * float(shape.piston), direction * float(shape.lever) * rate

    def evaluate(record, q, qd):
        traced = Traced(actuator_element(record))
        terms, outputs = traced.terms, dict(traced.terms.outputs)
        effort, force = outputs.pop('boom/effort'), outputs['boom/force']
        energy = (terms.supplied_power, terms.stored_energy, terms.dissipated_power)
        expressions = (effort, force, effort * traced.qd, *terms.rates, *energy, *outputs.values())
        return traced.function(*expressions)(q, qd, [3e-3, 1.7e7, 4e6], 5.0)

    pinned, sliding = evaluate(boom, position, rate), evaluate(replace(boom, linkage=rod), slide_position, slide)
    assert sliding[1:] == pytest.approx(pinned[1:], rel=1e-12)
    assert sliding[0] == direction * sliding[1]


@pytest.mark.parametrize('effort', [-5e4, 0.0, 3e4])
def test_states_at_rest_hold_the_effort_and_do_not_change(element, effort):
    q = 0.5 * sum(POSITIONS[element.name])
    traced = Traced(element)
    values = traced.function(traced.terms.effort, *traced.terms.rates)(q, 0.0, element.at_rest(q, effort), 0.0)
    assert values[0] == pytest.approx(effort, abs=1e-6)
    assert np.abs(values[1:]).max() == 0.0


def test_locked_stiffness_is_the_slope_of_the_effort_at_trapped_oil(element):
    """Rates of the pressures by the joint's rate, and effort by pressures, without the geometric term."""
    q = 0.5 * sum(POSITIONS[element.name])
    traced = Traced(element)
    by_pressure = ca.jacobian(traced.terms.effort, traced.x[1:])
    slope = by_pressure @ ca.jacobian(ca.vertcat(*traced.terms.rates[1:]), traced.qd)
    by_oil = traced.function(slope)(q, 0.0, element.at_rest(q, 2e4), 0.0)[0]
    assert -by_oil == pytest.approx(element.locked_stiffness(q), rel=1e-12)


def test_every_reported_quantity_is_a_state_or_an_output(element):
    available = {state.name for state in element.states} | set(Traced(element).terms.outputs)
    assert {f'{element.name}/{quantity.name}' for quantity in element.reported} <= available


def test_the_holding_capacity_is_at_least_the_moving_capacity(element):
    q = np.linspace(*POSITIONS[element.name], 5)
    moving, holding = (element.capacity(ca.DM(q), 2.0e7, holding) for holding in (False, True))
    assert (np.asarray(holding[0]).ravel() <= np.asarray(moving[0]).ravel()).all()
    assert (np.asarray(moving[1]).ravel() <= np.asarray(holding[1]).ravel()).all()
    assert (np.asarray(moving[0]).ravel() < 0.0).all()
    assert (np.asarray(moving[1]).ravel() > 0.0).all()


@dataclass(frozen=True)
class WinchRecord(ActuatorRecord):
    """Record of a winch on a battery, an additional kind."""

    kind: ClassVar[str] = 'winch'

    constant: Annotated[float, number('of the motor, at the joint', 'N m/A', 'positive')] = 400.0
    resistance: Annotated[float, number('of the winding', 'ohm', 'positive')] = 2.0
    inductance: Annotated[float, number('of the winding', 'H', 'positive')] = 0.1
    battery: Annotated[float, number('greatest voltage', 'V', 'positive')] = 48.0

    @property
    def command_limit(self):
        return self.battery

    @property
    def source_limit(self):
        return self.battery

    def check(self, joint, source_map, report):
        if joint.type == 'prismatic':
            where = f'actuators.{self.name}.joint'
            report.add(source_map.line(where), where, 'a joint that turns for a winch', f'a {joint.type} joint')


class Winch(ActuatorElement):
    """A winch: L di/dt = u - R i - k w, torque k i; its resistance is a parameter."""

    def __init__(self, record):
        self.record = record

    @property
    def states(self):
        return (ElementState(f'{self.name}/current', scale=10.0),)

    @property
    def inputs(self):
        return (Command(f'{self.name}/voltage'),)

    @property
    def parameters(self):
        return {f'{self.name}/resistance': self.record.resistance}

    @property
    def reported(self):
        return (Quantity('current', 'A'),)

    def terms(self, position, rate, symbols, feed=None):
        record, current = self.record, symbols[f'{self.name}/current']
        volts, resistance = symbols[f'{self.name}/voltage'], symbols[f'{self.name}/resistance']
        return ActuatorTerms(
            effort=record.constant * current,
            rates=[(volts - resistance * current - record.constant * rate) / record.inductance],
            outputs={f'{self.name}/power': volts * current},
            surfaces=(),
            supplied_power=volts * current,
            stored_energy=0.5 * record.inductance * current**2,
            dissipated_power=resistance * current**2,
        )

    def at_rest(self, position, effort):
        return (effort / self.record.constant,)

    def locked_stiffness(self, position):
        return 0.0

    def capacity(self, position, source, holding):
        stalled = self.record.constant * source / self.record.resistance
        return -stalled, stalled

    def summary(self, lower, upper, start):
        return {'travel': f'{self.record.constant:g} N m/A'}


@pytest.fixture
def winches(monkeypatch):
    """Register the kind: one line for its keys and checks, one for its element."""
    monkeypatch.setitem(actuators.actuator_kinds(), 'winch', WinchRecord)
    monkeypatch.setitem(KINDS, 'winch', Winch)


WINCH = """initial: {joint_positions: {luff: 0.5}}
defaults:
  winch: {constant: 250, resistance: 4}
actuators:
  hoist: {type: winch, joint: slew, resistance: 0.5}
reactions: [slew]
"""


def crane_with(folder, text):
    path = folder / 'winch.yaml'
    path.write_text(text)
    return [str(CORPUS / 'crane.urdf'), '--config', str(path)]


def test_a_new_kind_of_actuator_comes_from_the_machine_yaml(winches, tmp_path, capsys):
    """Keys, defaults of the kind, command limit, source capacity, `check`, and the tables of the documentation."""
    words = crane_with(tmp_path, WINCH)
    machine = load_machine(words[0], words[2])
    assert machine.actuators == (WinchRecord('hoist', 'slew', constant=250.0, resistance=0.5),)
    assert (machine.actuators[0].command_limit, machine.source_limit('hoist')) == (48.0, 48.0)
    assert main(['check', *words]) == 0
    assert '250 N m/A' in capsys.readouterr().out
    assert build_problems(machine) == ()
    plant = Assembly(machine, 'hydraulic')
    assert plant.states.names[-1] == 'hoist/current'
    assert plant.inputs.names[0] == 'hoist/voltage'
    section = key_tables().partition('### `actuators.<name>` of type `winch`')[2].partition('###')[0]
    assert '| `resistance` | number > 0 | ohm | 2 | of the winding |' in section
    assert '| `winch` | mapping |' in key_tables()


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('resistance: 0.5', 'resistance: 0'), ':5: actuators.hoist.resistance: expected a number > 0 ohm, found 0'),
        (('constant: 250', 'konstant: 250'), ":3: defaults.winch.konstant: expected a key of this mapping, found 'kon"),
        (('joint: slew', 'joint: extend'), ':5: actuators.hoist.joint: expected a joint that turns for a winch, found'),
        (
            ('type: winch', 'type: wench'),
            ":5: actuators.hoist.type: expected cylinder or dc_motor or motor or winch, found 'w",
        ),
        (
            ('reactions:', 'pumps: {main: {actuators: [hoist], flow: 1e-3, relief_pressure: 2e7}}\nreactions:'),
            ":6: pumps.main.actuators: expected hydraulic actuators, found 'hoist', which takes no oil",
        ),
    ],
)
def test_errors_of_a_new_kind_of_actuator_have_their_line(winches, tmp_path, change, message):
    words = crane_with(tmp_path, WINCH.replace(*change))
    assert any(message in str(problem) for problem in load_machine_report(words[0], words[2]).problems)


def test_a_kind_of_actuator_is_one_class_and_a_line_in_the_registry(winches):
    """A winch beside a cylinder on a shared pump: names, efforts, rates and outputs are at the right indices."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    boom, stick, swing = machine.actuators
    pump = SharedPump('main', (boom.name, stick.name), 3e-3, 2e7)
    machine = replace(machine, actuators=(boom, WinchRecord('winch', swing.joint), stick), pumps=(pump,))
    plant = Assembly(machine, 'hydraulic')
    at = dict.fromkeys([*plant.states.names, *plant.inputs.names], 0.0) | {'base_qw': 1.0}
    at |= {'winch/current': 3.0, 'winch/voltage': 24.0, f'{swing.joint}_rate': 0.02}
    winch = plant.actuators.terms(plant.state, plant.symbols)['winch']
    expressions = [plant.joint_efforts[swing.joint], plant.rhs, winch.outputs['winch/power']]
    evaluate = ca.Function('evaluate', [plant.x, plant.u, plant.p], expressions)
    x, u = ([at[name] for name in names] for names in (plant.states.names, plant.inputs.names))
    effort, rates, power = evaluate(x, u, plant.default_parameters())
    assert float(effort) == 1200.0
    assert float(rates[plant.states.names.index('winch/current')]) == pytest.approx((24.0 - 6.0 - 8.0) / 0.1)
    assert float(power) == 72.0
    assert plant.parameters.names[-1] == 'winch/resistance'
    assert 'boom/head_pressure' in plant.states.names


def test_the_first_valve_on_a_shared_pump_carries_its_relief():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    machine = replace(machine, pumps=(SharedPump('main', ('swing', 'boom'), 3e-3, 2e7),))
    plant = Assembly(machine, 'hydraulic')
    pumps = {
        name: [surface.watch.subject for surface in terms.surfaces if surface.watch.subject['relief'] == 'pump']
        for name, terms in plant.actuators.terms(plant.state, plant.symbols).items()
    }
    stick = {'actuator': 'stick', 'joint': machine.actuator('stick').joint, 'relief': 'pump'}
    assert pumps == {'boom': [], 'stick': [stick], 'swing': [{'pump': 'main', 'relief': 'pump'}]}


def test_parameters_of_actuators_in_another_node_are_set_by_name(winches):
    """A machine without oil has no factor of the bulk modulus; setting it changes no parameter."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    machine = replace(machine, actuators=(WinchRecord('winch', 'swing_joint'),))
    system = ActuatorSystem(machine)
    system.set_parameter('bulk_modulus_scale', 0.5)
    assert system.parameters.tolist() == [2.0, 0.0]
    system.set_parameter('winch/resistance', 4.0)
    system.start(np.zeros(1), np.array([800.0]))
    assert system.oil.tolist() == [2.0]
    mean = system.advance(0.1, np.zeros(1), np.zeros(1), np.zeros(1), np.array([8.0]))
    assert mean == pytest.approx([800.0])  # 8 V against 4 ohm hold 2 A
