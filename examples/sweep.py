"""A small sweep in Python: from which payload on does the log-loader tip? Thousands of runs: `dyn-nodes sweep`."""

import numpy as np

import dyn_nodes as dn


def main(payloads: tuple[float, ...] = (3000.0, 4000.0, 5000.0), slopes: tuple[float, ...] = (0.0, 4.0)) -> np.ndarray:
    """Run the task of the package for every payload, kg, and slope, degrees; return the greatest tilts, rad."""
    machine = dn.load('log_loader')
    tilts = np.empty((len(slopes), len(payloads)))
    for row, slope in enumerate(slopes):
        for column, payload in enumerate(payloads):
            run = machine.simulate(
                task='pick_and_place_recovery', payload=payload, slope=(0.0, np.radians(slope)), step=2e-3
            )
            tilts[row, column] = run.tilt.max() - run.tilt[0]
            lifted = any(event.kind == 'lift_off' for event in run.events)
            outcome = 'overturned' if run.overturned else 'lifted a wheel' if lifted else 'all wheels down'
            print(f'{payload:6.0f} kg, {slope:3.0f} degrees downhill: {outcome}, {np.degrees(tilts[row, column]):.2f}')
    return tilts


if __name__ == '__main__':
    main()
