"""Time of a load map: every posture of the log-loader's arm at every slew angle, 50 x 50 x 72 states.

    python benchmarks/load_map.py [--quick]

Prints JSON: wall time on all cores and processor time of all of it, s, on rigid supports, level ground and a slope of 5
degrees whose worst heading of 24 counts; and the processor time of a state on springs and tyres, us, from maps of 16 x
16 x 72 states; machine code there. `test/analysis/test_load_limits.py` compares the payloads with
inverse dynamics state by state.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dyn_nodes.analysis.load_chart import ChartSettings
from dyn_nodes.analysis.load_map import load_map
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine

COUNT, FEWER = 50, 16
SLOPE = (float(np.radians(5.0)),)
LEVEL, SLOPED = ChartSettings(rigid=True), ChartSettings(rigid=True, slopes=SLOPE)


def seconds(call: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the least wall and processor times of a call, s."""
    times = []
    for _ in range(rounds):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(pair[0] for pair in times), min(pair[1] for pair in times)


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    rounds = 3 if parser.parse_args().quick else 10
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    states = load_map(machine, LEVEL, COUNT).safe.size
    wall, processor = seconds(lambda: load_map(machine, LEVEL, COUNT), rounds)
    sloped, sloped_processor = seconds(lambda: load_map(machine, SLOPED, COUNT), rounds)
    fewer, springs = load_map(machine, LEVEL, FEWER).safe.size, (ChartSettings(), ChartSettings(slopes=SLOPE))
    each = [1e6 * seconds(lambda spring=spring: load_map(machine, spring, FEWER), 2)[1] / fewer for spring in springs]
    print(
        json.dumps(
            {
                'states': states,
                'cores': os.cpu_count(),
                'seconds': wall,
                'processor': processor,
                'slope_seconds': sloped,
                'slope_processor': sloped_processor,
                'springs_us': each[0],
                'springs_slope_us': each[1],
            }
        )
    )


if __name__ == '__main__':
    main()
