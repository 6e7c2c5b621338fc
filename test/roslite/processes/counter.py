"""Counts everything on `stream` with a reader that keeps all, and prints the count when the stream ends."""

from __future__ import annotations

from roslite.runtime.api import HistoryPolicy, Node, QoSProfile, init, message, ok, spin_once


def main() -> None:
    values: list[str] = []
    with init():
        node = Node('counter')
        qos = QoSProfile(history=HistoryPolicy.KEEP_ALL)
        node.create_subscription(message('std_msgs/msg/String'), 'stream', lambda msg: values.append(msg.data), qos)
        print('ready', flush=True)
        while ok() and (not values or values[-1] != 'end'):
            spin_once(node, timeout_sec=0.1)
    numbers = [int(value.split()[0]) for value in values[:-1]]
    print('counted', len(numbers), numbers == list(range(len(numbers))), flush=True)


if __name__ == '__main__':
    main()
