"""Position control by valve voltage: proportional with dead band, offset and saturation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class ValvePositionLaw:
    """u = direction * sat(gain e + offset sgn e), 0 inside the dead band; e = reference - position (spec G15).

    Attributes:
        gain: V/rad.
        dead_band: |e| up to which the valve stays neutral, rad.
        offset: jumps over the dead zone of the spool, V.
        limit: |u| is clipped to this, V.
        direction: +1 where a positive voltage increases the joint angle, -1 where it decreases it.

    Raises:
        ValueError: a number is not finite, one of the first four is negative, or direction is not +-1.
    """

    gain: float
    dead_band: float
    offset: float = 0.5
    limit: float = 8.0
    direction: float = 1.0

    def __post_init__(self) -> None:
        for name in ('gain', 'dead_band', 'offset', 'limit'):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ValueError(f'valve law: {name}: expected a finite number >= 0, found {value!r}')
        if self.direction not in (-1.0, 1.0):
            raise ValueError(f'valve law: direction: expected 1 or -1, found {self.direction!r}')

    def voltage(self, reference: ArrayLike, position: ArrayLike) -> NDArray[np.float64]:
        """Return the voltage for references and positions of any common shape, V.

        Args:
            reference: rad.
            position: rad.
        """
        error = np.asarray(reference, dtype=np.float64) - np.asarray(position, dtype=np.float64)
        demand = self.gain * error + self.offset * np.sign(error)
        volts = np.clip(demand, -self.limit, self.limit)
        return self.direction * np.where(np.abs(error) <= self.dead_band, 0.0, volts)
