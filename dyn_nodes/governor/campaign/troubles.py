"""Additional deviations in a run of the adversary, for which the governor does not allow, or only to some degree.

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
"""Greatest values of fields of `Troubles` from a file."""


@dataclass(frozen=True)
class Troubles:
    """Deviations of one run.

    Attributes:
        oil, stiffness, damping: factors on the bulk modulus and on stiffness and damping of the wheels of the
            governor's model.
        noise: factor on the errors of `SensorModel`; 0: exact.
        jitter: fraction by which both delays are shorter at times: each changes about five times a second.
        seed: of noise and jitter.
        drop: instant at which the load is lost, s after the start of the levers; None: never.
        grab: instant at which more load is grabbed, s after the start of the levers; None: never.
        grabbed: additional load, kg.
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
        """Return the troubles of `dataclasses.asdict`; missing keys have their default.

        Raises:
            ValueError: a number that is not finite, negative or beyond `MOST`.
            TypeError: data of another form.
        """
        if not isinstance(data, dict):
            raise TypeError('no troubles')
        fault = data.get('fault')
        troubles = cls(**{**data, 'fault': None if fault is None else SensorFault.from_dict(fault)})
        if not isinstance(troubles.seed, int):
            raise ValueError('a seed that is no integer')
        for entry in fields(troubles):
            if entry.name == 'fault':
                continue
            value = getattr(troubles, entry.name)
            if not (entry.name in ('drop', 'grab') and value is None) and not 0.0 <= finite(value) <= MOST[entry.name]:
                raise ValueError(f'{entry.name}: expected 0 to {MOST[entry.name]:g}, found {value:g}')
        if min(troubles.oil, troubles.stiffness, troubles.damping) <= 0.0:
            raise ValueError('oil, stiffness or damping of 0')
        return troubles


@dataclass(frozen=True)
class TroubleBox:
    """Ranges from which the troubles of a run are drawn.

    Attributes:
        oil: relative deviation of the bulk modulus of the oil from the governor's.
        suspension: relative deviation of stiffness and damping of the wheels, each.
        noise, jitter: as in `Troubles`.
        drops: the load is dropped at any time.
        grabs: greatest additional load that is grabbed at any time, kg.
    """

    oil: float = 0.0
    suspension: float = 0.0
    noise: float = 0.0
    jitter: float = 0.0
    drops: bool = False
    grabs: float = 0.0

    def drawn(self, errors: Array, drop: float, seed: int, duration: float) -> Troubles:
        """Return the troubles of a run of `duration` s.

        Args:
            errors: (3,), each within -1 and 1: of the oil, of stiffness and damping of the wheels.
            drop: fraction of the duration after which the load is dropped or more of it is grabbed, if it changes at
                all.
            seed: of noise, jitter and the grabbed load.
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
