"""May the matrices of a linear model be frozen along a task? The source leaves this question open (p. 78, 79)."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.state_feedback import linear_quadratic_gain
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import System, initial_state
from dyn_nodes.simulation.linear import Linearizer, Mode
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.linear import MotorArm

ALTERNATING = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
START = np.r_[1e-3 * ALTERNATING, np.zeros(12)]
"""Initial deviation of the joints from the path, rad, with zero rates."""
REACH = (1.1, -2.2), (0.3, -0.5)
"""Boom and stick of the log-loader at start and end of a reach, rad."""
POSTURES = 5
PAYLOAD = 500.0
"""Payload of the log-loader, kg."""
REACH_TIME = 4.0
"""Duration of the reach, s: the boom moves at 0.2 rad/s."""


@study('freeman-1985/frozen-matrices', 'May the matrices of the linear model be frozen along a task?')
def frozen_matrices(s: StudyRun) -> None:
    """Check frozen matrices (p. 78) for arm A6 on its path and for the log-loader on a reach."""
    arm = MotorArm()
    times = (0.05, 0.1, 0.2, 0.5)
    errors = []
    for end in times:
        along, frozen = arm.linear_deviation(end, START), arm.linear_deviation(end, START, frozen=True)
        errors.append(float(np.linalg.norm((frozen - along)[6:12]) / np.linalg.norm(along[6:12])))
    s.rising(f'arm A6, open loop: error of the frozen model in the rates after {times} s', 'p. 78, 79', errors)
    s.holds('arm A6, open loop: frozen matrices miss the rates by more than a tenth within 0.5 s', 'p. 78, 79',
            errors[-1] > 0.1, expected='above 0.1', value=errors[-1])  # fmt: skip
    gain = _gain(arm)
    inputs = arm.at(0.0).inputs
    slowest = [np.linalg.eigvals(arm.F(t) - inputs @ gain).real.max() for t in np.linspace(0, 0.5, 6)]
    change = float(np.ptp(slowest) / abs(slowest[0]))
    s.holds('arm A6, LQR for t = 0: its slowest pole moves by less than 5 % in 0.5 s', 'p. 78, 79', change < 0.05,
            expected='below 0.05', value=change)  # fmt: skip
    end = 0.1
    closed = _closed_loop_error(arm, gain, end)
    s.holds('arm A6 under this LQR: error of the frozen model in position after 0.1 s, of the deviation at the start',
            'p. 78, 79', closed < 1e-3, expected='below 0.001', value=closed)  # fmt: skip
    modes = _swing_modes()
    hertz = [mode.frequency for mode in modes]
    s.holds('log-loader: frequency of the swing on its oil over a reach, greatest over least', 'p. 78, 79',
            max(hertz) > 1.5 * min(hertz), expected='above 1.5', value=max(hertz) / min(hertz))  # fmt: skip
    speed = _pole_speed(modes)
    s.holds(f'log-loader: change of that pole within its time constant, reach in {REACH_TIME:g} s', 'p. 78, 79',
            speed < 0.1, expected='below 0.1', value=speed)  # fmt: skip
    s.note(
        'A frozen model is adequate for feedback that is fast against the path, and for predictions over a small part '
        f'of it (arm A6: rates to {100 * errors[1]:.0f} % after 0.1 s), not over the whole task. The matrices of the '
        'log-loader depend on posture but change slowly against its motions: gains by posture are sufficient. The '
        'swing on its oil, from tucked to far: '
        + ', '.join(f'{mode.frequency:.2f} Hz ({mode.damping_ratio:.3f})' for mode in modes)
        + '.'
    )
    s.figure('frozen', 'Arm A6: rates of joint 5 by the model along the path and by the frozen one', lambda: _draw(arm))


def _gain(arm: MotorArm) -> Array:
    """Return the LQR gain of spec 7.4 at the start of the path."""
    linear, weight = arm.at(0.0), np.diag(np.r_[np.full(6, 1e6), np.full(6, 1e3), np.zeros(6)])
    return linear_quadratic_gain(linear.F, linear.inputs, weight, np.eye(6))


def _closed_loop_error(arm: MotorArm, gain: Array, end: float) -> float:
    """Return the position error of the frozen model with feedback, relative to the initial deviation."""
    inputs = arm.at(0.0).inputs

    def at_end(frozen: bool) -> Array:
        def rate(t: float, z: Array) -> Array:
            return (arm.F(0.0 if frozen else t) - inputs @ gain) @ z

        return np.asarray(solve_ivp(rate, (0.0, end), START, 'DOP853', rtol=1e-10, atol=1e-13).y[:6, -1])

    return float(np.linalg.norm(at_end(True) - at_end(False)) / np.linalg.norm(START[:6]))


def _swing_modes() -> list[Mode]:
    """Return the mode with the greatest swing participation in postures of the reach, valves closed."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    system = System(machine)
    p, linearizer, modes = system.parameters({'payload_mass': PAYLOAD}), Linearizer(system), []
    for boom, stick in np.linspace(*REACH, POSTURES):
        x = initial_state(system, p, {'boom_joint': float(boom), 'stick_joint': float(stick)})
        model = linearizer.at(x, None, p)
        index = model.state_names.index('swing_joint_rate')
        oscillations = [mode for mode in model.modes() if mode.oscillates]
        modes.append(max(oscillations, key=lambda mode: float(mode.participation[index])))
    return modes


def _pole_speed(modes: list[Mode]) -> float:
    """Return the greatest |d pole / dt| / |pole|^2 on the reach; small if the model changes slowly."""
    poles = np.array([mode.pole for mode in modes])
    rates = np.abs(np.diff(poles)) / (REACH_TIME / (len(poles) - 1))
    return float((rates / np.abs(poles[:-1]) ** 2).max())


def _draw(arm: MotorArm) -> drawing.Figure:
    times = np.linspace(0.01, 0.5, 25)
    lines = {
        name: np.array([arm.linear_deviation(t, START, frozen)[10] for t in times])
        for name, frozen in (('along the path', False), ('frozen at its start', True))
    }
    return drawing.histories(times, {'rate of joint 5, rad/s': lines})
