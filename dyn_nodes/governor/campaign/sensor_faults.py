"""Sensor faults of a simulated machine: one signal is wrong from an instant on, or from the start.

fault = drawn_fault('boom_joint/position', 'drift', np.random.default_rng(1), latest=3.0)
sensors = FaultySensors(fault, joints, start=0.5)
sample = sensors.read(sample)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.json_lines import finite
from dyn_nodes.monitor.measured_samples import Sample

Range = tuple[float, float]

KINDS = (
    'frozen',
    'jump',
    'drift',
    'late',
    'noisy',
    'swapped',
    'scaled',
    'reversed',
    'second_sender',
    'offset',
    'spikes',
    'lost',
)
AXES = ('gyroscope', 'accelerometer', 'orientation')
"""Signals of the IMU."""
OF_IMU = ('frozen', 'jump', 'late', 'second_sender', 'offset', 'lost')
"""Kinds of faults of a whole IMU; a jump and an offset turn it on its mount."""
FROM_THE_START = ('offset', 'swapped', 'scaled', 'reversed')
"""Faults of assembly and calibration, which are present when the machine starts."""
SIZES: dict[str, dict[str, Range]] = {
    'jump': {'position': (0.1, 1.4), 'velocity': (0.2, 2.0), 'gyroscope': (0.05, 1.0), 'accelerometer': (0.5, 5.0)},
    'drift': {'position': (0.02, 0.2), 'velocity': (0.05, 0.5), 'gyroscope': (0.01, 0.1), 'accelerometer': (0.1, 1.0)},
    'noisy': {'position': (0.01, 0.1), 'velocity': (0.2, 1.0), 'gyroscope': (0.1, 1.0), 'accelerometer': (3.0, 10.0)},
    'offset': {'position': (0.01, 0.05), 'velocity': (0.02, 0.2), 'gyroscope': (0.005, 0.05)},
    'spikes': {'position': (0.1, 1.4), 'velocity': (0.5, 2.0), 'gyroscope': (0.2, 1.0), 'accelerometer': (5.0, 20.0)},
}
"""Least and greatest size, in the unit of the signal; a drift per second. A second sender has the sizes of a jump."""
SIZES['second_sender'] = SIZES['jump']
SIZES['offset']['accelerometer'] = (0.1, 0.5)
TURNS: dict[str, Range] = {
    'jump': (0.05, 0.5),
    'drift': (0.01, 0.1),
    'noisy': (0.02, 0.1),
    'offset': (0.01, 0.052),
    'spikes': (0.1, 0.5),
    'second_sender': (0.05, 0.5),
}
"""Least and greatest size for an orientation or a whole IMU, rad."""
LATE: Range = (0.05, 0.3)
SCALES: tuple[Range, Range] = ((0.5, 0.9), (1.1, 2.0))
SPIKED = 0.05
"""Fraction of the samples that have a spike."""
RATE_OF_NOISE = 10.0
"""Ratio of the noise of an encoder's speed to the noise of its position, 1/s."""


