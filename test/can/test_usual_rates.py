"""Suggested greatest rates against the worst manoeuvres of a simulated machine: a sound sensor causes no fault."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip('cantools')

from can_fixtures import log_loader

from dyn_nodes.analysis.measured_run import measure, reference_task, simulate, thrown_levers
from dyn_nodes.can.rates import usual_rate
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.simulation.run import SystemRun

MAPPING = log_loader()
MACHINE, RATE = MAPPING.machine, 100.0
SHARES = {'position': 0.54, 'velocity': 0.29, 'turn': 0.17, 'felt': 0.19, 'pressure': 0.58, 'wheel_load': 0.54}
"""Greatest change between frames of 10 ms over the suggested one, by quantity, as in docs/how_to/can.md."""


def columns(run: SystemRun) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield kind, name and samples of every measured quantity of the mapping."""
    for name in (joint.name for joint in MACHINE.movable_joints):
        yield 'position', name, run.position(name)
        yield 'velocity', name, run.velocity(name)
    for frame in MAPPING.measurements:
        for channel in frame.channels:
            if channel.kind == 'pressure':
                yield 'pressure', channel.name, run.state(channel.name)
            if channel.kind == 'wheel_load':
                yield 'wheel_load', channel.name, run.output(f'{channel.name}/normal_force')


@pytest.mark.slow
def test_the_worst_manoeuvres_stay_far_below_the_suggested_rates():
    worst = dict.fromkeys(SHARES, 0.0)
    for profile, payload in ((reference_task(), 5100.0), (thrown_levers(MACHINE), 1000.0)):
        run = simulate(MACHINE, profile, payload, RATE, (0.0, 0.0))
        for kind, name, values in columns(run):
            share = RATE * np.abs(np.diff(values)).max() / usual_rate(MACHINE, kind, name)
            worst[kind] = max(worst[kind], share)
        measured = measure(MACHINE, profile, payload, SensorModel(RATE))
        for quantity, axis, values in (
            ('turn', 'angular_velocity_x', measured.angular_velocity),
            ('felt', 'linear_acceleration_x', measured.specific_force),
        ):
            share = RATE * np.abs(np.diff(values, axis=0)).max() / usual_rate(MACHINE, 'imu', axis)
            worst[quantity] = max(worst[quantity], share)
    assert {kind: share for kind, share in worst.items() if share > SHARES[kind]} == {}
    assert all(share > 0.8 * SHARES[kind] for kind, share in worst.items()), worst
