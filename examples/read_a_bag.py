"""Read a bag of the nodes (here one that a run of the library wrote) with `rosbags`, without ROS."""

import tempfile
from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader

import dyn_nodes as dn


def main(bag: str = '') -> np.ndarray:
    """Print the topics of a bag and the least static margin in it; return the margins (t, 2): time, value."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(bag) if bag else Path(folder) / 'bag'
        if not bag:
            dn.load('log_loader').simulate(1.0, voltage={'boom': -5.0}).save_bag(path)
        rows = []
        with AnyReader([path]) as reader:
            for connection in reader.connections:
                print(f'{connection.topic}: {connection.msgtype}, {connection.msgcount} messages')
            margins = [own for own in reader.connections if own.topic == '/stability/static']
            for connection, stamp, raw in reader.messages(connections=margins):
                rows.append((1e-9 * stamp, reader.deserialize(raw, connection.msgtype).data))
    found = np.array(rows)
    print(f'least static margin: {found[:, 1].min():.3f} m at {found[found[:, 1].argmin(), 0]:.2f} s')
    return found


if __name__ == '__main__':
    main()
