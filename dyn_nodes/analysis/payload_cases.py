"""Random cases of a machine that works with a payload, and their measurements.

    rig = CaseRig(rough_machine(machine))
    measured = measure_case(rig, random_case(rig, np.random.default_rng(1)))

The random quantities are the uncertain quantities of an estimator, with the deviations of its configuration
(:class:`PayloadSettings`), so that its interval can be compared with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control import Segment, VoltageProfile
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import MachineError
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.monitor.payload_model import PayloadModel
from dyn_nodes.monitor.payload_settings import PayloadSettings, capacities
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.run import SystemRun

DRY_FRICTION = 0.01
"""Dry friction of the joints of :func:`rough_machine`, as a part of the capacity of their actuators."""
REST, MOTION = 0.3, 3.2
"""Duration of a case at rest before the levers move, and after that, s."""
TRIES = 50
STEEPEST = np.radians(3.0)


@dataclass(frozen=True)
class PayloadCase:
    """One machine with one payload under one lever sequence.

    Attributes:
        joints: (n,) positions at the start, rad.
        segments: (start, end, s; volts of every lever).
        payload: kg; `payload_after` after `step_time`.
        payload_after, step_time: kg, s; the time is infinite without a step.
        slope: (roll, pitch), rad.
        dry: relative excess of the dry friction of each row over the machine file.
        offsets: prior mean of the estimator by column; the true value is zero.
        pressure_offsets: offsets of the sensors, Pa.
        seed: seed of the sensors' noise.
        later: (time, s; payload, kg) of changes after the first, in order of time.
        duration: s.
    """

    joints: tuple[float, ...]
    segments: tuple[tuple[float, float, tuple[float, ...]], ...]
    payload: float
    payload_after: float
    step_time: float
    slope: tuple[float, float]
    dry: tuple[float, ...]
    offsets: dict[str, float]
    pressure_offsets: tuple[float, ...]
    seed: int
    later: tuple[tuple[float, float], ...] = ()
    duration: float = REST + MOTION


@dataclass(frozen=True, eq=False)
class PayloadRun:
    """Measurements of a case.

    Attributes:
        time: (t,) s.
        positions, velocities: (t, n).
        angular_velocity, specific_force: (t, 3) measurements of the base.
        pressures: (t, p) of the model's lines, Pa.
        payload: (t,) true payload, kg.
    """

    time: Array
    positions: Array
    velocities: Array
    angular_velocity: Array
    specific_force: Array
    pressures: Array
    payload: Array


def rough_machine(machine: Machine) -> Machine:
    """Return a machine whose joints that carry the payload have dry friction."""
    model = PayloadModel(machine)
    dry = dict(zip(model.rows, DRY_FRICTION * capacities(model)))
    joints = (replace(joint, friction=float(dry.get(joint.name, joint.friction))) for joint in machine.joints)
    return replace(machine, joints=tuple(joints))


class CaseRig:
    """Simulated machine of the cases.

    Args:
        machine: machine with dry friction (`rough_machine`).
        settings: settings of the estimator, with the deviations of the random cases.
    """

    def __init__(self, machine: Machine, settings: PayloadSettings | None = None) -> None:
        self.machine, self.settings = machine, settings or PayloadSettings()
        self.model, self.system = PayloadModel(machine), System(machine)

    def start(self, case: PayloadCase) -> Array:
        """Return the initial state. Raise NoEquilibriumError if the machine has no equilibrium."""
        joints = dict(zip(self.model.joints, case.joints))
        joints = {name: joints[name] for name in self.model.independent}
        return initial_state(self.system, self.parameters(case, case.payload), joints)

    def parameters(self, case: PayloadCase, payload: float) -> Array:
        """Return the parameters of the simulated machine."""
        dry = zip(self.model.rows, case.dry)
        friction = {row: (1.0 + part) * self.machine.joint(row).friction for row, part in dry}
        dry_friction = {
            f'{row}/friction': value for row, value in friction.items() if self.machine.joint(row).friction > 0.0
        }
        changed = {'payload_mass': payload, 'joint_stop_scale': 1.0, **dry_friction}
        return np.asarray(self.system.parameters(changed, case.slope))


def random_case(rig: CaseRig, rng: np.random.Generator, steps: bool = False) -> PayloadCase:
    """Return a case with an equilibrium at the start.

    Args:
        rig: rig of the machine.
        rng: random numbers.
        steps: the load is dropped or changed while the machine moves.

    Raises:
        NoEquilibriumError: no equilibrium in any of `TRIES` postures.
    """
    for _ in range(TRIES):
        case = _drawn(rig, rng, steps)
        try:
            rig.start(case)
        except (NoEquilibriumError, MachineError):
            continue  # linkages that do not close, too
        return case
    raise NoEquilibriumError(f'{rig.machine.name}: no equilibrium in any of {TRIES} random postures')


def _drawn(rig: CaseRig, rng: np.random.Generator, steps: bool) -> PayloadCase:
    machine, settings, model = rig.machine, rig.settings, rig.model
    limit = machine.payload.limit if machine.payload else 0.0
    payload = float(rng.uniform(0.0, limit) * (rng.random() > 0.15))
    after, when = payload, np.inf
    if steps:
        when = float(REST + rng.uniform(0.8, 1.8))
        after = 0.0 if payload > 0.25 * limit else float(payload + rng.uniform(0.2, 0.6) * limit)
    dry = np.maximum(settings.friction * rng.normal(size=len(model.rows)), -1.0)
    columns = dict.fromkeys(model.body_columns[1:4], settings.center)
    columns |= dict.fromkeys(model.bodies, settings.body_mass)
    columns |= {f'{name} viscous': settings.friction for name in model.actuators}
    return PayloadCase(
        joints=tuple(float(rng.uniform(*_inner(machine, name))) for name in model.joints),
        segments=_levers(machine, rng),
        payload=payload,
        payload_after=after,
        step_time=when,
        slope=(float(rng.uniform(-STEEPEST, STEEPEST)), float(rng.uniform(-STEEPEST, STEEPEST))),
        dry=tuple(dry.tolist()),
        offsets={name: float(spread * rng.normal()) for name, spread in columns.items()},
        pressure_offsets=tuple((settings.pressure_offset * rng.normal(size=len(model.lines))).tolist()),
        seed=int(rng.integers(2**31)),
    )


def _inner(machine: Machine, name: str) -> tuple[float, float]:
    """Return the middle 70 % of a joint's travel; half a turn for a joint without limits."""
    joint = machine.joint(name)
    if not np.isfinite([joint.lower, joint.upper]).all():
        return -0.5 * np.pi, 0.5 * np.pi
    span = joint.upper - joint.lower
    return joint.lower + 0.15 * span, joint.upper - 0.15 * span


