"""Effect of lumping the masses of cylinders, rocker and coupler into boom, stick and cabin.

    python -m benchmarks.lumping

The reference task of the log-loader three times: cylinders as formulas of their joints; as bodies in closed loops
without masses, which must give the same result; and as bodies with masses, taken from the links that carried them.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.simulation.plant import Plant

PERIOD, STEP, END = 2e-3, 1e-3, 16.0
REAR = ('rear_left', 'rear_right')


class Course(NamedTuple):
    """A run of the task.

    Attributes:
        lift_off: of the first rear wheel, s.
        peak: greatest tilt of the base, degrees.  peak_time: s.
        touch_down: of the first rear wheel after the peak, s.
    """

    lift_off: float
    peak: float
    peak_time: float
    touch_down: float


def log_loader(kind: str = '') -> Machine:
    """Return the log-loader, or the machine of the files `log_loader_<kind>`."""
    name = '_'.join(filter(None, ('log_loader', kind)))
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


def lumped_alike(bodies: Machine, plain: Machine) -> Machine:
    """Return a machine with the masses of another: links missing in the other one get no mass."""
    links_by_name = {link.name: link for link in plain.links}
    links = (links_by_name.get(link.name, replace(link, mass=0.0, inertia=np.zeros((3, 3)))) for link in bodies.links)
    return replace(bodies, name=f'{bodies.name}_lumped', links=tuple(links))


def course(machine: Machine, task: str = 'pick_and_place_recovery') -> Course:
    """Run the task with the hydraulics inside.

    Raises:
        ValueError: no wheel lifted, or none came down again.
    """
    plant = Plant(machine, 'hydraulic', PERIOD, STEP, measures=())
    names = [actuator.name for actuator in machine.actuators]
    profile = load_voltage_profile(find_resource(f'config/tasks/{task}.yaml'), names)
    peak, peak_time, events = 0.0, 0.0, []
    for k in range(round(END / PERIOD)):
        volts = profile.evaluate((k + 0.5) * PERIOD, names)
        plant.set_inputs({f'{name}/voltage': float(value) for name, value in zip(names, volts)})
        plant.advance()
        events += [event for event in plant.take_events() if event.details.get('wheel') in REAR]
        tilt = plant.output('tilt')
        if tilt > peak:
            peak, peak_time = tilt, plant.time
    lifted = [event.time for event in events if event.kind == 'lift_off']
    down = [event.time for event in events if event.kind == 'touch_down' and event.time > peak_time]
    if not lifted or not down:
        counts = f'{len(lifted)} and {len(down)}'
        raise ValueError(f'{machine.name}: expected rear wheels that lift and come down, found {counts}')
    return Course(lifted[0], float(np.degrees(peak)), peak_time, down[0])


def compare() -> dict[str, Course]:
    """Return the courses of the three machines."""
    plain, bodies = log_loader(), log_loader('linkage')
    machines = {'formulas': plain, 'bodies without masses': lumped_alike(bodies, plain), 'bodies': bodies}
    return {name: course(machine) for name, machine in machines.items()}


def main() -> None:
    """Print the courses, and the differences from the first."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--json', action='store_true', help='numbers only')
    results = compare()
    if parser.parse_args().json:
        print(json.dumps({name: row._asdict() for name, row in results.items()}))
        return
    first = next(iter(results.values()))
    print(f'{"cylinders":24}' + ''.join(f'{field:>22}' for field in Course._fields))
    for name, row in results.items():
        cells = (f'{value:.4f} ({100 * (value / other - 1):+.3f} %)' for value, other in zip(row, first))
        print(f'{name:24}' + ''.join(f'{cell:>22}' for cell in cells))


if __name__ == '__main__':
    main()
