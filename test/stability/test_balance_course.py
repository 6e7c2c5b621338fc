"""Margins over a run equal the margins of its instants."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.stability.observers import balance_observer


@pytest.mark.parametrize(
    ('name', 'measures'),
    [
        ('log_loader', ('zmp', 'load_share')),  # in one call
        ('log_loader_planar', ('zmp',)),  # two edges: instant by instant
    ],
)
def test_margins_over_a_run_equal_those_of_its_instants(name, measures):
    machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    system = System(machine)
    p = system.parameters(slope=(0.0, 0.03))
    lever = {f'{machine.actuators[0].name}/voltage': [6.0]}
    run = system.run(initial_state(system, p), np.linspace(0.0, 0.6, 13), Inputs([0.0], lever), p, Settings())
    observer = balance_observer(system, measures)
    outputs = np.array([system.outputs(x, u, p) for x, u in zip(run.states, run.u)])
    course = observer.course(outputs, p[:3])
    assert tuple(course) == measures
    for k, y in enumerate(outputs):
        margins = observer.observe(y, p[:3]).margins
        for measure in measures:
            np.testing.assert_equal(course[measure][k], margins[measure].value)
    assert np.ptp(course[measures[0]]) > 0.0
