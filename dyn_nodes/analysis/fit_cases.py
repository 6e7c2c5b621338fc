"""Coverage of a fit's intervals and accuracy of its values, on logs of simulated machines with true parameters.

Every case is a run of the machine with different random levers, payload, dead time, sensor errors and noise, and a
different wrong machine as the starting point. The same number gives the same case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dyn_nodes.analysis.machine_fit import (
    SEEN_COMBINATION,
    SHARED,
    MachineFit,
    dry_is_seen,
    fit_machine,
    is_seen,
    valve_quantities,
)
from dyn_nodes.analysis.mechanics import JointMechanics
from dyn_nodes.analysis.mechanics_fit import Quantity
from dyn_nodes.analysis.simulated_log import (
    PERIOD,
    LogSensors,
    Recorder,
    TrueRun,
    drawn_errors,
    measured,
    with_friction,
)
from dyn_nodes.analysis.valve_fit import PARAMETERS, SENSORS, start_values
from dyn_nodes.common.processes import LastingPool
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine

SENSORS_OF_CASES = LogSensors(position_offset=0.02, pressure_offset=5e4, gyroscope_bias=5e-4, accelerometer_bias=0.03)
LATEST = 12
"""Greatest dead time in periods of 10 ms."""
LIGHTEST, HEAVIEST = 0.0, 0.25
"""Range of payloads as parts of the limit of the mount: the machine is stable at any reach."""
WRONG = 0.3
"""Greatest relative deviation of the values of the wrong machine."""
DRY_SHARE, LEAKAGE = 0.02, 3e-12
"""Dry friction of the true machine as a part of the greatest effort of a drive; leakage, m3/(s Pa)."""
GROUPS = ('dead_time', 'gain', 'dead_zone', 'lag', 'supply', 'leakage', 'viscous', 'friction', 'offset', 'inertial')


@dataclass(frozen=True)
class Check:
    """One parameter of one case.

    Attributes:
        group: one of `GROUPS`.  name: name of the parameter.
        held: whether the interval contains the truth.
        error: relative to the truth; for a combination of inertial parameters relative to its typical size; for times
            absolute, s.
        seen: whether the log determines the parameter.
        half: half width of its interval, scaled like `error`.
    """

    group: str
    name: str
    held: bool
    error: float
    seen: bool
    half: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def true_machine(machine: Machine) -> Machine:
    """Return a machine with dry friction and leakage, like a real machine."""
    friction = {}
    for actuator in machine.actuators:
        record = hydraulic(actuator)
        push = record.areas[0] * record.supply.relief_pressure
        friction[actuator.joint] = DRY_SHARE * push * (0.5 if hasattr(record, 'linkage') else 1.0)
    return with_friction(machine, friction, {actuator.name: LEAKAGE for actuator in machine.actuators})


def wrong_machine(machine: Machine, rng: np.random.Generator) -> Machine:
    """Return a machine with values up to `WRONG` off, without dry friction and leakage."""

    def off() -> float:
        return float(1.0 + WRONG * rng.uniform(-1.0, 1.0))

    links = []
    for link in machine.links:
        factor = off()
        links.append(
            replace(link, mass=factor * link.mass, inertia=factor * off() * link.inertia, com=off() * link.com)
        )
    actuators: list[Any] = []
    for actuator in machine.actuators:
        record: Any = hydraulic(actuator)
        names = ('inlet_gain', 'outlet_gain', 'bypass_area', 'dead_zone', 'time_constant')
        valve = replace(record.valve, **{name: off() * getattr(record.valve, name) for name in names})
        flow, modulus = 0.5 * (1.0 + off()) * record.supply.flow, off() * record.supply.bulk_modulus
        supply = replace(record.supply, flow=flow, bulk_modulus=modulus)
        actuators.append(replace(record, valve=valve, supply=supply, viscous=off() * record.viscous, leakage=0.0))
    joints = tuple(replace(joint, friction=0.0) for joint in machine.joints)
    return replace(machine, links=tuple(links), actuators=tuple(actuators), joints=joints)


class CaseRig:
    """Simulation and fit of the cases of one machine.

    Args:
        machine: machine with hydraulic actuators.
        seconds: duration of each log; its last quarter is held out.
        sensors: sensors of the logs.
    """

    def __init__(self, machine: Machine, seconds: float = 80.0, sensors: LogSensors = SENSORS_OF_CASES) -> None:
        self.machine = true_machine(machine)
        self.seconds, self.sensors = seconds, sensors
        self.recorder = Recorder(self.machine)
        self._truth = JointMechanics(self.machine, tuple(actuator.name for actuator in machine.actuators))

    def run(self, number: int) -> TrueRun:
        """Return the run of a case."""
        rng = np.random.default_rng([number, 2])
        limit = self.machine.payload.limit if self.machine.payload is not None else 0.0
        payload = limit * float(rng.uniform(LIGHTEST, HEAVIEST))
        self.recorder.reset(payload)
        return self.recorder.random(self.seconds, number, PERIOD * float(rng.integers(0, LATEST + 1)))

    def fit(self, number: int, run: TrueRun) -> MachineFit:
        """Return the fit of a case, from a wrong machine."""
        wrong = wrong_machine(self.machine, np.random.default_rng([number, 3]))
        return fit_machine(wrong, measured(run, self.sensors, number), run.payload)

    def checks(self, number: int, run: TrueRun, fit: MachineFit) -> Iterator[Check]:
        """Yield the check of every parameter."""
        for name, valve in fit.valves.items():
            yield from self._valve_checks(run, name, valve)
            for key, quantity in valve_quantities(valve).items():
                if key in SHARED:
                    truth = getattr(hydraulic(self.machine.actuator(name)).valve, key)
                    group = 'dead_zone' if key == 'dead_zone' else 'gain'
                    yield _check(group, f'{name}.{key}', quantity, truth, is_seen(key, quantity))
        if fit.mechanics is not None:
            yield from self._mechanics_checks(number, run, fit)

    def _valve_checks(self, run: TrueRun, name: str, fit: Any) -> Iterator[Check]:
        truth = start_values(hydraulic(self.machine.actuator(name)))
        truth[PARAMETERS.index('dead_time')] += run.dead_time
        groups = {'dead_time': 'dead_time', 'time_constant': 'lag', 'leakage': 'leakage'}
        groups |= dict.fromkeys(('flow', 'bulk_modulus', 'bypass_area', 'bypass_stroke'), 'supply')
        for k, key in enumerate(PARAMETERS):
            if key in SENSORS or key == 'joint_offset':
                continue
            base = key.partition('.')[0]
            group = groups.get(key, 'dead_zone' if base == 'dead_zone' else 'gain')
            quantity = Quantity(float(fit.values[k]), float(fit.half_widths[k]), float(fit.before[k]))
            scale = 1.0 if key == 'dead_time' else None
            yield _check(group, f'{name}.{key}', quantity, float(truth[k]), is_seen(base, quantity), scale)

    def _mechanics_checks(self, number: int, run: TrueRun, fit: MachineFit) -> Iterator[Check]:
        fitted, mechanics = fit.mechanics, self._truth
        assert fitted is not None
        for name, quantity in fitted.viscous.items():
            truth = hydraulic(self.machine.actuator(name)).viscous
            yield _check('viscous', f'{name}.viscous', quantity, truth, is_seen('viscous', quantity))
        for name, quantity in fitted.dry.items():
            yield _check(
                'friction', f'{name}.friction', quantity, self.machine.joint(name).friction, dry_is_seen(fit, name)
            )
        offsets = drawn_errors(run, self.sensors, number).offsets
        for name, value in zip(mechanics.joints, offsets):
            quantity = fitted.offsets[name]
            yield _check('offset', f'{name}.offset', quantity, float(value), quantity.half_width < 0.01, 1.0)
        truths = fitted.base.matrix @ mechanics.start
        for k, (quantity, value) in enumerate(zip(fitted.combinations, truths)):
            scale = float(np.sqrt(((fitted.base.matrix[k] * mechanics.start) ** 2).sum())) or float(
                fitted.base.scales[k]
            )
            seen = quantity.half_width < SEEN_COMBINATION * fitted.base.scales[k]
            yield _check('inertial', fitted.base.text(k), quantity, float(value), seen, scale)


def _check(group: str, name: str, quantity: Quantity, truth: float, seen: bool, scale: float | None = None) -> Check:
    size = scale if scale is not None else abs(truth) or 1.0
    error, half = float((quantity.value - truth) / size), float(quantity.half_width / size)
    return Check(group, name, bool(quantity.holds(truth)), error, bool(seen), half)


def run_cases(numbers: Sequence[int], seconds: float, jobs: int = 1) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield number and result of cases of the log-loader, in order.

    A result has the `case`, its `checks`, the NRMSE of the `speeds` by joint and the `failures` of the fit; it is None
    if the machine overturned.

    Args:
        numbers: numbers of the cases.
        seconds: duration of each log.
        jobs: number of processes; the results do not depend on them.
    """
    result_of = partial(_result, seconds)
    if jobs == 1:
        yield from zip(numbers, map(result_of, numbers))
        return
    with LastingPool(jobs, name='case') as pool:
        yield from zip(numbers, pool.map(result_of, numbers))


@lru_cache(maxsize=1)
def log_loader_rig(seconds: float) -> CaseRig:
    """Return the rig of the log-loader for logs of a duration, s."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return CaseRig(machine, seconds)


def _result(seconds: float, number: int) -> dict[str, Any] | None:
    rig = log_loader_rig(seconds)
    run = rig.run(number)
    if rig.recorder.plant.overturned:
        return None
    fit = rig.fit(number, run)
    speeds = {} if fit.validation is None else {k: joint.nrmse for k, joint in fit.validation.joints.items()}
    checks = [check.as_dict() for check in rig.checks(number, run, fit)]
    return {'case': number, 'checks': checks, 'speeds': speeds, 'failures': list(fit.failures)}
