"""Can the ground bear the machine at all? Admissible reactions on ever steeper ground, down to the first slip."""

import numpy as np

import dyn_nodes as dn


def main(steps: int = 8) -> np.ndarray:
    """Print the force that every wheel can spare over the slope; return it in N (steps,)."""
    machine = dn.load('log_loader')
    spared = []
    for slope in np.radians(np.linspace(0.0, 28.0, steps)):
        margins = machine.margins(slope=(0.0, slope), measures=['admissible', 'static'])
        admissible, static = margins['admissible'], margins['static']
        spared.append(float(admissible.value))
        state = 'holds' if spared[-1] > 0.0 else 'has to slide, or a wheel lifts'
        print(
            f'{np.degrees(slope):5.1f} degrees: {state}; spare force {spared[-1] / 1e3:7.2f} kN at '
            f'{admissible.critical}, static margin {float(static.value):.2f} m'
        )
    return np.array(spared)


if __name__ == '__main__':
    main()
