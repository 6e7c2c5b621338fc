"""Margins of a whole family of postures: the arm is stretched out while the cabin turns."""

import numpy as np

import dyn_nodes as dn


def main(swings: int = 13, reaches: int = 5) -> np.ndarray:
    """Print the least static margin, cm, over swing angle and boom position; return it in m (reaches, swings)."""
    machine = dn.load('log_loader')
    swing = np.linspace(-np.pi / 2, np.pi / 2, swings)
    boom = np.linspace(0.8, 0.0, reaches)
    q = np.array([(angle, lift, -1.0) for lift in boom for angle in swing])  # the order of machine.joints
    margins = machine.margins(q, payload=3000.0, measures=['static', 'load_share'])

    table = margins['static'].value.reshape(reaches, swings)
    print('static margin, cm; columns: swing angle, degrees; rows: boom, rad')
    print('      ' + ''.join(f'{np.degrees(angle):6.0f}' for angle in swing))
    for lift, row in zip(boom, table):
        print(f'{lift:6.2f}' + ''.join(f'{100 * value:6.0f}' for value in row))
    worst = int(np.argmin(margins['static'].value))
    print(f'least: {margins["static"].value[worst]:.3f} m over the edge {margins["static"].critical[worst]}')
    return table


if __name__ == '__main__':
    main()
