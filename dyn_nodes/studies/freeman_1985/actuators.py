"""D-c motors of arm A6: nominal currents and voltages, and the driven arm (experiment X5 of the spec)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.motor_law import NominalVoltage, TipLoad
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, PointForce, Symbols
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.arms import A6_A, A6_FORCE, A6_JERK, A6_MOMENT, A6_Q, A6_V

TOOL_LOAD = TipLoad(A6_FORCE, A6_MOMENT)
DURATION = 0.5
STEP = 1e-3


def nominal_path(t: float) -> tuple[Array, Array, Array, Array]:
    """Return the positions and their first three derivatives (6,) of the path of spec 7.4."""
    q = A6_Q + A6_V * t + A6_A * t**2 / 2 + A6_JERK * t**3 / 6
    return q, A6_V + A6_A * t + A6_JERK * t**2 / 2, A6_A + A6_JERK * t, A6_JERK


def motor_arm() -> Machine:
    """Return arm A6 with its motors, from its machine file."""
    return load_machine(find_resource('urdf/arm_a6.urdf'), find_resource('config/arm_a6.yaml'))


class ToolLoad(ForceElement):
    """A constant load in world axes at a frame of a tree, as an element of its system.

    Args:
        link: link at whose frame the load acts.
        load: force and moment.
    """

    def __init__(self, link: str, load: TipLoad) -> None:
        self.link, self.load = link, load

    @property
    def name(self) -> str:
        """Name of the element."""
        return f'load of {self.link}'

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the effort of the moment."""
        jacobian = state.jacobian(state.tree.frame(self.link))
        return ca.mtimes(jacobian[:3, :].T, ca.DM(self.load.moment))

    def point_forces(self, state: TreeState, symbols: Symbols) -> Sequence[PointForce]:
        """Return the force."""
        frame = state.tree.frame(self.link)
        return [PointForce(frame.body, state.frame_pose(frame).p, ca.SX(ca.DM(self.load.force)))]


def arm_rates(machine: Machine, load: TipLoad | None = None) -> tuple[Assembly, Callable[[Array, Array], Array]]:
    """Return the plant of a machine and its dx/dt at a state and voltages, with a load at its tool."""
    plant = Assembly(machine, 'hydraulic')
    if load is not None:
        plant.elements = (*plant.elements, ToolLoad('tool', load))
    function = ca.Function('rates', [plant.x, plant.u, plant.p], [plant.rhs])
    p = plant.default_parameters()
    return plant, lambda x, u: np.array(function(x, u, p)).ravel()


@study('freeman-1985/actuators', 'Nominal voltages to third order: arm A6 on its motors follows its path (X5)')
def actuators(s: StudyRun) -> None:
    """Compare di/dt with differences of the nominal current, and integrate arm and motors under nominal voltages."""
    machine = motor_arm()
    nominal = NominalVoltage(machine, {'tool': TOOL_LOAD})
    weights = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
    for t in (0.0, 0.25, DURATION):
        slope = sum(w * nominal.at(*nominal_path(t + k * STEP)).current for k, w in weights.items()) / STEP
        off = float(np.abs(slope - nominal.at(*nominal_path(t)).current_rate).max())
        s.near(f'di/dt at {t:g} s differs from differences of the nominal current, A/s', 'eq. 2-239', 0.0, off,
               absolute=1e-7)  # fmt: skip
    start = nominal.at(*nominal_path(0.0))
    plant, rates = arm_rates(machine, TOOL_LOAD)
    x = np.concatenate([*nominal_path(0.0)[:2], start.current])
    run = solve_ivp(
        lambda t, x: rates(x, nominal.at(*nominal_path(t)).voltage), (0.0, DURATION), x, 'DOP853',
        rtol=1e-11, atol=1e-11, max_step=2e-3,
    )  # fmt: skip
    end, (q, v, *_) = run.y[:, -1], nominal_path(DURATION)
    positions, velocities, currents = (end[k : k + 6] for k in (0, 6, 12))
    s.near('joints differ from the path after 0.5 s by, rad', 'X5, spec 7.4', 0.0, float(np.abs(positions - q).max()),
           absolute=1e-6)  # fmt: skip
    s.near('joint rates differ from the path by, rad/s', 'X5, spec 7.4', 0.0, float(np.abs(velocities - v).max()),
           absolute=1e-6)  # fmt: skip
    off = float(np.abs(currents - nominal.at(*nominal_path(DURATION)).current).max())
    s.near('currents differ from the nominal ones after 0.5 s by, A', 'eq. 2-238', 0.0, off, absolute=1e-5)
    _claims_of_power(s, plant, nominal)
    s.figure('nominal', 'Nominal voltages and currents of arm A6 on its path', lambda: _nominal_drive(nominal))


def _nominal_drive(nominal: NominalVoltage) -> drawing.Figure:
    times = np.linspace(0.0, DURATION, 51)
    states = [nominal.at(*nominal_path(t)) for t in times]
    lines = {
        label: {f'joint {k + 1}': values[:, k] for k in range(6)}
        for label, values in (
            ('voltage, V', np.array([each.voltage for each in states])),
            ('current, A', np.array([each.current for each in states])),
        )
    }
    return drawing.histories(times, lines, columns=2, height=2.6)


def _claims_of_power(s: StudyRun, plant: Assembly, nominal: NominalVoltage) -> None:
    """Check the power balance at the start of the path: sources, heat, friction, bodies, rotors and windings."""
    q, v, a, jerk = nominal_path(0.0)
    start = nominal.at(q, v, a, jerk)
    drives = plant.actuators
    powers = [drives.supplied_power(plant.state, plant.symbols), drives.dissipated_power(plant.state, plant.symbols)]
    evaluate = ca.Function('powers', [plant.x, plant.u, plant.p], [ca.vertcat(*powers)])
    x = np.concatenate([q, v, start.current])
    supplied, lost = np.array(evaluate(x, start.voltage, plant.default_parameters())).ravel()
    law = nominal.law
    windings = float(law.inductance * start.current @ start.current_rate)
    s.near('electric power less heat, friction and winding power is the power on the joints, W',
           'eq. 2-228', float(start.effort @ v), supplied - lost - windings, relative=1e-12)  # fmt: skip
