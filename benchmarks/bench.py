"""The speeds that the project promises, measured against their peers in one run.

    python benchmarks/bench.py [--quick]

Prints a table and writes `build/bench.json`: {name: {ratio, ours, peer, unit, peer_name, ...}}. The exit status is 1
if a limit is missed. `benchmarks/README.md` explains the measured numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks.scipy_task import build_peer
from dyn_nodes.commands.free_domain import choose_domain
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.library import Conditions, Dynamics
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.batches import run_batch
from dyn_nodes.simulation.settings import Method, StiffStates

REPORT = Path(__file__).resolve().parents[1] / 'build' / 'bench.json'
URDF, CONFIG = find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')
TASK = find_resource('config/tasks/pick_and_place_recovery.yaml')
THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
LEAST_RATIO = {
    'forward_dynamics_call': 6.0,
    'forward_dynamics_batch': 25.0,
    'library_forward_call': 1.5,
    'library_mass_matrix_call': 0.8,
    'forward_dynamics_rollout': 4.0,
    'forward_dynamics_codegen': 4.0,
    'task_realtime_factor': 1500.0,
    'task_batch_realtime_factor': 4000.0,
    'task_against_scipy': 120.0,
    'tip_over_runs': 1.0,
    'second_start_s': 1.0,
    'chain_forward_dynamics_100': 1.5,
    'chain_forward_dynamics_1000': 1.5,
    'chain_slope': 1.0,
    'truck_with_trailers': 1.0,
    'rolling_platform_call': 3.0,
    'rolling_platform_step': 3.0,
    'team_step': 3.0,
    'torque_distribution': 5.0,
    'omni_dynamics_3': 3.0,
    'omni_dynamics_4': 3.0,
    'stewart_inverse_dynamics': 5.0,
    'stewart_against_step': 5.0,
    'influence_batch': 5.0,
    'influence_batch_second_order': 5.0,
    'admissible_reactions': 10.0,
    'plate_realtime_factor': 1.0,
    'load_map': 1.0,
}
WHERE_BUILT = 'forward_dynamics_codegen'  # measured only where its peer has been built
GREATEST_TIME = {'torque_distribution': 20.0, 'admissible_reactions': 50.0}  # in the unit of the figure
GREATEST_ERROR = 1e-4  # rad, of the task against its converged solution
# both below GREATEST_ERROR and as accurate as each other; of the methods of solve_ivp LSODA is the fastest
OUR_METHOD: Method = 'rk3'
OUR_STEP = 5e-3  # s, the pressures solved for; from 6.4 ms on the friction of the wheels diverges
PEER_METHOD, PEER_TOLERANCE = 'LSODA', 2e-5
START_LIMIT = 3.0  # s
SLOPE_LIMIT = 1.1  # of the time of a call over the number of links, both in logarithms
TRUCK_LIMIT, TRUCK = 60.0, {'joints': 166, 'rank': 118, 'independent': 48}  # s
BATCH = 20_000  # states
TASKS = 64  # runs of the task in a batch
TIP_OVER_RUNS, TIP_OVER_LIMIT = 10_000, 60.0  # runs of 16 s on all cores, s
LOAD_MAP_LIMIT = 1.0  # s
SLICE = 4_000  # calls in one measurement: short, so that some are not interrupted by other processes


@dataclass
class Result:
    """Our figure and the figure of the peer. `ratio`: factor by which ours is better."""

    ratio: float
    ours: float
    peer: float
    unit: str
    peer_name: str
    error_rad: float | None = None
    peer_error_rad: float | None = None

    def record(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core if the system allows it."""
    if not hasattr(os, 'sched_setaffinity'):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def interleaved(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Return the best time of each, measured in turns, so that other processes affect both alike."""
    times = [(ours(), peer()) for _ in range(rounds)]
    return min(t for t, _ in times), min(t for _, t in times)


def seconds_per_call(statement: str, names: dict[str, Any], number: int) -> Callable[[], float]:
    """Return a measurement of a statement, s a call. The statement is compiled into timeit's loop: no call is added."""
    timer = timeit.Timer(statement, globals=names)
    return lambda: timer.timeit(number) / number


class Loader:
    """The free-base log-loader without payload, here and in Pinocchio, and random states of it."""

    def __init__(self, machine: Machine) -> None:
        try:
            import pinocchio as pin
        except ImportError:
            raise SystemExit("Pinocchio, the peer, is not installed: pip install '.[bench]'") from None
        self.pin = pin
        self.model = RigidBodyModel(machine)
        self.peer = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer())
        self.peer_data = self.peer.createData()
        self.parameters = self.model.parameters(payload=0.0)
        joints = [self.peer.joints[self.peer.getJointId(name)] for name in self.model.velocity_names[6:]]
        # Pinocchio: linear before angular, its own order of joints, cosine and sine of an unlimited one
        self.order = np.array([3, 4, 5, 0, 1, 2, *(joint.idx_v for joint in joints)])
        self.joints = joints

    def states(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return random positions (unit quaternions), velocities and efforts, (count, n) each."""
        rng = np.random.default_rng(0)
        q, v = rng.normal(size=(count, self.model.nq)), rng.normal(size=(count, self.model.nv))
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        return q, v, 1e5 * rng.normal(size=(count, self.model.nv))

    def peer_state(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same state in the conventions of Pinocchio."""
        position = np.zeros(self.peer.nq)
        position[:7] = q[:7]
        for joint, angle in zip(self.joints, q[7:]):
            indices = slice(joint.idx_q, joint.idx_q + joint.nq)
            position[indices] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        velocity, effort = np.empty(self.peer.nv), np.empty(self.peer.nv)
        velocity[self.order], effort[self.order] = v, tau
        return position, velocity, effort

    def check(self, accelerations: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        """Raise ValueError if our result differs from the result of Pinocchio."""
        expected = self.pin.aba(self.peer, self.peer_data, *self.peer_state(q, v, tau))[self.order]
        if np.abs(accelerations - expected).max() > 1e-9 * np.abs(expected).max():
            raise ValueError('forward dynamics differs from Pinocchio: nothing to compare')


def forward_dynamics_call(loader: Loader, rounds: int) -> Result:
    """Measure one call from Python each."""
    q, v, tau = (column[0].copy() for column in loader.states(1))
    names = {
        'ours': loader.model.kernels.forward_dynamics,
        'aba': loader.pin.aba,
        'model': loader.peer,
        'data': loader.peer_data,
        **dict(zip(('q', 'v', 'tau'), (q, v, tau))),
        **dict(zip(('pq', 'pv', 'ptau'), loader.peer_state(q, v, tau))),
        'p': loader.parameters,
        'a': np.empty(loader.model.nv),
    }
    ours = seconds_per_call('ours(q, v, tau, p, a)', names, SLICE)
    peer = seconds_per_call('aba(model, data, pq, pv, ptau)', names, SLICE)
    ours()
    loader.check(names['a'], q, v, tau)
    best, theirs = interleaved(ours, peer, 10 * rounds)
    return Result(theirs / best, best * 1e6, theirs * 1e6, 'us/call', 'pinocchio.aba, called from Python')


def library_calls(machine: Machine, loader: Loader, rounds: int) -> dict[str, Result]:
    """Measure library calls, which check arguments and allocate results, against calls of Pinocchio."""
    q, v, tau = (column[0].copy() for column in loader.states(1))
    pq, pv, ptau = loader.peer_state(q, v, tau)
    dynamics = Dynamics(machine, Conditions(0.0, (0.0, 0.0), {}))
    loader.check(dynamics.forward(q, v, tau), q, v, tau)
    expected = loader.pin.crba(loader.peer, loader.peer_data, pq)[np.ix_(loader.order, loader.order)]
    if np.abs(dynamics.mass_matrix(q) - expected).max() > 1e-9 * np.abs(expected).max():
        raise ValueError('the mass matrix differs from Pinocchio: nothing to compare')
    names = {'d': dynamics, 'q': q, 'v': v, 'tau': tau, 'pq': pq, 'pv': pv, 'ptau': ptau}
    names |= {'pin': loader.pin, 'model': loader.peer, 'data': loader.peer_data}
    pairs = {
        'library_forward_call': ('d.forward(q, v, tau)', 'pin.aba(model, data, pq, pv, ptau)'),
        'library_mass_matrix_call': ('d.mass_matrix(q)', 'pin.crba(model, data, pq)'),
    }
    results = {}
    for name, (statement, other) in pairs.items():
        ours, peer = (seconds_per_call(text, names, SLICE) for text in (statement, other))
        best, theirs = interleaved(ours, peer, 10 * rounds)
        function = other.partition('(')[0].replace('pin.', 'pinocchio.')
        results[name] = Result(theirs / best, best * 1e6, theirs * 1e6, 'us/call', f'{function}, called from Python')
    return results


def forward_dynamics_batch(loader: Loader, rounds: int) -> Result:
    """Measure our call over rows of arrays against the peer over ready-made rows in a loop of Python."""
    q, v, tau = loader.states(BATCH)
    p, a = np.tile(loader.parameters, (BATCH, 1)), np.empty_like(v)
    batch = loader.model.kernels.forward_dynamics_batch
    rows = [loader.peer_state(*state) for state in zip(q, v, tau)]
    names = {
        'batch': batch,
        'q': q,
        'v': v,
        'tau': tau,
        'p': p,
        'a': a,
        'rows': rows,
        'aba': loader.pin.aba,
        'model': loader.peer,
        'data': loader.peer_data,
    }
    ours = seconds_per_call('batch(q, v, tau, p, a)', names, 1)
    peer = seconds_per_call('for x, y, z in rows: aba(model, data, x, y, z)', names, 1)
    ours()
    for k in range(0, BATCH, 997):
        loader.check(a[k], q[k], v[k], tau[k])
    best, theirs = interleaved(ours, peer, rounds)
    unit = 1e6 / BATCH
    return Result(theirs / best, best * unit, theirs * unit, 'us/state', 'pinocchio.aba, looped over from Python')


def task_inputs() -> tuple[Inputs, float]:
    """Return the voltages of the reference task (P3D) and its duration, s."""
    profile = load_voltage_profile(TASK)
    knots = np.asarray(profile.knot_times, dtype=float)
    volts = profile.evaluate(knots, profile.actuators)
    columns = {f'{name}/voltage': column for name, column in zip(profile.actuators, np.asarray(volts).T)}
    return Inputs(knots, columns), float(profile.duration)


class Task:
    """The whole reference task with suspension, friction and hydraulics as one compiled run, and its solution."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.system = machine, System(machine)
        self.inputs, self.duration = task_inputs()
        self.parameters = self.system.parameters()
        self.start = initial_state(self.system, self.parameters)
        self.times = np.linspace(0.0, self.duration, round(self.duration / 0.1) + 1)
        self.converged = self.run(2e-5)

    def run(self, step: float, stiff: StiffStates = 'implicit', method: Method = 'rk4') -> np.ndarray:
        """Return the states every 0.1 s."""
        settings = Settings(method, step, stiff=stiff)
        run = self.system.run(self.start, self.times, self.inputs, self.parameters, settings)
        if run.status != 'done':
            raise ValueError(f'the task with a step of {step:g} s ended as {run.status}')
        return run.states

    def seconds(self, step: float) -> float:
        """Return the processor time of a run, s."""
        return timeit.timeit(lambda: self.run(step, method=OUR_METHOD), timer=time.process_time, number=1)

    @cached_property
    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return states and parameters of runs with payloads from the task's down to 70 % of it, the task first."""
        payload = self.system.index('parameter', 'payload_mass')
        p = np.tile(self.parameters, (TASKS, 1))
        p[:, payload] *= np.linspace(1.0, 0.7, TASKS)
        return np.array([initial_state(self.system, parameters) for parameters in p]), p

    def run_batch(self, step: float) -> np.ndarray:
        """Make the runs of the batch on this core; return the states of the first one every 0.1 s."""
        x, p = self.batch
        runs = run_batch(self.system, x, self.times, self.inputs, p, Settings(OUR_METHOD, step), threads=1)
        if {run.status for run in runs} != {'done'}:
            raise ValueError(f'a run of the batch with a step of {step:g} s ended early')
        return runs[0].states

    def error(self, states: np.ndarray) -> float:
        """Return the greatest difference of quaternion and joint angles from the converged solution, rad."""
        turned = slice(3, self.system.nq)
        return float(np.abs(states[:, turned] - self.converged[:, turned]).max())


def task_realtime_factor(task: Task, rounds: int) -> Result:
    """Measure the task at the step of `task_against_scipy`, against the clock."""
    error = task.error(task.run(OUR_STEP, method=OUR_METHOD))
    factor = task.duration / min(task.seconds(OUR_STEP) for _ in range(rounds))
    return Result(factor, factor, 1.0, 'simulated s/s', 'real time', error)


def task_batch_realtime_factor(task: Task, rounds: int) -> Result:
    """Measure many runs of the task on one core, a run in each lane of its vectors, against the clock."""
    error = task.error(task.run_batch(OUR_STEP))
    timer = timeit.Timer(lambda: task.run_batch(OUR_STEP), timer=time.process_time)
    seconds = min(timer.repeat(rounds, number=1))
    factor = TASKS * task.duration / seconds
    return Result(factor, factor, 1.0, 'simulated s/s', f'real time; {TASKS} runs on one core', error)


def batches(quick: bool) -> dict[str, Result]:
    """Measure forward dynamics and tip-over runs on all cores."""
    figures = figures_of('batches.py', *(['--quick'] if quick else []), free=True)
    runs = figures['tip_over']
    seconds = runs['seconds'] / runs['runs'] * TIP_OVER_RUNS
    name = (
        f'the promised limit; {TIP_OVER_RUNS} runs of 16 s with hydraulics, margins and outcomes on {runs["cores"]} '
        f'cores, by the rate of {runs["runs"]}; one core takes {runs["one_core"] / runs["seconds"]:.2f} times as long'
    )
    peer = f"MuJoCo's rollout of one step, both on {figures['cores']} cores; {figures['states']} states"
    return {
        'forward_dynamics_rollout': against(figures, 'mujoco', 'us/state', peer),
        'tip_over_runs': Result(TIP_OVER_LIMIT / seconds, seconds, TIP_OVER_LIMIT, 's', name),
    }


def task_against_scipy(task: Task, rounds: int, say: Callable[[str], None]) -> Result:
    """Measure our task against Pinocchio, plain Python and `solve_ivp`, at equal accuracy, in turns."""
    system = task.system
    knots, table = task.inputs.aligned(system.input_names)
    peer = build_peer(task.machine, str(URDF), knots, table)
    atol = PEER_TOLERANCE * np.array([system.scales.get(name, 1.0) for name in system.state_names])
    volts = np.array([np.interp(7.0, knots, column) for column in table.T])
    expected = system.rhs(task.start, volts, task.parameters)
    if np.abs(np.array(peer.rhs(7.0, task.start)) - expected).max() > 1e-9 * np.abs(expected).max():
        raise ValueError('the peer simulates another machine: nothing to compare')
    results: list[np.ndarray] = []

    def theirs() -> float:
        states, seconds = peer.run(task.start, task.times, PEER_METHOD, PEER_TOLERANCE, atol, say)
        results.append(states)
        return seconds

    error = task.error(task.run(OUR_STEP, method=OUR_METHOD))
    ours, other = interleaved(lambda: min(task.seconds(OUR_STEP) for _ in range(5)), theirs, min(rounds, 3))
    name = f'pinocchio.aba, elements in plain Python, solve_ivp({PEER_METHOD!r}, rtol={PEER_TOLERANCE:g})'
    return Result(other / ours, ours, other, 's', name, error, task.error(results[0]))


def task_figures(machine: Machine, rounds: int, console: Console) -> dict[str, Result]:
    """Measure the reference task alone, in a batch, and against SciPy."""
    task = Task(machine)
    return {
        'task_realtime_factor': task_realtime_factor(task, rounds),
        'task_batch_realtime_factor': task_batch_realtime_factor(task, rounds),
        'task_against_scipy': task_against_scipy(task, rounds, console.print),
    }


def figures_of(script: str, *arguments: str, free: bool = False) -> dict[str, Any]:
    """Run a script of this directory; return its JSON output. Raises ValueError if it fails.

    `free`: it may use all threads.
    """
    environment = {key: value for key, value in os.environ.items() if not (free and key in THREADS)}
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ValueError(f'{script} failed:\n{answer.stderr[-2000:]}')
    return dict(json.loads(answer.stdout))


def measures_batch(quick: bool) -> Result:
    """Measure all stability measures for a million states in one call, on all cores and on one."""
    figures = figures_of('measures.py', '100000' if quick else '1000000', free=True)
    name = (
        f'ours on one core of {figures["cores"]}; {len(figures["measures"])} measures, '
        f'{figures["states"]} states in one call'
    )
    return Result(figures['one_core'] / figures['value'], figures['value'], figures['one_core'], figures['unit'], name)


def load_map(quick: bool) -> Result:
    """Measure the greatest safe payload in every posture of the log-loader at every slew angle, on all cores."""
    figures = figures_of('load_map.py', *(['--quick'] if quick else []), free=True)
    name = (
        f'the promised limit; {figures["states"]} states on rigid supports and level ground, '
        f'{figures["cores"]} cores, {figures["processor"]:.2f} s of processor time; '
        f'on a slope, heading anywhere, {figures["slope_seconds"]:.2f} s; '
        f'leaning on springs {figures["springs_us"]:.0f} us a state, on a slope {figures["springs_slope_us"]:.0f}'
    )
    return Result(LOAD_MAP_LIMIT / figures['seconds'], figures['seconds'], LOAD_MAP_LIMIT, 's', name)


def generated_code(quick: bool, say: Callable[[str], None]) -> dict[str, Result]:
    """Measure forward dynamics on all cores against generated code of Pinocchio; empty if that is not built."""
    measured = figures_of('pinocchio_codegen.py', '--ready', *(['--quick'] if quick else []), free=True)
    if 'missing' in measured:
        say(f'forward_dynamics_codegen is not measured: {measured["missing"]}')
        return {}
    which = f'both on {measured["cores"]} cores, {measured["states"]} states'
    names = {
        'generated_all': (
            f"Pinocchio's generated code, gcc {measured['level_all']} -march=native, in a loop of C; {which}"
        ),
        'compiled_aba_all': f'pinocchio::aba, g++ -O3 -march=native, in a loop of C++; {which}',
    }
    figures = ('forward_dynamics_codegen', 'forward_dynamics_compiled')
    return {
        figure: against(measured, peer, 'us/state', names[peer], 'ours_all') for figure, peer in zip(figures, names)
    }


def chains(quick: bool) -> dict[str, Result]:
    """Measure long chains against Pinocchio, the growth of their time, and a truck (yesiloglu-2007, C20)."""
    figures = figures_of('chains.py', *(['--quick'] if quick else []))
    results = {}
    for n in ('100', '1000'):
        name = f'pinocchio.aba, the faster of its conventions; random revolute chains of {n} links, called from Python'
        results[f'chain_forward_dynamics_{n}'] = against(figures[n], 'peer', 'ns/link', name)
    name = f'the promised limit; lengths {", ".join(figures["per_link_ns"])} links'
    results['chain_slope'] = Result(SLOPE_LIMIT / figures['slope'], figures['slope'], SLOPE_LIMIT, 'log/log', name)
    truck = figures['trailers']
    if {key: truck[key] for key in TRUCK} != TRUCK:
        raise ValueError(f'counts of the truck with three trailers: expected {TRUCK}, found {truck}')
    seconds = truck['generator'] + truck['analysis']
    name = 'a limit of ours; tree, rows and rank analysis of 166 joints with 48 independent ones'
    results['truck_with_trailers'] = Result(TRUCK_LIMIT / seconds, seconds, TRUCK_LIMIT, 's', name)
    return results


def against(times: dict[str, float], peer: str, unit: str, name: str, ours: str = 'ours') -> Result:
    """Return one of our times of a script and the time of the peer."""
    return Result(times[peer] / times[ours], times[ours], times[peer], unit, name)


def rolling_platform(quick: bool) -> dict[str, Result]:
    """Measure a platform with four driven and steered wheels against Pinocchio and MuJoCo (yesiloglu-2007, C15)."""
    figures = figures_of('rolling_platform.py', *(['--quick'] if quick else []))
    name = 'pinocchio.constraintDynamics, a 3-D contact a wheel, called from Python'
    step = 'mujoco.mj_step, RK4, elliptic cones, one contact a wheel'
    return {
        'rolling_platform_call': against(figures, 'pinocchio', 'us/call', name),
        'rolling_platform_step': against(figures, 'mujoco_step', 'us/step', step, 'our_step'),
    }


def omni(quick: bool) -> dict[str, Result]:
    """Measure torques of six limited drives, and omnidirectional vehicles against Pinocchio (saha-1991)."""
    figures = figures_of('omni.py', *(['--quick'] if quick else []))
    torques = figures['torques']
    which = f'six drives, two limited, {torques["instants"]} instants of a path, at a limit in {torques["bound"]}'
    name = 'pinocchio.constraintDynamics, hub, roller and a 3-D contact a wheel, the faster of two proximal settings'
    return {
        'torque_distribution': against(torques, 'osqp', 'us/call', f'OSQP, set up once, eps 1e-5; {which}'),
        'torque_distribution_qp': against(torques, 'quadprog', 'us/call', f'quadprog, arrays made once; {which}'),
        'omni_dynamics_3': against(figures['three'], 'pinocchio', 'us/call', f'{name}; three wheels'),
        'omni_dynamics_4': against(figures['four'], 'pinocchio', 'us/call', f'{name}; four wheels'),
    }


def freeman(quick: bool) -> dict[str, Result]:
    """Measure a Stewart platform, and G, H, D of an arm, against Pinocchio (freeman-1985)."""
    figures = figures_of('freeman.py', *(['--quick'] if quick else []))
    loops = 'pinocchio.constraintDynamics, five 6-D loops, the faster of two proximal settings'
    step = 'mujoco.mj_step, semi-implicit Euler, five balls in loops, no contacts'
    arm, looped = figures['arm'], 'looped over from Python'
    derivatives = f'pinocchio: derivatives of velocity and acceleration of the tool, {looped}'
    hessian = f'pinocchio: kinematic Hessian of the tool, {looped}; ours: G and H'
    return {
        'stewart_inverse_dynamics': against(figures['platform'], 'pinocchio', 'us/call', loops),
        'stewart_against_step': against(figures['platform'], 'mujoco_step', 'us/call', step),
        'influence_batch': against(arm, 'pinocchio_derivatives', 'us/state', derivatives),
        'influence_batch_second_order': against(arm, 'pinocchio_hessian', 'us/state', hessian, 'ours_G_H'),
    }


def reactions(quick: bool) -> dict[str, Result]:
    """Measure admissible reactions of four wheels, a batch, against a solver of cone programs (tanner-1998)."""
    figures = figures_of('reactions.py', *(['--quick'] if quick else []))
    name = 'Clarabel, called from Python'
    return {
        'admissible_reactions': against(figures, 'clarabel', 'us/state', f'{name} for every state'),
        'admissible_reactions_ready': against(figures, 'clarabel_ready', 'us/state', f'{name}, matrices made before'),
        'admissible_reactions_fixed': against(figures, 'clarabel_once', 'us/state', f'{name}, set up once'),
    }


def team(quick: bool) -> dict[str, Result]:
    """Measure a step of two robots with a bar between their hands against MuJoCo (tanner-1998, E10)."""
    figures = figures_of('team_step.py', *(['--quick'] if quick else []))
    step = 'mujoco.mj_step, RK4, elliptic cones, one contact a wheel, a tendon as the bar'
    return {'team_step': against(figures, 'mujoco', 'us/step', step)}


def deformable(quick: bool) -> dict[str, Result]:
    """Measure a condensed plate of 10,000 nodes between four hands against real time (tanner-1998)."""
    figures = figures_of('deformable.py', *(['--quick'] if quick else []))
    factor = figures['real_time_factor']
    step = f'{figures["step_us"]:.0f} us a step of rk4, called from Python'
    name = f'real time; {figures["nodes"]} nodes, {step}, condensed in {figures["condense_s"]:.1f} s'
    return {'plate_realtime_factor': Result(factor, factor, 1.0, 'simulated s/s', name)}


def first_message(node: str, topic: str, kind: str) -> float:
    """Start a node as a process; return the time to its first message, s. Raises TimeoutError after a minute."""
    from dyn_nodes.middleware import Context, Node, SingleThreadedExecutor, message

    domain = choose_domain({})
    context = Context()
    context.init(args=None, domain_id=domain)
    listener = Node('bench_listener', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(listener)
    arrived: list[float] = []
    listener.create_subscription(message(kind), topic, lambda _: arrived.append(time.monotonic()), 10)
    spinner = threading.Thread(target=executor.spin, daemon=True)
    spinner.start()
    environment = {key: value for key, value in os.environ.items() if key not in THREADS}
    environment['ROS_DOMAIN_ID'] = str(domain)
    with tempfile.TemporaryFile('w+') as log:
        start = time.monotonic()
        command = [sys.executable, '-m', f'dyn_nodes.nodes.{node}', '--ros-args', '-p', 'machine:=log_loader']
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            while not arrived and process.poll() is None and time.monotonic() < start + 60.0:
                time.sleep(0.002)
            if not arrived:
                log.seek(0)
                raise TimeoutError(f'{node} sent nothing on {topic}:\n{log.read()[-2000:]}')
        finally:
            stop(process)
            executor.shutdown()
            listener.destroy_node()
            context.shutdown()
            spinner.join(5)
    return arrived[0] - start


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process, by force if it does not stop in time."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def second_start(rounds: int) -> Result:
    """Measure the time from start to first joint_states, everything compiled: the median of several starts."""
    topic = ('dynamics_node', 'joint_states', 'sensor_msgs/msg/JointState')
    first_message(*topic)  # the first start may compile
    seconds = float(np.median([first_message(*topic) for _ in range(rounds)]))
    return Result(START_LIMIT / seconds, seconds, START_LIMIT, 's', 'the promised limit')


def misses(results: dict[str, Result]) -> list[str]:
    """Return a line for each missed limit."""
    missed = [
        f'{name}: {results[name].ratio:.3g} times, promised {bar:g}'
        for name, bar in LEAST_RATIO.items()
        if (name in results or name != WHERE_BUILT) and not results[name].ratio >= bar
    ]
    missed += [
        f'{name}: {results[name].ours:.3g} {results[name].unit}, promised {limit:g}'
        for name, limit in GREATEST_TIME.items()
        if not results[name].ours < limit
    ]
    for name, result in results.items():
        for who, error in (('', result.error_rad), ('the peer: ', result.peer_error_rad)):
            if error is not None and not error < GREATEST_ERROR:
                missed.append(f'{name}: {who}error {error} rad, promised {GREATEST_ERROR:g} rad')
    return missed


def show(results: dict[str, Result], console: Console) -> None:
    """Print the table."""
    table = Table(title='dyn_nodes against its peers')
    table.add_column('benchmark', no_wrap=True)
    for title in ('ours', 'peer', 'ratio', 'bar'):
        table.add_column(title, justify='right', no_wrap=True)
    table.add_column('unit', no_wrap=True)
    for name, result in results.items():
        bar = LEAST_RATIO.get(name)  # without one: measured only
        colour = '' if bar is None else '[red]' if result.ratio < bar else '[green]'
        row = [
            f'{result.ours:.4g}',
            f'{result.peer:.4g}',
            f'{colour}{result.ratio:.2f}',
            '' if bar is None else f'{bar:g}',
        ]
        table.add_row(name, *row, result.unit)
    console.print(table)
    for name, result in results.items():
        note = f'; error {result.error_rad:.1e} rad against a step of 20 us' if result.error_rad is not None else ''
        if result.peer_error_rad is not None:
            note += f', the peer {result.peer_error_rad:.1e}'
        console.print(f'{name}: the peer is {result.peer_name}{note}', soft_wrap=True, highlight=False)


def single_threaded() -> None:
    """Start this program again with one thread for every library, unless that is set already."""
    wanted = dict.fromkeys(THREADS, '1')
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **wanted})


def main(arguments: list[str] | None = None) -> int:
    """Measure, report, and return the exit status."""
    parser = argparse.ArgumentParser(description='Measure the promised speeds against their peers.')
    parser.add_argument('--quick', action='store_true', help='a few rounds only: not for a record')
    parser.add_argument('--json', type=Path, default=REPORT, help='file of the results (%(default)s)')
    parser.add_argument('--task', action='store_true', help='only the reference task, against the clock and SciPy')
    options = parser.parse_args(arguments)
    rounds = 3 if options.quick else 15
    machine = load_machine(URDF, CONFIG)
    console = Console()
    results: dict[str, Result] = {}
    if options.task:
        with one_core():
            show(task_figures(machine, rounds, console), console)
        return 0
    with one_core():
        loader = Loader(machine)
        results['forward_dynamics_call'] = forward_dynamics_call(loader, rounds)
        results['forward_dynamics_batch'] = forward_dynamics_batch(loader, rounds)
        results.update(library_calls(machine, loader, rounds))
        results.update(task_figures(machine, rounds, console))
        results.update(chains(options.quick))
        results.update(rolling_platform(options.quick))
        results.update(omni(options.quick))
        results.update(freeman(options.quick))
        results.update(reactions(options.quick))
        results.update(team(options.quick))
        results.update(deformable(options.quick))
    results['measures_batch'] = measures_batch(options.quick)
    results['load_map'] = load_map(options.quick)
    results |= batches(options.quick)
    results |= generated_code(options.quick, console.print)
    results['second_start_s'] = second_start(1 if options.quick else 3)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({name: result.record() for name, result in results.items()}, indent=2) + '\n')
    show(results, console)
    console.print(f'written to {options.json}')
    missed = misses(results)
    for line in missed:
        console.print(f'[red]missed: {line}')
    return 1 if missed else 0


if __name__ == '__main__':
    single_threaded()
    sys.exit(main())
