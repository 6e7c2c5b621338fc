"""Runs of the planar machine of chapters 4 to 6, for the studies: one case in, numbers and histories out.

Rotations are reported as the source draws them: nose up positive, so that tipping over the front edge is negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import Segment, VoltageProfile, load_voltage_profile
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Karnopp, Machine, Wheel
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.hybrid import Event, HybridModel
from dyn_nodes.studies.abo_shanab_2003.pinned_planar import PinnedPlanarModel
from dyn_nodes.studies.abo_shanab_2003.printed_friction import PrintedArmDynamics
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import STANDING, RigidPlanarModel

Contact = Literal['rigid', 'no_skid', 'middle_held', 'friction']
FrictionModel = Literal['lugre', 'karnopp']
Arm = Literal['edge', 'ground', 'source']
Inertia = Literal['literal', 'axis']

STATIC, KINETIC = 0.05, 0.03  # of the wheels, section 6.4 of the source
SAMPLE = 0.01  # s
STEP = 5e-4  # s
SLIDING = 0.005  # m/s; a base that is faster counts as sliding
POSTURES: Mapping[str, tuple[float, float]] = {
    # boom and stick at the start, degrees (section 3 of the specification)
    'planar_pick_and_place': (55.0, -105.0),
    'planar_friction': (44.0, -90.5),
    'planar_slope_lift': (10.0, -55.0),
}
P1, P2, S1 = POSTURES


@dataclass(frozen=True)
class Case:
    """One run. The scales multiply the machine's values.

    Attributes:
        task: file of config/tasks, without suffix.
        contact: `rigid` (chapter 4), `no_skid` (chapter 5), `middle_held` (the same with the middle of the base held
            horizontally), `friction` (chapter 6).
        inertia: reading of table 4.2.
        friction: model.
        arm: point of the friction force and slip speed: the `edge`, or the `ground` below it; `source`: the lever arm
            as printed, with the speed of the edge (`printed_friction`).
        static: friction coefficient; the kinetic one is 0.6 times it.
        payload: kg.
        drop_tilt: rotation at which the payload is dropped, degrees; rigid contact only.
        slope: degrees, front downhill.
        posture: boom and stick at the start, degrees; None: of the task.
        recovery: False omits the recovery.
        segments: (start, end, ramp, boom, stick), s and V, instead of the task's voltages; duration 20 s.
    """

    task: str = P1
    contact: Contact = 'rigid'
    inertia: Inertia = 'literal'
    friction: FrictionModel = 'lugre'
    arm: Arm = 'edge'
    static: float = STATIC
    payload: float = 5000.0
    stiffness: float = 1.0
    damping: float = 1.0
    bulk_modulus: float = 1.0
    slope: float = 0.0
    drop_tilt: float = math.inf
    posture: tuple[float, float] | None = None
    recovery: bool = True
    segments: tuple[tuple[float, float, float, float, float], ...] = ()
    step: float = STEP


@dataclass(frozen=True, eq=False)
class PlanarOutcome:
    """Result of a case.

    Attributes:
        peak: greatest rotation of the base, degrees, without sign; infinity if it overturned.
        peak_time: s.
        onset: first lift-off of an edge, s; NaN if no edge lifts.
        returned: both edges are on the ground at the end.
        end_time: s.
        slide: greatest backward displacement of the middle of the base, m.
        friction: mean magnitude of the total friction force while the base slides, N.
        time: (t,) s.
        series: histories (t,) by name: `rotation`, `rotation_rate`, `boom`, `stick` (degrees), `x`, `rear_height`,
            `front_height`, pressures, forces, moments.
        events: of a hybrid model.
    """

    case: Case
    status: str
    peak: float
    peak_time: float
    onset: float
    returned: bool
    end_time: float
    slide: float
    friction: float
    time: Array
    series: dict[str, Array] = field(repr=False)
    events: tuple[Event, ...] = ()

    @property
    def overturned(self) -> bool:
        """True if the base turned beyond 80 degrees."""
        return math.isinf(self.peak)

    def at(self, name: str, time: float) -> float:
        """Return the value of a history at a time, interpolated between samples."""
        return float(np.interp(time, self.time, self.series[name]))

    def first(self, kind: str) -> Event:
        """Return the first event of a kind. Raises StopIteration if no event has this kind."""
        return next(event for event in self.events if event.kind == kind)


@cache
def planar_machine(inertia: Inertia = 'literal') -> Machine:
    """Return the planar log-loader in a reading of its table of inertias."""
    machine = load_machine(find_resource('urdf/log_loader_planar.urdf'), find_resource('config/log_loader_planar.yaml'))
    return planar_inertia(machine, inertia)


def planar_inertia(machine: Machine, reading: Inertia) -> Machine:
    """Return the machine with its moments of inertia about y read in one of two ways (spec 2.0).

    Args:
        machine: with the printed numbers as moments about the mass centre.
        reading: `literal`: unchanged; `axis`: the numbers are about the proximal joint, for the base about the rear
            edge, as in the header of the source's table 4.2.
    """
    if reading not in ('literal', 'axis'):
        raise ValueError(f"inertia: expected 'literal' or 'axis', found {reading!r}")
    if reading == 'literal':
        return machine
    links = []
    rear = min(machine.wheels, key=lambda wheel: float(wheel.position[0])).position
    for link in machine.links:
        arm = link.com - rear if link.name == machine.base.link else link.com
        tensor = np.array(link.inertia)
        tensor[1, 1] -= link.mass * float(arm[0] ** 2 + arm[2] ** 2)
        # moments about x and z do not affect planar motion; a thin body keeps the tensor physical
        tensor[0, 0], tensor[2, 2] = 0.1 * tensor[1, 1], tensor[1, 1]
        links.append(replace(link, inertia=tensor))
    return replace(machine, links=tuple(links))


def with_friction(machine: Machine, model: FrictionModel, arm: Arm) -> Machine:
    """Return the machine with another friction model on its wheels and the same coefficients and struts."""
    point: Literal['ground', 'attachment'] = 'ground' if arm == 'ground' else 'attachment'

    def changed(wheel: Wheel) -> Wheel:
        friction = wheel.friction
        if model == 'karnopp':
            friction = Karnopp(STATIC, KINETIC, wheel.stiffness, wheel.damping)
        return replace(wheel, friction=friction, friction_point=point)

    return replace(machine, wheels=tuple(changed(wheel) for wheel in machine.wheels))


@cache
def hybrid_model(contact: Contact, inertia: Inertia) -> HybridModel:
    """Return the compiled rigid or pinned model."""
    machine = planar_machine(inertia)
    if contact == 'rigid':
        return RigidPlanarModel(machine)
    return PinnedPlanarModel(machine, reference='edges' if contact == 'no_skid' else 'middle')


@cache
def friction_system(model: FrictionModel, arm: Arm, inertia: Inertia) -> System:
    """Return the compiled machine on compliant wheels with friction."""
    machine = with_friction(planar_machine(inertia), model, arm)
    return System.of(PrintedArmDynamics(machine)) if arm == 'source' else System(machine)


@cache
def profile(task: str, recovery: bool = True) -> VoltageProfile:
    """Return a task's voltages."""
    return load_voltage_profile(find_resource(f'config/tasks/{task}.yaml'), ('boom', 'stick'), recovery)


