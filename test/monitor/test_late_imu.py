"""Effect of present joint states with an older base state on the margins, the reason why nodes do not combine them."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.analysis.measured_run import MEASURES, MeasuredRun, measure, reference_task, thrown_levers
from dyn_nodes.analysis.monitor_check import full_scale
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes.machines import machine_of


def overestimate(run: MeasuredRun, lag: int) -> float:
    """Return the greatest excess of `force_angle` if the IMU is `lag` instants late, % of its scale."""
    monitor = StabilityMonitor(run.machine, MEASURES)
    monitor.payload = run.payload
    errors = []
    for k, time in enumerate(run.time.tolist()):
        if (j := k - lag) >= 0:
            monitor.imu(run.time[j], run.angular_velocity[j], run.specific_force[j], run.orientation[j])
        monitor.joints(time, run.positions[k], run.velocities[k])
        if monitor.settled:
            errors.append(monitor.balance().margins['force_angle'].value - run.truth['force_angle'][k])
    return 100.0 * float(np.max(errors)) / full_scale(run.machine)['force_angle']


@pytest.mark.slow
@pytest.mark.parametrize(('lag', 'least', 'most'), [(0, 0.0, 6.0), (1, 15.0, 20.0), (5, 50.0, 65.0)])
def test_a_late_imu_gives_too_high_margins(lag, least, most):
    """The numbers of docs/reference/stability_monitor.md; instants are 10 ms apart."""
    machine = machine_of('log_loader', '')
    runs = ((reference_task(), 5100.0), (thrown_levers(machine), 3000.0))
    sensors = SensorModel(rate=100.0)
    assert least <= max(overestimate(measure(machine, *run, sensors), lag) for run in runs) <= most
