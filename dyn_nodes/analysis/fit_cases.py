"""How often the intervals of a fit hold the truth, and how near its numbers come: logs of a machine that is known.

Every case is another run of the machine, under other random levers, with another payload, dead time, sensor errors and
noise; and another wrong machine to start from. The same number gives the same case.
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
"""Dead times are up to this many periods of 10 ms."""
LIGHTEST, HEAVIEST = 0.0, 0.25
"""Payloads, as parts of the limit of the mount: the machine stands at any reach."""
WRONG = 0.3
"""Numbers of the wrong machine are up to this part off."""
DRY_SHARE, LEAKAGE = 0.02, 3e-12
"""Dry friction of the true machine as a part of the greatest effort of a drive, and its leakage, m3/(s Pa)."""
GROUPS = ('dead_time', 'gain', 'dead_zone', 'lag', 'supply', 'leakage', 'viscous', 'friction', 'offset', 'inertial')


@dataclass(frozen=True)
class Check:
    """One number of one case.

    Attributes:
        group: one of `GROUPS`.  name: of the number.
        held: the interval holds the truth.
        error: relative to the truth; of a combination of inertial parameters to its natural size; of times absolute, s.
        seen: the log shows the number.
        half: half the width of its interval, as `error`.
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
    """Return a machine with dry friction and leakage, as real ones have."""
    friction = {}
    for own in machine.actuators:
        record = hydraulic(own)
        push = record.areas[0] * record.supply.relief_pressure
        friction[own.joint] = DRY_SHARE * push * (0.5 if hasattr(record, 'linkage') else 1.0)
    return with_friction(machine, friction, {own.name: LEAKAGE for own in machine.actuators})


def wrong_machine(machine: Machine, rng: np.random.Generator) -> Machine:
    """Return a machine with numbers up to `WRONG` off, without dry friction and leakage."""

    def off() -> float:
        return float(1.0 + WRONG * rng.uniform(-1.0, 1.0))

    links = []
    for own in machine.links:
        factor = off()
        links.append(replace(own, mass=factor * own.mass, inertia=factor * off() * own.inertia, com=off() * own.com))
    actuators: list[Any] = []
    for one in machine.actuators:
        record: Any = hydraulic(one)
        names = ('inlet_gain', 'outlet_gain', 'bypass_area', 'dead_zone', 'time_constant')
        valve = replace(record.valve, **{name: off() * getattr(record.valve, name) for name in names})
        flow, modulus = 0.5 * (1.0 + off()) * record.supply.flow, off() * record.supply.bulk_modulus
        supply = replace(record.supply, flow=flow, bulk_modulus=modulus)
        actuators.append(replace(record, valve=valve, supply=supply, viscous=off() * record.viscous, leakage=0.0))
    joints = tuple(replace(own, friction=0.0) for own in machine.joints)
    return replace(machine, links=tuple(links), actuators=tuple(actuators), joints=joints)


class CaseRig:
    """Runs and fits cases of one machine.

    Args:
        machine: with hydraulic actuators.
        seconds: of each log; its last quarter is held out.
        sensors: of the logs.
    """

    def __init__(self, machine: Machine, seconds: float = 80.0, sensors: LogSensors = SENSORS_OF_CASES) -> None:
        self.machine = true_machine(machine)
        self.seconds, self.sensors = seconds, sensors
        self.recorder = Recorder(self.machine)
        self._truth = JointMechanics(self.machine, tuple(own.name for own in machine.actuators))

    def run(self, number: int) -> TrueRun:
        """Return the run of a case."""
        rng = np.random.default_rng([number, 2])
        limit = self.machine.payload.limit if self.machine.payload is not None else 0.0
        payload = limit * float(rng.uniform(LIGHTEST, HEAVIEST))
        self.recorder.begin(payload)
        return self.recorder.random(self.seconds, number, PERIOD * float(rng.integers(0, LATEST + 1)))

    def fit(self, number: int, run: TrueRun) -> MachineFit:
        """Return the fit of a case, from a wrong machine."""
        wrong = wrong_machine(self.machine, np.random.default_rng([number, 3]))
        return fit_machine(wrong, measured(run, self.sensors, number), run.payload)

    def checks(self, number: int, run: TrueRun, fit: MachineFit) -> Iterator[Check]:
        """Yield what became of every number."""
        for name, own in fit.valves.items():
            yield from self._valve_checks(run, name, own)
            for key, quantity in valve_quantities(own).items():
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
        own, mechanics = fit.mechanics, self._truth
        assert own is not None
        for name, quantity in own.viscous.items():
            truth = hydraulic(self.machine.actuator(name)).viscous
            yield _check('viscous', f'{name}.viscous', quantity, truth, is_seen('viscous', quantity))
        for name, quantity in own.dry.items():
            yield _check(
                'friction', f'{name}.friction', quantity, self.machine.joint(name).friction, dry_is_seen(fit, name)
            )
        offsets = drawn_errors(run, self.sensors, number).offsets
        for name, value in zip(mechanics.joints, offsets):
            quantity = own.offsets[name]
            yield _check('offset', f'{name}.offset', quantity, float(value), quantity.half_width < 0.01, 1.0)
        truths = own.base.matrix @ mechanics.start
        for k, (quantity, value) in enumerate(zip(own.combinations, truths)):
            scale = float(np.sqrt(((own.base.matrix[k] * mechanics.start) ** 2).sum())) or float(own.base.scales[k])
            seen = quantity.half_width < SEEN_COMBINATION * own.base.scales[k]
            yield _check('inertial', own.base.text(k), quantity, float(value), seen, scale)


def _check(group: str, name: str, quantity: Quantity, truth: float, seen: bool, scale: float | None = None) -> Check:
    size = scale if scale is not None else abs(truth) or 1.0
    error, half = float((quantity.value - truth) / size), float(quantity.half_width / size)
    return Check(group, name, bool(quantity.holds(truth)), error, bool(seen), half)


def run_cases(numbers: Sequence[int], seconds: float, jobs: int = 1) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield number and result of cases of the log-loader, in their order.

    A result has the `case`, its `checks`, the NRMSE of the `speeds` by joint and the `failures` of the fit; it is None
    where the machine overturned.

    Args:
        numbers: of the cases.
        seconds: of each log.
        jobs: processes; the results do not depend on them.
    """
    result_of = partial(_result, seconds)
    if jobs == 1:
        yield from zip(numbers, map(result_of, numbers))
        return
    with LastingPool(jobs, name='case') as pool:
        yield from zip(numbers, pool.map(result_of, numbers))


@lru_cache(maxsize=1)
def log_loader_rig(seconds: float) -> CaseRig:
    """Return the rig of the log-loader for logs of a time, s."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return CaseRig(machine, seconds)


def _result(seconds: float, number: int) -> dict[str, Any] | None:
    rig = log_loader_rig(seconds)
    run = rig.run(number)
    if rig.recorder.plant.overturned:
        return None
    fit = rig.fit(number, run)
    speeds = {} if fit.validation is None else {k: one.nrmse for k, one in fit.validation.joints.items()}
    checks = [one.as_dict() for one in rig.checks(number, run, fit)]
    return {'case': number, 'checks': checks, 'speeds': speeds, 'failures': list(fit.failures)}
