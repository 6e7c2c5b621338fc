"""The log-loader reaches out too far, tips over its front wheels and is recovered; then a picture and a bag."""

from pathlib import Path

import numpy as np

import dyn_nodes as dn


def main(directory: str = 'runs/example') -> dn.Run:
    """Run the task of the package with 5.1 t; print events; write a picture and a bag into a new directory."""
    machine = dn.load('log_loader')
    run = machine.simulate(task='pick_and_place_recovery', payload=5100.0)
    print(run)
    for event in run.events:
        if event.kind in ('lift_off', 'touch_down'):
            print(f'{event.time:6.2f} s  {event.kind}  {event.details}')
    print(f'the base tilts by {np.degrees(run.tilt.max()):.2f} degrees at {run.times[run.tilt.argmax()]:.2f} s')

    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    run.plot(folder / 'tip_over.png')
    print('written:', folder / 'tip_over.png', run.save_bag(folder / 'bag'))
    print(f'report of the bag: dyn-nodes report {folder / "bag"}')
    return run


if __name__ == '__main__':
    main()
