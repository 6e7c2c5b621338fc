"""Chapters 4.3, 5.2 and 5.3: rolling disc, two-wheeled cart, platform with four driven and steered wheels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks, analyse, constrained_dynamics
from dyn_nodes.simulation import Inputs, Settings, System, SystemRun
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import wheeled
from dyn_nodes.studies.yesiloglu_2007.models import Model

CART_CASES = {'B-1 forward': (0.5, 0.5), 'B-2 centre': (-0.5, 0.5), 'B-3 off centre': (0.25, 0.5)}


def simulate(
    model: Model,
    torques: Mapping[str, float],
    duration: float,
    step: float,
    samples: int = 201,
    blocks: ConstraintBlocks | None = None,
) -> SystemRun:
    """Run a model under constant torques, drives forward positive, N m; `blocks`: its traced system, if available."""
    system = System.of_blocks(model.name, blocks or model.blocks(), tuple(torques))
    tau = wheeled.forward(model, dict(torques))
    inputs = Inputs.constant({name: float(tau[model.tree.velocity_index(name)]) for name in torques})
    return system.run(
        system.state(model.q, model.v),
        np.linspace(0.0, duration, samples),
        inputs,
        settings=Settings(step=step, stabilization=None),
    )


@study('yesiloglu-2007/rolling-disc', 'A leaning disc that rolls: the source form against the disc on the ground (E-7)')
def rolling_disc(s: StudyRun) -> None:
    """Check the rows of section 6.8 and that both forms of the wheel agree along the run."""
    model = wheeled.disc(0.2, 0.1, 0.7, 8.0)
    run = simulate(model, {}, 2.0, 5e-4)
    short = wheeled.disc(0.2, 0.1, 0.7, 8.0, form='contact')
    other = simulate(short, {}, 2.0, 5e-4)
    s.holds('both forms run to the end', 'spec C13', run.status == other.status == 'done', value=run.status)
    rows = tabulated('yesiloglu-2007/6.8/free_rolling')
    for time, row in ((0.5, rows[0]), (1.0, rows[1]), (2.0, rows[3])):
        lean, yaw, rate = row[:3]
        k = int(np.argmin(np.abs(run.times - time)))
        s.near(f'lean at {time:g} s, rad', 'spec 6.8', lean, float(-run.position('wheel_lean')[k]), absolute=2e-8)
        s.near(f'yaw at {time:g} s, rad', 'spec 6.8', yaw, float(-run.position('wheel_pivot')[k]), absolute=2e-8)
        s.near(f'leg rate at {time:g} s, rad/s', 'spec 6.8', rate, float(run.velocity('wheel_leg')[k]), absolute=2e-8)
    s.near('energy drift, J', 'spec 6.8', 0.0, float(np.abs(run.energy_balance).max()), absolute=2e-8)
    s.near(
        'position, source form against disc on the ground, m',
        'derived',
        0.0,
        float(np.abs(run.q[:, :3] - other.q[:, :3]).max()),
        absolute=1e-7,
    )
    force = run.force('wheel_ground')[:, 3:]
    s.near('slip over the run, m/s', 'spec 6.8', 0.0, float(np.abs(run.slip).max()), absolute=1e-8)
    contact = other.force('wheel_ground')
    across = np.hypot(force[:, 0], force[:, 1]) - np.hypot(contact[:, 0], contact[:, 1])
    s.near('horizontal force, both forms, N', 'derived', 0.0, float(np.abs(across).max()), absolute=1e-5)
    s.note(
        'With the printed five rows the disc slides sideways at 4.45 m/s after 2 s: test/constraints/test_rolling.py.'
    )
    channels = {
        'lean, yaw, rad': {'lean': -run.position('wheel_lean'), 'yaw': -run.position('wheel_pivot')},
        'rates, rad/s': {'of the leg': run.velocity('wheel_leg'), 'yaw': -run.velocity('wheel_pivot')},
        'force of the ground, N': dict(zip('xyz', force.T)),
    }
    s.figure('motion', 'Lean, yaw and forces of the rolling disc', lambda: drawing.histories(run.times, channels))


@study('yesiloglu-2007/cart', 'Two-wheeled cart: forward, about its centre, about a point beside it (App. B)')
def cart(s: StudyRun) -> None:
    """Check experiments B-1 to B-3 and the redundancy of the lateral rows."""
    model, short = wheeled.cart(), wheeled.cart('contact')
    blocks, short_blocks = model.blocks(), short.blocks()
    report = analyse(blocks, model.q, actuated=model.actuated)
    s.holds('rank of the rolling rows', 'spec 6.9', report.rank == 11, expected=11, value=report.rank)
    s.holds('underactuation', 'p. 59', report.underactuation == 1, expected=1, value=report.underactuation)
    for (name, torques), expected in zip(CART_CASES.items(), tabulated('yesiloglu-2007/6.9/cases')):
        tau = wheeled.forward(model, dict(zip(model.actuated, torques)))
        solution = constrained_dynamics(blocks, model.q, model.v, tau)
        for quantity, index, value in zip(('dv, m/s2', 'yaw, rad/s2', 'pitch, rad/s2'), (4, 2, 0), expected):
            s.near(f'{name}: {quantity}', 'spec 6.9', value, float(solution.acceleration[index]), absolute=1e-9)
        run = simulate(short, dict(zip(short.actuated, torques)), 2.0, 2.5e-3, blocks=short_blocks)
        _cart_run(s, name, run)
    s.note('With a rigid axle the lateral forces of the two wheels are indeterminate: equal shares are the least norm.')


def _cart_run(s: StudyRun, name: str, run: SystemRun) -> None:
    speed = np.hypot(run.v[:, 3], np.hypot(run.v[:, 4], run.v[:, 5]))
    end = run.q[-1]
    if name.startswith('B-1'):
        s.near(f'{name}: travel after 2 s, m', 'spec 6.9', 0.625, float(end[1]), absolute=1e-6)
        s.near(f'{name}: drift to the side, m', 'B-1', 0.0, float(np.abs(run.q[:, 0]).max()), absolute=1e-9)
    elif name.startswith('B-2'):
        s.near(f'{name}: centre moves, m', 'B-2', 0.0, float(np.hypot(*run.q[:, :2].T).max()), absolute=1e-9)
    else:
        *_, (x, y), (velocity, _) = tabulated('yesiloglu-2007/6.9/cases')
        s.near(f'{name}: x after 2 s, m', 'spec 6.9', x, float(end[0]), absolute=1e-6)
        s.near(f'{name}: y after 2 s, m', 'spec 6.9', y, float(end[1]), absolute=1e-6)
        s.near(f'{name}: speed after 2 s, m/s', 'spec 6.9', velocity, float(speed[-1]), absolute=1e-6)
        lateral = np.array([run.force(f'{side}_ground')[:, 1] for side in ('left', 'right')])
        s.near(
            f'{name}: lateral forces of the wheels differ by, N',
            'B-3',
            0.0,
            float(np.abs(lateral[0] - lateral[1]).max()),
            absolute=1e-6,
        )
    s.near(f'{name}: energy against work, J', 'B', 0.0, float(np.abs(run.energy_balance).max()), absolute=1e-8)
    s.near(f'{name}: slip, m/s', 'B', 0.0, float(np.abs(run.slip).max()), absolute=1e-8)
    channels = {
        'velocity, m/s': {'speed': speed},
        'rates about rod axes, rad/s': dict(zip(('x', 'y', 'z'), run.v[:, :3].T)),
        'left wheel, N': dict(zip(('travel', 'lateral', 'normal'), run.force('left_ground').T)),
        'right wheel, N': dict(zip(('travel', 'lateral', 'normal'), run.force('right_ground').T)),
    }
    slug = name.split()[0].lower()
    s.figure(slug, f'{name}: speed, rates and tip forces', lambda: drawing.histories(run.times, channels))


@study('yesiloglu-2007/platform-4x4x4', 'Four driven and steered wheels: driving, crab, circle, ranks (App. C)')
def platform(s: StudyRun) -> None:
    """Check experiments C-1 to C-5."""
    _platform_ranks(s)
    corners = wheeled.CORNERS
    drive = {f'{corner}_drive': 1.5 for corner in corners}
    run = simulate(wheeled.platform('contact', locked=True), drive, 2.0, 1e-2)
    expected, _, loads, (_, travel, _) = tabulated('yesiloglu-2007/6.10/driving')
    s.near('C-2 driving: dv, m/s2', 'spec 6.10', expected, float(run.acceleration('backbone_vy')[0]), absolute=1e-9)
    for corner, load in zip(('front_left', 'rear_left'), loads):
        measured = float(run.force(f'{corner}_ground')[0, 2])
        s.near(f'C-2 driving: load {corner}, N', 'spec 6.10', load, measured, absolute=1e-8)
    s.near('C-2 driving: lock torque, N m', 'spec 6.10', 0.6, float(run.force('front_left_lock')[0, 0]), absolute=1e-9)
    s.near('C-2 driving: travel after 2 s, m', 'spec 6.10', travel, float(run.q[-1, 1]), absolute=1e-7)
    _platform_figure(s, 'driving', run)
    free = simulate(wheeled.platform('contact'), drive, 0.2, 1e-2, 21)
    stopped = free.status in ('rank changed', 'contradictory constraints')
    s.holds('C-3 driving with free legs ends at the rank change', 'C-3', stopped, value=free.status)
    crab = simulate(wheeled.platform('contact'), {f'{corner}_steer': 0.8 for corner in corners}, 0.5, 5e-3)
    angle = tabulated('yesiloglu-2007/6.10/crab')[2][0]
    s.near('C-4 crab: angle after 0.5 s, rad', 'spec 6.10', angle, float(crab.q[-1, 7]), absolute=1e-9)
    s.near('C-4 crab: body moves, m/s', 'C-4', 0.0, float(np.abs(crab.v[:, :6]).max()), absolute=1e-9)
    _platform_figure(s, 'steering', crab)
    circle = simulate(wheeled.platform('contact', True, wheeled.turning_angles(1.5)), drive, 2.0, 1e-2)
    yaw = float(circle.acceleration('backbone_wz')[0])
    s.near('C-5 circle: yaw, rad/s2', 'spec 6.10', tabulated('yesiloglu-2007/6.10/circle')[3], yaw, absolute=1e-9)
    radius = np.hypot(circle.q[:, 0] - 1.5, circle.q[:, 1])
    s.near('C-5 circle: radius varies by, m', 'C-5', 0.0, float(np.abs(radius - 1.5).max()), absolute=1e-8)
    _platform_figure(s, 'circle', circle)


def _platform_ranks(s: StudyRun) -> None:
    corners = wheeled.CORNERS
    cases = {
        'straight': (None, 21),
        'crab': (dict.fromkeys(corners, 0.2), 21),
        'common centre': (wheeled.turning_angles(1.5), 21),
        'unequal': (dict(zip(corners, (0.1, 0.25, -0.15, 0.3))), 22),
        'toe': (dict(zip(corners, (0.2, -0.2, 0.2, -0.2))), 22),
    }
    for name, (steering, rank) in cases.items():
        model = wheeled.platform(steering=steering)
        computed = analyse(model.blocks(), model.q).rank
        s.holds(f'C-1 rank, {name}', 'spec 6.10', computed == rank, expected=rank, value=computed)
    s.holds('C-1 velocities', 'p. 65', model.tree.nv == 26, expected=26, value=model.tree.nv)


def _platform_figure(s: StudyRun, name: str, run: SystemRun) -> None:
    corners = list(wheeled.CORNERS)
    names = [corner.replace('_', ' ') for corner in corners]

    def lines(labels: Sequence[str], values: Iterable[Array]) -> dict[str, Array]:
        # round-off is drawn as zero
        return {label: np.round(value, 9) for label, value in zip(labels, values)}

    channels = {
        'base, m/s': lines('xyz', run.v[:, 3:6].T),
        'base, rad/s': lines('xyz', run.v[:, :3].T),
        'wheels, rad/s': lines(names, [run.velocity(f'{corner}_drive') for corner in corners]),
        'steering, rad': lines(names, [run.position(f'{corner}_steer') for corner in corners]),
        'traction, N': lines(names, [run.force(f'{corner}_ground')[:, 0] for corner in corners]),
        'lateral, N': lines(names, [run.force(f'{corner}_ground')[:, 1] for corner in corners]),
        'normal, N': lines(names, [run.force(f'{corner}_ground')[:, 2] for corner in corners]),
    }
    s.figure(name, f'Platform, {name}', lambda: drawing.histories(run.times, channels))
