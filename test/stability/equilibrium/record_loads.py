"""Record the loads of random machines in MuJoCo, for the fast tests: python test/stability/equilibrium/record_loads.py

Writes mujoco_loads.json beside this file: kind -> seed -> loads, kg, of lift-off, first loss of equilibrium and fall;
null if the machine has no equilibrium. Machines in the file are not measured again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from mujoco_ramp import slow_ramp
from random_gear import KINDS, random_machine

RECORD = Path(__file__).with_name('mujoco_loads.json')
SEEDS = 17


def plain(load: float) -> float | None:
    """Return a load rounded to 0.01 kg; None if infinite."""
    return round(load, 2) if np.isfinite(load) else None


def main() -> None:
    """Record the machines that are not in the file."""
    loads = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for seed in range(SEEDS):
        for kind in KINDS:
            if str(seed) in loads.get(kind, {}):
                continue
            with tempfile.TemporaryDirectory() as directory:
                ramp = slow_ramp(random_machine(seed, kind, Path(directory)))
            loads.setdefault(kind, {})[str(seed)] = [plain(load) for load in (ramp.lift_off, ramp.loss, ramp.fall)]
            print(kind, seed, loads[kind][str(seed)], flush=True)
            RECORD.write_text(json.dumps(loads, indent=1) + '\n')


if __name__ == '__main__':
    main()
