"""Load a machine of the package and look at it: names, masses, ground reactions, margins at rest."""

import numpy as np

import dyn_nodes as dn


def main() -> None:
    """Print what the log-loader is and how it stands."""
    print('machines of the package:', ', '.join(dn.machines()[:6]), '...')
    machine = dn.load('log_loader')
    print(machine)
    print('driven joints:', *machine.driven)

    posture = machine.posture(boom_joint=0.4)  # the base stands on its wheels
    dynamics = machine.dynamics(payload=2000.0)
    print('centre of mass, m:', np.round(dynamics.center_of_mass(posture), 3))
    print('efforts that hold the arm, kN m:', np.round(dynamics.gravity(posture)[-3:] / 1e3, 1))

    margins = machine.margins(posture, payload=2000.0)
    for wheel, force in margins.reactions.items():
        print(f'{wheel}: {force[2] / 1e3:.1f} kN')
    for name, own in margins.items():
        print(f'{name}: {own.value:.4g} {own.unit}, least at the edge or wheel {own.critical}')


if __name__ == '__main__':
    main()
