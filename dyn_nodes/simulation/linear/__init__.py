"""Linear models dx/dt = A x + B u, y = C x + D u with named vectors: poles, modes, Bode, controllability, samples.

    model = Linearizer(system).at(x, u, p)        # of dyn_nodes.simulation.linearize
    for mode in model.modes():
        print(mode.frequency, mode.damping_ratio, mode.main_states(3))
    model.bode('boom/voltage', 'boom_joint', hertz).gain
    model.controllability().rank

This package is independent of machines: the vectors are deviations from a state.
"""

from dyn_nodes.simulation.linear.frequency import Bode
from dyn_nodes.simulation.linear.linearization import Linearizer, linearize
from dyn_nodes.simulation.linear.model import LinearModel, OperatingPoint
from dyn_nodes.simulation.linear.modes import Mode
from dyn_nodes.simulation.linear.reachability import Reachability

__all__ = ['Bode', 'LinearModel', 'Linearizer', 'Mode', 'OperatingPoint', 'Reachability', 'linearize']