@dataclass(frozen=True)
class SensorFault:
    """Fault of one signal.

    Attributes:
        signal: name of a joint, with /position or /velocity if only one of both is wrong; an entry of `AXES`; or imu.
        kind: of `KINDS`.
        size: in the unit of the signal; of a drift per second, of a late signal s, of a scale the factor.
        begin: s after the start of the levers; 0: from the start.
        seed: of the random parts of the fault.
    """

    signal: str
    kind: str
    size: float = 0.0
    begin: float = 0.0
    seed: int = 0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SensorFault:
        """Return the fault of `as_dict`.

        Raises:
            ValueError: an unknown kind, or a number that is not finite.
            TypeError: data of another form.
        """
        fault = cls(**data)
        if fault.kind not in KINDS or not isinstance(fault.signal, str) or not isinstance(fault.seed, int):
            raise ValueError(f'expected a sensor fault of {", ".join(KINDS)}, found {fault.kind!r}')
        finite(fault.size)
        finite(fault.begin)
        return fault

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def signals_of(joints: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the signals of a machine with an IMU and these joints."""
    encoders = tuple(f'{joint}{suffix}' for joint in joints for suffix in ('', '/position', '/velocity'))
    return (*encoders, *AXES, 'imu')


def kinds_of(signal: str, joints: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of faults that apply to a signal."""
    if signal == 'imu':
        return OF_IMU
    only_one = signal not in AXES and len(joints) < 2
    no_part = '/' in signal
    return tuple(kind for kind in KINDS if not (kind == 'swapped' and only_one) and not (kind == 'lost' and no_part))


def drawn_fault(signal: str, kind: str, rng: np.random.Generator, latest: float) -> SensorFault:
    """Return a fault of random size that starts within `latest`, s, after the levers do, or from the start."""
    quantity = signal if signal in (*AXES, 'imu') else signal.partition('/')[2] or 'position'
    if kind == 'late':
        size = rng.uniform(*LATE)
    elif kind == 'scaled':
        size = rng.uniform(*SCALES[int(rng.integers(2))])
    else:
        sizes = TURNS if quantity in ('orientation', 'imu') else {name: by.get(quantity) for name, by in SIZES.items()}
        size = rng.uniform(*(sizes.get(kind) or (0.0, 0.0))) * (-1.0) ** int(rng.integers(2))
    start = 0.0 if kind in FROM_THE_START else float(rng.uniform(0.5, latest))
    return SensorFault(signal, kind, round(float(size), 5), round(start, 3), int(rng.integers(2**32)))


class FaultySensors:
    """Sensors of a run with one wrong signal.

    Args:
        fault: of the signal.
        joints: n names, in the order of the samples.
        start: of the levers, s.

    Attributes:
        since: start of the fault, s; -inf: from the start.
        error: greatest difference of the reading from the true value, in the unit of the signal: of an encoder its
            position, of a whole IMU its orientation; inf if it is lost.
    """

    def __init__(self, fault: SensorFault, joints: Sequence[str], start: float) -> None:
        self.fault, self._rng = fault, np.random.default_rng(fault.seed)
        self.since = start + fault.begin if fault.begin else -np.inf
        axis = self._rng.normal(size=3)
        self._axis = axis / np.linalg.norm(axis)
        if fault.signal in ('accelerometer', 'orientation', 'imu'):  # about the vertical the effect would be small
            self._axis = np.array([*axis[:2], 0.0]) / np.linalg.norm(axis[:2])
        name, _, part = fault.signal.partition('/')
        self._parts = (part,) if part else ('position', 'velocity')
        self._index = list(joints).index(name) if name in joints else None
        self._past: deque[Sample] = deque()
        self._first: Sample | None = None
        self._count, self.error = 0, 0.0

    def read(self, sample: Sample) -> Sample | None:
        """Return the readings of the sensors for a sample; None if no joint states arrive."""
        self._past.append(sample)
        late = self.fault.size if self.fault.kind == 'late' else 0.0
        while len(self._past) > 1 and self._past[1].time <= sample.time - late + 1e-9:
            self._past.popleft()
        if sample.time < self.since:
            return sample
        self._first = first = self._first or sample
        self._count += 1
        if sample.imu is None and self._index is None:
            return sample
        shown = self._joint(sample, first) if self._index is not None else sample._replace(imu=self._imu(sample, first))
        self.error = max(self.error, self._off(sample, shown))
        return shown

    def _off(self, true: Sample, shown: Sample | None) -> float:
        """Return the error of a sample, in the unit of the signal."""
        if self._index is not None:
            if shown is None:
                return np.inf
            position = 'position' in self._parts
            a, b = (np.asarray(reading.q if position else reading.v) for reading in (true, shown))
            return float(np.abs(a - b).max())
        if shown is None or shown.imu is None:
            return np.inf
        if self.fault.signal in ('orientation', 'imu'):
            turned = Rotation.from_quat(true.imu[0]).inv() * Rotation.from_quat(shown.imu[0])
            return float(turned.magnitude())
        index = 1 if self.fault.signal == 'gyroscope' else 2
        return float(np.linalg.norm(np.asarray(true.imu[index]) - np.asarray(shown.imu[index])))

    def _elapsed(self, sample: Sample, first: Sample) -> float:
        return sample.time - first.time

    def _is_hit(self) -> bool:
        """Return whether this sample has the spike, or comes from the second sender."""
        if self.fault.kind == 'spikes':
            return bool(self._rng.random() < SPIKED)
        return self._count % 2 == 0

    # -- joints ------------------------------------------------------------------------------------------------------

    def _joint(self, sample: Sample, first: Sample) -> Sample | None:
        """Return a sample with a wrong encoder, or with one of its quantities wrong."""
        index, kind = self._index, self.fault.kind
        assert index is not None
        if kind == 'lost':
            return None
        q, v = np.array(sample.q, dtype=np.float64), np.array(sample.v, dtype=np.float64)
        columns = ((q, sample.q, 'position'), (v, sample.v, 'velocity'))
        noise = self._rng.normal()
        hit = self._is_hit()
        for column, true, part in columns:
            if part not in self._parts:
                continue
            if kind == 'swapped':
                other = (index + 1) % len(q)
                column[[index, other]] = true[[other, index]]
            else:
                column[index] = self._value(part, sample, first, noise, hit)
        return sample._replace(q=q, v=v)

    def _value(self, part: str, sample: Sample, first: Sample, noise: float, hit: bool) -> float:
        """Return the reading of one quantity of the wrong encoder."""
        kind, size, index = self.fault.kind, self.fault.size, self._index
        both, position = len(self._parts) == 2, part == 'position'
        true, then, past = (
            float((reading.q if position else reading.v)[index])
            for reading in (sample, first, self._past[0])  # type: ignore[index]
        )
        follows = both and not position  # a speed that is computed from the wrong position
        if kind == 'frozen':
            return 0.0 if follows else then
        if kind == 'late':
            return past
        if kind in ('jump', 'offset'):
            return true if follows else true + size
        if kind == 'drift':
            return true + (size if follows else size * self._elapsed(sample, first))
        if kind in ('scaled', 'reversed'):
            factor = size if kind == 'scaled' else -1.0
            return then + factor * (true - then) if position else factor * true
        if kind == 'noisy':
            return true + noise * abs(size) * (RATE_OF_NOISE if follows else 1.0)
        if kind == 'spikes':
            return true + size if hit and not follows else true
        return (0.0 if follows else then + size) if hit else true  # the second sender

    # -- IMU ---------------------------------------------------------------------------------------------------------

    def _imu(self, sample: Sample, first: Sample) -> Any:
        """Return the reading of the IMU."""
        signal, kind = self.fault.signal, self.fault.kind
        if kind == 'lost':
            return None
        if signal == 'imu':
            return self._whole(sample, first)
        if signal == 'orientation':
            return self._orientation(sample, first), *sample.imu[1:]
        index = 1 if signal == 'gyroscope' else 2
        shown = list(sample.imu)
        shown[index] = self._vector(np.asarray(sample.imu[index]), index, sample, first)
        return tuple(shown)

    def _vector(self, true: Array, index: int, sample: Sample, first: Sample) -> Array:
        kind, off = self.fault.kind, self.fault.size * self._axis
        if kind == 'frozen':
            return np.asarray(first.imu[index])
        if kind == 'late':
            return np.asarray(self._past[0].imu[index])
        if kind in ('jump', 'offset'):
            return true + off
        if kind == 'drift':
            return true + off * self._elapsed(sample, first)
        if kind == 'noisy':
            return true + self.fault.size * self._rng.normal(size=3)
        if kind == 'swapped':
            return true[[1, 0, 2]]
        if kind in ('scaled', 'reversed'):
            return true * (self.fault.size if kind == 'scaled' else -1.0)
        if kind == 'spikes':
            return true + off if self._is_hit() else true
        return np.asarray(first.imu[index]) + off if self._is_hit() else true

    def _orientation(self, sample: Sample, first: Sample) -> Array:
        kind, size, true = self.fault.kind, self.fault.size, Rotation.from_quat(sample.imu[0])
        off = Rotation.from_rotvec(size * self._axis)
        if kind == 'frozen':
            shown = Rotation.from_quat(first.imu[0])
        elif kind == 'late':
            shown = Rotation.from_quat(self._past[0].imu[0])
        elif kind in ('jump', 'offset'):
            shown = true * off
        elif kind == 'drift':
            shown = true * Rotation.from_rotvec(size * self._elapsed(sample, first) * self._axis)
        elif kind == 'noisy':
            shown = true * Rotation.from_rotvec(size * self._rng.normal(size=3))
        elif kind == 'swapped':
            shown = Rotation.from_quat(true.as_quat()[[1, 0, 2, 3]])
        elif kind in ('scaled', 'reversed'):
            shown = Rotation.from_rotvec((size if kind == 'scaled' else -1.0) * true.as_rotvec())
        elif kind == 'spikes':
            shown = true * off if self._is_hit() else true
        else:
            shown = Rotation.from_quat(first.imu[0]) * off if self._is_hit() else true
        return np.asarray(shown.as_quat())

    def _whole(self, sample: Sample, first: Sample) -> Any:
        kind = self.fault.kind
        if kind == 'frozen':
            return first.imu
        if kind == 'late':
            return self._past[0].imu
        source = sample if kind in ('jump', 'offset') or not self._is_hit() else first
        if kind == 'second_sender' and source is sample:
            return sample.imu
        turn = Rotation.from_rotvec(self.fault.size * self._axis)
        orientation, turning, force = source.imu
        back = turn.inv()
        return (Rotation.from_quat(orientation) * turn).as_quat(), back.apply(turning), back.apply(force)