def segment_profile(segments: tuple[tuple[float, float, float, float, float], ...]) -> VoltageProfile:
    """Return the voltages of a case with segments."""
    parts = tuple(
        Segment(f'segment {k + 1}', start, end, ramp, {'boom': boom, 'stick': stick})
        for k, (start, end, ramp, boom, stick) in enumerate(segments)
    )
    return VoltageProfile('own', 20.0, parts)


def random_manoeuvres(count: int, seed: int = 2003) -> list[Case]:
    """Return manoeuvres like P1 without selection: start, voltages, stop and recovery drawn at random (spec 6.11)."""
    generator = np.random.default_rng(seed)
    cases = []
    for _ in range(count):
        draw = generator.uniform
        stop, ramp = draw(8.0, 9.6), draw(0.15, 0.6)
        out = (5.0, stop, ramp, -draw(4.5, 6.0), -draw(5.0, 6.5))
        back = stop + draw(0.8, 2.5)
        home = (back, back + 3.5, ramp, draw(3.5, 5.0), draw(2.5, 4.0))
        cases.append(Case(contact='no_skid', posture=(draw(40.0, 60.0), draw(-115.0, -90.0)), segments=(out, home)))
    return cases


def rocks_and_returns(run: PlanarOutcome) -> bool:
    """Return True if a manoeuvre counts in the specification: it rocks by 2.5 to 20 degrees and returns."""
    return run.returned and 2.5 <= run.peak <= 20.0


def profile_inputs(task: VoltageProfile) -> Inputs:
    """Return the inputs of a run."""
    knots = task.knot_times
    volts = task.evaluate(knots, ('boom', 'stick'))
    return Inputs(knots, {'boom/voltage': volts[:, 0], 'stick/voltage': volts[:, 1]})


def simulate(case: Case) -> PlanarOutcome:
    """Run a case."""
    task = segment_profile(case.segments) if case.segments else profile(case.task, case.recovery)
    times: Array = np.asarray(np.arange(round(task.duration / SAMPLE) + 1) * SAMPLE, dtype=np.float64)
    boom, stick = case.posture or POSTURES[case.task]
    joints = {'boom_joint': math.radians(boom), 'stick_joint': math.radians(stick)}
    values = {
        'payload_mass': case.payload,
        'wheel_stiffness_scale': case.stiffness,
        'wheel_damping_scale': case.damping,
        'friction_scale': case.static / STATIC,
        'bulk_modulus_scale': case.bulk_modulus,
    }
    if case.contact == 'friction':
        return _with_friction(case, profile_inputs(task), times, joints, values)
    return _hybrid(case, profile_inputs(task), times, joints, values)


