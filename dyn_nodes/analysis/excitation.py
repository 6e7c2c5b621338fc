"""Lever sequences that excite unobserved parameters, chosen by information among those that the governor passes.

Candidates are random trapezoids of all levers that keep the joints within their ranges. Each is run on the simulated
machine through the tip-over governor, as `tip_over_governor_node` would; a candidate is dropped if the governor limits
a lever. The chosen candidates have information matrices with the greatest common determinant (D-optimal), or improve
the least visible parameters most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dyn_nodes.analysis.information import Block, Information, added
from dyn_nodes.analysis.machine_log import MachineLog
from dyn_nodes.analysis.simulated_log import PERIOD, LogSensors, Recorder, TrueRun, joint_ranges, lever_signs, measured
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import yaml_word
from dyn_nodes.control import Segment, VoltageProfile
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.multibody.inertial_sensor import read_imu

Criterion = Literal['determinant', 'worst']
SETTLING = 1.0
"""Time with levers at neutral before and after a sequence, s."""
SHORTEST, LONGEST, LEAST = 0.9, 2.6, 0.7
"""Shortest and longest segment, s, and least duration of a segment that is ended early."""
RAMPS = (0.15, 0.3)
LEAST_VOLTS, MOST_VOLTS = 0.12, (0.4, 1.0)
"""Least voltage and range of the greatest voltage as parts of the limit; each sequence draws its greatest voltage."""
RESTING = 0.25
"""Share of the segments in which a lever rests."""
LET_THROUGH = 0.98
"""Least share of the lever travel of a sequence that the governor must pass."""
EXACT = LogSensors(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, pressure_every=1)


class PlanError(UserError, ValueError):
    """No sequence can be proposed; the message has the reason."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate sequence.

    Attributes:
        profile: voltages.
        information: information matrices by block.
        let_through: share of the lever travel that the governor passed; 1 without a governor.
        overturned: whether the machine overturned.
    """

    profile: VoltageProfile
    information: dict[str, Array]
    let_through: float
    overturned: bool

    @property
    def allowed(self) -> bool:
        """Return whether the governor passed almost all of the sequence."""
        return not self.overturned and self.let_through >= LET_THROUGH


@dataclass(frozen=True, eq=False)
class ExcitationPlan:
    """Sequences to execute, each from the initial posture.

    Attributes:
        chosen: in the order of their added information.
        tried, dropped: number of candidates, and of candidates that the governor limited.
        governed: False if no governor is possible; the reason is in `remark`.
        blocks: blocks of parameters.
        before, after: half widths of the parameters' intervals by block, without and with the sequences.
    """

    chosen: tuple[Candidate, ...]
    tried: int
    dropped: int
    governed: bool
    remark: str
    blocks: dict[str, Block]
    before: dict[str, Array]
    after: dict[str, Array]


class Planner:
    """Generator and evaluator of sequences.

    Args:
        machine: nominal machine.
        payload: kg.
        seconds: duration of each sequence.
    """

    def __init__(self, machine: Machine, payload: float, seconds: float) -> None:
        self.machine, self.payload, self.seconds = machine, payload, seconds
        self.recorder = Recorder(machine, payload)
        self.information = Information(machine, payload)
        self.remark = ''
        self._rig: Rig | None = None
        try:
            box_of(machine)
            self._rig = Rig(machine)
        except ValueError as error:
            self.remark = str(error)

    @property
    def governed(self) -> bool:
        """Return whether the sequences go through the governor."""
        return self._rig is not None

    def candidate(self, seed: int) -> Candidate:
        """Return the candidate of a seed."""
        profile = self._made(seed)
        run, let_through = self.through_governor(profile)
        overturned = self.recorder.plant.overturned
        information = {} if overturned else self.information.of(measured(run, EXACT, seed))
        return Candidate(profile, information, let_through, bool(overturned))

    def _made(self, seed: int) -> VoltageProfile:
        """Return a random sequence that keeps the joints within their ranges, generated in a run without governor."""
        maker = _Maker(self.machine, np.random.default_rng([seed, 4]), self.seconds)
        self.recorder.reset(self.payload)
        plant = self.recorder.plant
        self.recorder.run(self.seconds, lambda time: maker.volts(time, plant.positions), every=1)
        return VoltageProfile(f'fit plan {seed}', self.seconds, tuple(maker.segments))

    def through_governor(self, profile: VoltageProfile) -> tuple[TrueRun, float]:
        """Run a sequence through the governor; return the run and the share of the lever travel that was passed."""
        names = tuple(actuator.name for actuator in self.machine.actuators)
        times = PERIOD * np.arange(round(profile.duration / PERIOD) + 1)
        levers = profile.evaluate(times, names)
        self.recorder.reset(self.payload)
        plant, passed = self.recorder.plant, 0.0
        partner = None if self._rig is None else self._rig.partner(True)
        if partner is not None:
            partner.restart(self.payload)

        def command(time: float) -> list[float]:
            nonlocal passed
            wanted = levers[round(time / PERIOD)]
            volts = wanted
            if partner is not None:
                partner.measure(Sample(time, plant.positions.copy(), plant.velocities.copy(), tuple(read_imu(plant))))
                volts = partner.command(wanted)
            passed += float(np.abs(volts).sum())
            return [float(value) for value in volts]

        run = self.recorder.run(profile.duration, command, every=1)
        wanted = float(np.abs(levers).sum())
        return run, passed / wanted if wanted else 1.0

    def plan(
        self,
        candidates: int,
        sequences: int,
        criterion: Criterion = 'determinant',
        seed: int = 0,
        log: MachineLog | None = None,
        progress: Callable[[], None] = lambda: None,
    ) -> ExcitationPlan:
        """Return the best sequences.

        Args:
            candidates: number of candidates.
            sequences: number of sequences to choose.
            criterion: greatest determinant, or best worst parameter.
            seed: seed of the random sequences.
            log: a log whose information is added.
            progress: called after every candidate.

        Raises:
            PlanError: the governor limited every candidate.
        """
        tried = []
        for k in range(candidates):
            tried.append(self.candidate(seed + k))
            progress()
        allowed = [candidate for candidate in tried if candidate.allowed]
        if not allowed:
            best = max(candidate.let_through for candidate in tried)
            raise PlanError(
                f'{self.machine.name}: expected a sequence that the governor passes, found {candidates} candidates; it '
                f'limited {100 * (1 - best):.0f} % or more: try a smaller payload or a posture nearer to the machine'
            )
        at_hand = {} if log is None else self.information.of(log)
        blocks = self.information.blocks
        sums = {name: at_hand.get(name, np.zeros((len(block.names),) * 2)) for name, block in blocks.items()}
        before = {name: block.half_widths(sums[name]) for name, block in blocks.items()}
        chosen: list[Candidate] = []
        for _ in range(min(sequences, len(allowed))):
            left = [candidate for candidate in allowed if candidate not in chosen]
            best_one = max(left, key=lambda candidate: score(blocks, added(sums, candidate.information), criterion))
            chosen.append(best_one)
            sums = added(sums, best_one.information)
        after = {name: block.half_widths(sums[name]) for name, block in blocks.items()}
        dropped = len(tried) - len(allowed)
        return ExcitationPlan(tuple(chosen), len(tried), dropped, self.governed, self.remark, blocks, before, after)


def score(blocks: dict[str, Block], information: dict[str, Array], criterion: Criterion) -> float:
    """Return the value of information: the sum of log determinants, or minus the lack of the worst parameters."""
    if criterion == 'determinant':
        return sum(block.gain(information[name]) for name, block in blocks.items())
    lacks = [block.missing(information[name]) for name, block in blocks.items()]
    worst = np.sort(np.concatenate(lacks))
    # unobservable parameters are the same for all candidates: compare the sum of logarithms of missing information
    return -float(np.sum(np.log(np.maximum(worst, 1.0))))


class _Maker:
    """Generator of segments during a run of the machine."""

    def __init__(self, machine: Machine, rng: np.random.Generator, seconds: float) -> None:
        self.machine, self.rng, self.seconds = machine, rng, seconds
        self.ranges, self.signs = joint_ranges(machine), lever_signs(machine)
        self.joints = [joint.name for joint in machine.movable_joints]
        self.segments: list[Segment] = []
        self._now: Segment | None = None
        self._next = SETTLING
        self._most = float(rng.uniform(*MOST_VOLTS))

    def volts(self, time: float, positions: Array) -> list[float]:
        """Return the volts at a time; a segment whose joint leaves its range ends early."""
        q = dict(zip(self.joints, positions.tolist()))
        if self._now is not None and time >= self._now.end - 1e-9:
            self._close(time)
        elif self._now is not None:
            self._end_early(q, time)
        if self._now is None and time >= self._next:
            self._open(time, q)
        segment = self._now
        if segment is None:
            return [0.0] * len(self.machine.actuators)
        share = float(
            np.clip((time - segment.start) / segment.ramp, 0.0, 1.0)
            * np.clip((segment.end - time) / segment.ramp, 0.0, 1.0)
        )
        return [share * segment.volts.get(actuator.name, 0.0) for actuator in self.machine.actuators]

    def _open(self, time: float, q: dict[str, float]) -> None:
        span = float(self.rng.uniform(SHORTEST, LONGEST))
        if time + span > self.seconds - SETTLING:
            return
        volts = {}
        for actuator in self.machine.actuators:
            low, high = self.ranges[actuator.joint]
            share = (q[actuator.joint] - low) / (high - low)
            up = self.rng.random() > np.clip(share, 0.1, 0.9)
            level = float(self.rng.uniform(LEAST_VOLTS, self._most)) * actuator.command_limit
            if self.rng.random() > RESTING:
                volts[actuator.name] = round((1.0 if up else -1.0) * self.signs[actuator.name] * level, 2)
        ramp = round(float(self.rng.uniform(*RAMPS)), 2)
        self._now = Segment(f'part {len(self.segments) + 1}', round(time, 2), round(time + span, 2), ramp, volts)

    def _end_early(self, q: dict[str, float], time: float) -> None:
        """End the segment if a joint leaves its range."""
        now = self._now
        assert now is not None
        if time < now.start + LEAST or now.end - time <= now.ramp:
            return
        for actuator in self.machine.actuators:
            low, high = self.ranges[actuator.joint]
            ahead = now.volts.get(actuator.name, 0.0) * self.signs[actuator.name]
            if (q[actuator.joint] > high and ahead > 0.0) or (q[actuator.joint] < low and ahead < 0.0):
                self._now = replace(now, end=round(time + now.ramp, 2))

    def _close(self, time: float) -> None:
        assert self._now is not None
        if self._now.volts:
            self.segments.append(self._now)
        self._now, self._next = None, round(time + float(self.rng.choice([0.0, 0.0, 0.4])), 2)


def task_text(candidate: Candidate, machine: Machine, number: int) -> str:
    """Return a sequence as a task filefor `controller_node`."""
    profile = candidate.profile
    lines = [
        f'# Sequence {number} of `dyn-nodes fit plan`, from the initial posture of the machine YAML.',
        '',
        f'name: fit_plan_{number}',
        f'description: levers that show the parameters of the machine, sequence {number}',
        f'duration: {profile.duration:g}  # s',
        '',
        'segments:',
    ]
    names = [actuator.name for actuator in machine.actuators]
    for part in profile.segments:
        volts = ', '.join(f'{yaml_word(name)}: {part.volts[name]:g}' for name in names if name in part.volts)
        lines += [
            f'  - name: {yaml_word(part.name)}',
            f'    start: {part.start:.2f}',
            f'    end: {part.end:.2f}',
            f'    ramp: {part.ramp:g}',
            f'    volts: {{{volts}}}',
        ]
    return '\n'.join(lines) + '\n'
