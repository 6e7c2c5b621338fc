"""Processor time of a decision of the tip-over governor, from the state of the monitor to the output.

python benchmarks/governor_decision.py [runs]

The adversary's runs of the log-loader (seed 7); the monitor's own estimate is left out. Thread times;
"compiled" is the part in machine code, which predicts stops and chooses.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.model import load_machine

SEED, RUNS = 7, 4


def decisions(runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return times, ms: of decisions, their compiled part and predictions; and flags of held levers."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    rig = Rig(machine)
    partner = rig.partner(True)
    command, decide = partner.command, partner.stops.decide
    spent, compiled, held, single = [], [], [], []

    def timed_decide(*args):
        start = time.thread_time()
        decision = decide(*args)
        compiled[-1] = 1e3 * (time.thread_time() - start)
        held[-1] = not args[3].all()  # time since a lever was held
        return decision

    def timed(*inputs):
        held.append(False)
        compiled.append(0.0)
        start = time.thread_time()
        volts = command(*inputs)
        spent.append(1e3 * (time.thread_time() - start))
        if np.isfinite(partner.stops.degree):
            start = time.thread_time()
            partner.stops.stop(volts)
            single.append(1e3 * (time.thread_time() - start))
        return volts

    partner.command, partner.stops.decide = timed, timed_decide
    for case in random_cases(box_of(machine), runs, SEED):
        rig.run(case)
    return np.array(spent), np.array(compiled), np.array(single), np.array(held)


def main() -> int:
    """Print medians and the 99th percentiles."""
    spent, compiled, single, held = decisions(count_of(__doc__, 'runs', RUNS))
    rows = {
        'all decisions': spent,
        'nothing held': spent[~held],
        'held': spent[held],
        'held, compiled': compiled[held],
        'all, compiled': compiled,
        'a prediction': single,
    }
    for name, times in rows.items():
        if len(times):
            print(f'{name:14} {len(times):6}  median {np.median(times):.3f} ms  99 % {np.quantile(times, 0.99):.3f} ms')
    return 0


if __name__ == '__main__':
    sys.exit(main())