def _levers(machine: Machine, rng: np.random.Generator) -> tuple[tuple[float, float, tuple[float, ...]], ...]:
    """Return ordinary work: one or two movements of all joints together, at 40 to 80 % of full lever."""
    count = int(rng.integers(1, 3))
    ends = np.linspace(REST, REST + MOTION - 0.1, count + 1)
    segments = []
    for start, end in pairwise(ends):
        volts = []
        for actuator in machine.actuators:
            volts.append(float(rng.choice([-1.0, 1.0]) * rng.uniform(0.4, 0.8) * actuator.command_limit))
        segments.append((float(start), float(end), tuple(volts)))
    return tuple(segments)


def simulate_case(rig: CaseRig, case: PayloadCase, rate: float = 200.0) -> list[SystemRun]:
    """Return the runs of a case, one for every interval of constant load."""
    names = [actuator.name for actuator in rig.machine.actuators]
    segments = tuple(
        Segment(f'move {k}', start, end, 0.3, dict(zip(names, volts)))
        for k, (start, end, volts) in enumerate(case.segments, 1)
    )
    profile = VoltageProfile('payload', case.duration, segments)
    volts = profile.evaluate(profile.knot_times, names)
    inputs = Inputs(profile.knot_times, {f'{name}/voltage': volts[:, k] for k, name in enumerate(names)})
    times = np.arange(round(case.duration * rate) + 1) / rate
    settings = Settings(step=0.1 / rate)
    last, changes = len(times) - 1, ((0.0, case.payload), (case.step_time, case.payload_after), *case.later)
    firsts = [min(int(np.searchsorted(times, time)), last) for time, _ in changes]
    state, runs = rig.start(case), []
    for first, stop, (_, payload) in zip(firsts, [*firsts[1:], last], changes):
        if first == stop:
            continue
        run = rig.system.run(state, times[first : stop + 1], inputs, rig.parameters(case, payload), settings)
        runs.append(run)
        if run.status != 'done':
            break
        state = run.states[-1]
    return runs


def measure_case(rig: CaseRig, case: PayloadCase, sensors: SensorModel | None = None) -> PayloadRun:
    """Return the measurements of a case; they end if the machine overturns."""
    sensors = replace(sensors or SensorModel(), seed=case.seed)
    runs = simulate_case(rig, case, sensors.rate)
    rng = np.random.default_rng(sensors.seed)
    parts = [_motion(rig, run) for run in runs]
    parts[1:] = [
        [signal[1:] for signal in part] for part in parts[1:]
    ]  # the sample at a step belongs to the previous run
    time, q, v, omega, specific_force, pressures, payload = (np.concatenate(signals) for signals in zip(*parts))
    raw = q + rng.normal(0.0, sensors.position_noise, q.shape)
    bias = rng.normal(0.0, sensors.gyroscope_bias, 3), rng.normal(0.0, sensors.accelerometer_bias, 3)
    white = rng.normal(0.0, rig.settings.pressure_noise, pressures.shape)
    return PayloadRun(
        time,
        np.round(raw / sensors.position_step) * sensors.position_step,
        v + rng.normal(0.0, sensors.velocity_noise, v.shape),
        omega + bias[0] + rng.normal(0.0, sensors.gyroscope_noise, omega.shape),
        specific_force + bias[1] + rng.normal(0.0, sensors.accelerometer_noise, specific_force.shape),
        pressures + np.array(case.pressure_offsets) + white,
        payload,
    )


def _motion(rig: CaseRig, run: SystemRun) -> list[Array]:
    """Return time, joints, base, pressures and payload of a run."""
    from scipy.spatial.transform import Rotation

    system, x = run.system, run.states
    nq, nv, n = system.nq, system.nv, len(rig.model.joints)
    base = [name.removesuffix('_rate') for name in system.state_names[nq + 3 : nq + 6]]
    spatial = np.column_stack([run.output(f'{name}_acceleration') for name in base])
    omega = x[:, nq : nq + 3]
    classical = spatial + np.cross(omega, x[:, nq + 3 : nq + 6])
    specific_force = classical - Rotation.from_quat(x[:, 3:7]).inv().apply(run.parameters[:3])
    pressures = np.column_stack([run.state(line) for line in rig.model.lines])
    payload = np.full(len(x), run.parameters[system.index('parameter', 'payload_mass')])
    return [run.times, x[:, nq - n : nq], x[:, nq + 6 : nq + nv], omega, specific_force, pressures, payload]