def _hybrid(
    case: Case, inputs: Inputs, times: Array, joints: Mapping[str, float], values: dict[str, float]
) -> PlanarOutcome:
    model = hybrid_model(case.contact, case.inertia)
    if math.isfinite(case.drop_tilt):
        values['drop_tilt'] = math.radians(case.drop_tilt)
    p = model.parameters(values, slope=math.radians(case.slope))
    assert isinstance(model, (RigidPlanarModel, PinnedPlanarModel))
    start = model.initial_state(p, joints)
    run = model.run(start, model.first_mode, times, inputs, p, case.step)
    series = _common(run)
    if case.contact == 'rigid':
        series['moment_front'], series['moment_rear'] = run.output('moment_front'), run.output('moment_rear')
        series['standing'] = run.in_mode(STANDING).astype(float)
        series |= _rigid_heights(model, series['rotation'], run.modes)
        returned = bool(series['standing'][-1]) and run.status == 'done'
    else:
        series['rear_height'], series['front_height'] = run.output('rear/height'), run.output('front/height')
        returned = run.status == 'done' and _down(model.machine, series)
    series['rear_normal'], series['front_normal'] = run.output('rear/normal_force'), run.output('front/normal_force')
    lifted = [event.time for event in run.events if event.kind == 'lift_off']
    onset = lifted[0] if lifted else _lift_time(model.machine, run.times, series)
    return _outcome(case, run.status, run.times, series, onset, returned, run.end_time, tuple(run.events))


def _rigid_heights(model: HybridModel, rotation: Array, modes: NDArray[np.int64]) -> dict[str, Array]:
    assert isinstance(model, RigidPlanarModel)
    rise = model.length * np.sin(np.abs(np.radians(rotation)))
    front = modes == model.modes.index('front')
    return {'rear_height': np.where(front, rise, 0.0), 'front_height': np.where(front, 0.0, rise)}


def _with_friction(
    case: Case, inputs: Inputs, times: Array, joints: Mapping[str, float], values: dict[str, float]
) -> PlanarOutcome:
    system = friction_system(case.friction, case.arm, case.inertia)
    p = system.parameters(values, slope=(0.0, math.radians(case.slope)))
    run = system.run(initial_state(system, p, joints), times, inputs, p, Settings(step=case.step))
    series = _common(run)
    series['x'], series['speed'] = run.state('base_x') - run.state('base_x')[0], run.state('base_x_rate')
    for wheel in ('rear', 'front'):
        series[f'{wheel}_height'] = run.output(f'{wheel}/height')
        series[f'{wheel}_normal'] = run.output(f'{wheel}/normal_force')
        series[f'{wheel}_friction'] = run.output(f'{wheel}/friction_longitudinal')
        series[f'{wheel}_slip'] = run.output(f'{wheel}/slip_longitudinal')
    status = 'overturned' if run.overturned else run.status
    returned = status == 'done' and _down(system.machine, series)
    onset = _lift_time(system.machine, run.times, series)
    return _outcome(case, status, run.times, series, onset, returned, run.end_time)


def _common(run) -> dict[str, Array]:  # type: ignore[no-untyped-def]
    degrees = {'rotation': 'base_pitch', 'boom': 'boom_joint', 'stick': 'stick_joint'}
    series = {name: np.degrees(run.state(state)) for name, state in degrees.items()}
    series['rotation'] = -series['rotation']
    series['rotation_rate'] = -run.state('base_pitch_rate')
    for actuator in ('boom', 'stick'):
        for line in ('head', 'rod'):
            series[f'{actuator}_{line}'] = run.state(f'{actuator}/{line}_pressure')
    return series


def _down(machine: Machine, series: Mapping[str, Array]) -> bool:
    return all(series[f'{wheel.name}_height'][-1] < wheel.free_length for wheel in machine.wheels)


def _lift_time(machine: Machine, times: Array, series: Mapping[str, Array]) -> float:
    up = np.zeros(len(times), np.bool_)
    for wheel in machine.wheels:
        up |= series[f'{wheel.name}_height'] >= wheel.free_length
    return float(times[np.argmax(up)]) if up.any() else math.nan


def _outcome(
    case: Case,
    status: str,
    time: Array,
    series: dict[str, Array],
    onset: float,
    returned: bool,
    end_time: float,
    events: tuple[Event, ...] = (),
) -> PlanarOutcome:
    # the attitude at rest on the springs is included in the rotation
    size = np.abs(series['rotation'])
    index = int(np.argmax(size))
    slide = max(0.0, -float(series['x'].min())) if 'x' in series else 0.0
    friction = math.nan
    if 'speed' in series:
        sliding = np.abs(series['speed']) > SLIDING
        total = np.abs(series['rear_friction'] + series['front_friction'])
        friction = float(total[sliding].mean()) if sliding.any() else math.nan
    peak, peak_time = (math.inf, end_time) if status == 'overturned' else (float(size[index]), float(time[index]))
    return PlanarOutcome(
        case, status, peak, peak_time, onset, returned, end_time, slide, friction, time, series, events
    )
