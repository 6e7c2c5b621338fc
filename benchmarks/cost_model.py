"""How the cost of a machine grows with its joints, wheels, drives, closed loops, and with the number of runs.

    python -m benchmarks.cost_model                  # writes docs/verification/cost.md and docs/images/cost.png
    python -m benchmarks.cost_model --parts wheels   # prints one table, writes nothing

Machines are made for it, so that one number grows and all others stay. A step is one of rk4, four evaluations of the
rates, within a run of compiled code: the processor time of a run over its steps, the least of several runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.batches.runs import run_batch

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / 'docs' / 'verification' / 'cost.md', ROOT / 'docs' / 'images' / 'cost.png'
STEP = 1e-3
STEPS = 500
ROUNDS = 60
STRAIGHT = 1.3
"""Beyond this power of the number no line is given."""
BODY = '<inertial><mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name: str, mass: float = 2.0, inertia: float = 0.05) -> str:
    """Return a link."""
    return f'<link name="{name}">{BODY.format(mass=mass, i=inertia)}</link>'


def joint(name: str, parent: str, child: str, at: str, axis: str) -> str:
    """Return a revolute joint without limits."""
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
        f'<axis xyz="{axis}"/></joint>'
    )


def loaded(elements: Sequence[str], config: str) -> Machine:
    """Return the machine of some elements of a URDF and the text of a YAML."""
    with tempfile.TemporaryDirectory() as folder:
        urdf, yaml = Path(folder) / 'machine.urdf', Path(folder) / 'machine.yaml'
        urdf.write_text(f'<robot name="machine">{"".join(elements)}</robot>', encoding='utf-8')
        yaml.write_text(config, encoding='utf-8')
        return load_machine(urdf, yaml)


def arm(joints: int, base: str = 'base') -> list[str]:
    """Return the elements of an arm whose axes alternate, 0.3 m from joint to joint."""
    elements, below = [], base
    for k in range(joints):
        elements += [link(f'link_{k}'), joint(f'joint_{k}', below, f'link_{k}', '0.3 0 0', ('0 0 1', '0 1 0')[k % 2])]
        below = f'link_{k}'
    return elements


def with_joints(count: int) -> Machine:
    """Return an arm on a fixed base."""
    return loaded([link('base'), *arm(count)], 'base: {attachment: fixed}\n')


def with_wheels(count: int) -> Machine:
    """Return a box on wheels on springs with LuGre friction, evenly on a circle."""
    config = 'base: {link: base, attachment: free}\ndefaults:\n  wheel:\n    stiffness: 5.0e+4\n    damping: 1000.0\n'
    config += '    friction: {model: lugre, static: 0.9, kinetic: 0.7}\nwheels:\n'
    for k in range(count):
        at = 2.0 * np.pi * k / count
        config += (
            f'  wheel_{k}: {{link: base, position: [{np.cos(at):.4f}, {np.sin(at):.4f}, 0.0], free_length: 0.3}}\n'
        )
    return loaded([link('base', 100.0 * count, 20.0 * count)], config)


def with_drives(count: int) -> Machine:
    """Return an arm of eight joints, of which some have an electric motor."""
    config = 'base: {attachment: fixed}\n'
    if count:
        config += 'actuators:\n'
    for k in range(count):
        config += (
            f'  motor_{k}: {{type: dc_motor, joint: joint_{k}, torque_constant: 0.25, resistance: 1.0, '
            'inductance: 3.0e-3, rotor_inertia: 2.0e-4, rotor_damping: 1.0e-4, gear_ratio: 50.0, '
            'voltage_limit: 48.0, current_limit: 20.0}\n'
        )
    return loaded([link('base'), *arm(8)], config)


def with_loops(count: int) -> Machine:
    """Return parallelograms side by side on a fixed base: three joints and a pin each."""
    elements, config, free = [link('base')], 'base: {attachment: fixed}\ninitial:\n  joint_positions:\n', 'joints:\n'
    pins = 'constraints:\n'
    for k in range(count):
        names = [f'{part}_{k}' for part in ('crank', 'coupler', 'rocker')]
        elements += [link(name) for name in names]
        elements.append(joint(f'{names[0]}_joint', 'base', names[0], f'0 {k} 0', '0 1 0'))
        elements.append(joint(f'{names[1]}_joint', names[0], names[1], '0.5 0 0', '0 1 0'))
        elements.append(joint(f'{names[2]}_joint', 'base', names[2], f'0.9 {k} 0', '0 1 0'))
        for name, angle in zip(names, (1.0, -1.0, 1.0)):
            config += f'    {name}_joint: {angle}\n'
        free += f'  {names[1]}_joint: {{class: free}}\n  {names[2]}_joint: {{class: free}}\n'
        pins += (
            f'  pin_{k}: {{kind: hinge, first: {{link: {names[1]}, position: [0.9, 0, 0]}}, '
            f'second: {{link: {names[2]}, position: [0.5, 0, 0]}}, axis: [0, 1, 0]}}\n'
        )
    return loaded(elements, config + pins + free)


@dataclass(frozen=True)
class Growth:
    """One number that grows.

    Attributes:
        title: of its table.
        unit: what is counted.
        make: the machine of a count.
        counts: that are tried.
        about: what the machine is.
    """

    title: str
    unit: str
    make: Callable[[int], Machine]
    counts: tuple[int, ...]
    about: str


GROWTHS = {
    'joints': Growth(
        'Joints',
        'joint',
        with_joints,
        (2, 4, 8, 16, 32),
        'An arm on a fixed base. Articulated bodies: the cost of a joint does not depend on how many there are. '
        'For hundreds of joints, array loops take the place of straight-line code (`benchmarks/chains.py`).',
    ),
    'wheels': Growth(
        'Wheels',
        'wheel',
        with_wheels,
        (3, 4, 6, 8, 16),
        'A box on wheels on springs, each with LuGre friction in two directions.',
    ),
    'drives': Growth(
        'Drives',
        'motor',
        with_drives,
        (0, 1, 2, 4, 8),
        'Electric motors on an arm of eight joints, each with its current as a state.',
    ),
    'loops': Growth(
        'Closed loops',
        'loop',
        with_loops,
        (1, 2, 3, 4, 6),
        'Parallelograms side by side, three joints and five rows each, of which two are independent. The rows of all '
        'of them are solved as one dense system, so the cost grows faster than their number.',
    ),
}


@dataclass(frozen=True)
class Cost:
    """What a machine costs.

    Attributes:
        count: of what grows.
        states: of the system.
        step: processor time, s.
    """

    count: int
    states: int
    step: float


def cost(machine: Machine, count: int) -> Cost:
    """Return the cost of a machine. Raises ValueError where it does not get through its run."""
    system = System(machine)
    p = system.parameters()
    start = initial_state(system, p)
    times = np.array([0.0, STEP * STEPS])
    inputs = Inputs(times, {})

    def run() -> None:
        done = system.run(start, times, inputs, p, Settings(step=STEP))
        if done.status != 'done':
            raise ValueError(f'{count}: the run ended as {done.status} {done.detail}')

    run()
    return Cost(count, len(start), _least(run) / STEPS)


def _least(run: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        run()
        spent.append(time.process_time() - begin)
    return min(spent)


def scenarios(counts: Sequence[int] = (1, 8, 64, 512)) -> list[tuple[int, float, float]]:
    """Return the processor time of a run, s, one after the other and as a batch, by the number of runs.

    Runs are those of the log-loader on its wheels, 2 s in steps of 2 ms, with another payload each.
    """
    system = System(load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')))
    settings, times = Settings(step=2e-3), np.array([0.0, 2.0])
    inputs = Inputs(np.array([0.0, 0.5, 2.0]), {'boom/voltage': np.array([0.0, -4.0, -4.0])})
    found = []
    for count in counts:
        parameters = np.tile(system.parameters(), (count, 1))
        parameters[:, system.index('parameter', 'payload_mass')] = np.linspace(0.0, 2000.0, count)
        starts = np.array([initial_state(system, p) for p in parameters])

        def alone() -> None:
            for x, p in zip(starts, parameters):  # noqa: B023
                system.run(x, times, inputs, p, settings)

        def together() -> None:
            run_batch(system, starts, times, inputs, parameters, settings, threads=1)  # noqa: B023

        alone(), together()
        found.append((count, _least(alone) / count, _least(together) / count))
    return found


def law(costs: Sequence[Cost]) -> tuple[float, float, float]:
    """Return constant and slope of a line through the times of a step, s, and the last slope of their logarithms."""
    n, t = np.array([own.count for own in costs], dtype=float), np.array([own.step for own in costs])
    slope, constant = np.polyfit(n, t, 1)
    return float(constant), float(slope), float(np.polyfit(np.log(n[-3:]), np.log(t[-3:]), 1)[0])


def table(growth: Growth, costs: Sequence[Cost]) -> str:
    """Return the table of a growth in Markdown."""
    constant, slope, power = law(costs)
    lines = [f'## {growth.title}', '', growth.about, '', f'| {growth.unit}s | states | a step, us |']
    lines.append('|---:|---:|---:|')
    lines += [f'| {own.count} | {own.states} | {1e6 * own.step:.2f} |' for own in costs]
    line = f'About {1e6 * constant:.2f} us and {1e6 * slope:.2f} us a {growth.unit}; ' if power < STRAIGHT else ''
    lines += ['', f'{line}the time grows as n^{power:.2f}.'.capitalize()]
    return '\n'.join([*lines, ''])


def table_of_scenarios(found: Sequence[tuple[int, float, float]]) -> str:
    """Return the table of the numbers of runs in Markdown."""
    lines = [
        '## Runs',
        '',
        '2 s of the log-loader, steps of 2 ms, a payload for each run, on one core. A batch takes a run in each lane.',
        '',
    ]
    lines += ['| runs | one after the other, ms a run | as a batch, ms a run | ratio |', '|---:|---:|---:|---:|']
    lines += [f'| {n} | {1e3 * alone:.3f} | {1e3 * batch:.3f} | {alone / batch:.1f} |' for n, alone, batch in found]
    return '\n'.join([*lines, ''])


def draw(found: dict[str, list[Cost]], path: Path) -> None:
    """Draw the time of a step over each number."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(3.0 * len(found), 3.0))
    for place, (name, costs) in zip(np.atleast_1d(axes), found.items()):
        n, t = [own.count for own in costs], [1e6 * own.step for own in costs]
        constant, slope, power = law(costs)
        place.plot(n, t, 'o')
        if power < STRAIGHT:
            place.plot([0, n[-1]], [1e6 * constant, 1e6 * (constant + slope * n[-1])], color='0.6')
        place.set(xlabel=GROWTHS[name].title.lower(), xlim=(0, None), ylim=(0, None))
    np.atleast_1d(axes)[0].set_ylabel('a step of rk4, us')
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


HEAD = f"""\
# Cost

How the time of a step grows with the machine. `python -m benchmarks.cost_model` made this page and its picture.

A step is one of rk4, four evaluations of the rates; its time is the processor time of a compiled run of {STEPS} steps
on one core, the least of {ROUNDS} runs, on a computer that may be busy. Powers of n are slopes of the logarithms over
the last three rows.

![Time of a step over joints, wheels, drives and closed loops](../images/cost.png)

"""


def main() -> int:
    """Measure, print the tables, and write page and picture where all was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--parts', nargs='+', choices=[*GROWTHS, 'runs'], help='only these; nothing is written')
    chosen = parser.parse_args().parts
    found: dict[str, list[Cost]] = {}
    texts = []
    for name in chosen or [*GROWTHS, 'runs']:
        if name == 'runs':
            texts.append(table_of_scenarios(scenarios()))
        else:
            found[name] = [cost(GROWTHS[name].make(count), count) for count in GROWTHS[name].counts]
            texts.append(table(GROWTHS[name], found[name]))
        print(texts[-1], flush=True)
    if not chosen:
        PAGE.write_text(HEAD + '\n'.join(texts), encoding='utf-8')
        draw(found, PICTURE)
        print(f'{PAGE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
