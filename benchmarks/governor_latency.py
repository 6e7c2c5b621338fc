"""Time from joint states to the output of the tip-over governor, in one process and over DDS and back.

python benchmarks/governor_latency.py [messages]

In this process: the adversary's runs of the log-loader (seed 7), from the call with the measurements of an instant to
the volts, monitor and law together. Over DDS: one process publishes measurements of a noisy work cycle at 100 Hz and
its levers, another runs tip_over_governor_node; the time from publishing joint states to receiving
`valve_commands` is measured. Before and after it the time of the middleware alone: an echo answers the levers without
computing. Exit status 1 if a median is above its bound: 0.5 ms in one process, 1.6 ms over DDS.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from benchmarks.over_dds import PERIOD, Exchange, Further, echo, echo_words, node_words, over_dds, show, work_run
from dyn_nodes.analysis.measured_run import MeasuredRun, work_cycle
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.middleware import Node, message
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.nodes.arrays import volts_message

Volts = message('std_msgs/msg/Float64MultiArray')
COMMAND = Exchange('valve_commands_in', Volts, 'valve_commands', Volts)
PAYLOAD, SEED, RUNS = 3000.0, 7, 4
IN_PROCESS, OVER_DDS = 0.5, 1.6
"""Upper bounds of the medians, ms."""


def computing(machine: Machine) -> np.ndarray:
    """Return the times from measurements to volts in this process, ms."""
    rig = Rig(machine)
    partner = rig.partner(True)
    take, command, spent = partner.measure, partner.command, []

    def timed(*inputs: Any) -> np.ndarray:
        sample = waiting.pop()
        start = time.perf_counter()
        take(sample)
        volts = command(*inputs)
        spent.append(1e3 * (time.perf_counter() - start))
        return volts

    waiting: list[Sample] = []
    partner.measure, partner.command = waiting.append, timed
    for case in random_cases(replace(box_of(machine), delay=0.0), RUNS, SEED):
        rig.run(case)
        waiting.clear()
    return np.array(spent)


def levers_on(run: MeasuredRun, node: Node) -> Further:
    """Return the function that publishes the levers of the work cycle."""
    out = node.create_publisher(Volts, COMMAND.asked, 10)
    names = tuple(actuator.name for actuator in run.machine.actuators)
    msg, levers = volts_message(names), work_cycle(run.machine).evaluate(run.time, names)

    def publish(k: int) -> None:
        msg.data = levers[k].tolist()
        out.publish(msg)

    return publish


def main() -> int:
    """Measure and print."""
    if sys.argv[1:] == ['--echo']:
        echo(COMMAND)
        return 0
    run, count = work_run(PAYLOAD), count_of(__doc__, 'messages', 1000)
    governor = node_words('tip_over_governor_node', payload=PAYLOAD, command_period=PERIOD, neutral_first=False)

    def asked(words: list[str], messages: int) -> np.ndarray:
        return over_dds(run, messages, words, COMMAND, lambda node: levers_on(run, node))

    late = False
    for name, bound, measured in (
        ('monitor and governor in one process', IN_PROCESS, lambda: computing(run.machine)),
        ('echo over DDS', None, lambda: asked(echo_words(__file__), count // 2)),
        ('governor over DDS', OVER_DDS, lambda: asked(governor, count)),
        ('echo over DDS', None, lambda: asked(echo_words(__file__), count // 2)),
    ):
        median = show(name, measured(), bound)
        late |= bound is not None and median > bound
    return int(late)


if __name__ == '__main__':
    sys.exit(main())
