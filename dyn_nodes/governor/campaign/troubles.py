"""What else is off in a run of the adversary: what the governor does not allow for, or only to some degree.

box = replace(box, troubles=TroubleBox(noise=1.0, drops=True))
troubles = box.troubles.drawn(shares, seed=3, duration=10.0)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.json_lines import finite
from dyn_nodes.governor.campaign.sensor_faults import SensorFault

MOST = {
    'oil': 10.0,
    'damping': 10.0,
    'stiffness': 10.0,
    'noise': 100.0,
    'jitter': 1.0,
    'seed': 2**32,
    'drop': 120.0,
    'grab': 120.0,
    'grabbed': 1e5,
}
"""Of the fields of `Troubles` that come from a file."""


@dataclass(frozen=True)
class Troubles:
    """Of one run.

    Attributes:
        oil, stiffness, damping: bulk modulus, and of the wheels, times those that the governor predicts with.
        noise: errors of the sensors, times those of `SensorModel`; 0: exact.
        jitter: part by which both delays are shorter at times: each changes about five times a second.
        seed: of noise and jitter.
        drop: instant at which the load is gone, s after the levers begin; None: it stays.
        grab: instant at which more is in the grapple, s after the levers begin; None: never.
        grabbed: so much more, kg.
        fault: of a sensor; None: they are sound.
    """

    oil: float = 1.0
    stiffness: float = 1.0
    damping: float = 1.0
    noise: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    drop: float | None = None
    grab: float | None = None
    grabbed: float = 0.0
    fault: SensorFault | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Troubles:
        """Return the troubles of `dataclasses.asdict`; what is not given is as it should be.

        Raises:
            ValueError: no finite number where one belongs, a negative one, one beyond `MOST`.
            TypeError: another form.
        """
        if not isinstance(data, dict):
            raise TypeError('no troubles')
        given = data.get('fault')
        found = cls(**{**data, 'fault': None if given is None else SensorFault.from_dict(given)})
        if not isinstance(found.seed, int):
            raise ValueError('a seed that is no integer')
        for own in fields(found):
            if own.name == 'fault':
                continue
            value = getattr(found, own.name)
            if not (own.name in ('drop', 'grab') and value is None) and not 0.0 <= finite(value) <= MOST[own.name]:
                raise ValueError(f'{own.name}: expected 0 to {MOST[own.name]:g}, found {value:g}')
        if min(found.oil, found.stiffness, found.damping) <= 0.0:
            raise ValueError('oil, stiffness or damping of 0')
        return found


@dataclass(frozen=True)
class TroubleBox:
    """Within which the troubles of a run are drawn.

    Attributes:
        oil: part by which the bulk modulus of the oil may differ from what the governor predicts with.
        suspension: the same of stiffness and damping of the wheels, each.
        noise, jitter: as in `Troubles`.
        drops: the load is dropped at any time.
        grabs: up to so much more is grabbed at any time, kg.
    """

    oil: float = 0.0
    suspension: float = 0.0
    noise: float = 0.0
    jitter: float = 0.0
    drops: bool = False
    grabs: float = 0.0

    def drawn(self, errors: Array, drop: float, seed: int, duration: float) -> Troubles:
        """Return the troubles of a run of so many seconds.

        Args:
            errors: (3,), each within -1 and 1: of the oil, of stiffness and damping of the wheels.
            drop: the load is gone, or more of it there, after this part of the duration, if it changes at all.
            seed: of noise, jitter and what is grabbed.
            duration: s.
        """
        parts = np.array([self.oil, self.suspension, self.suspension])
        oil, stiffness, damping = np.round(1.0 + parts * errors, 4).tolist()
        return Troubles(
            oil=oil,
            stiffness=stiffness,
            damping=damping,
            noise=self.noise,
            jitter=self.jitter,
            seed=seed if self.noise or self.jitter else 0,
            drop=round(drop * duration, 2) if self.drops else None,
            grab=round(drop * duration, 2) if self.grabs else None,
            grabbed=round(self.grabs * float(np.random.default_rng(seed).random()), 1),
        )
