"""A node in the style of the ROS 2 tutorials: spin in a try, destroy and shut down at the end."""

from __future__ import annotations

import sys
import time

from roslite.runtime.api import ExternalShutdownException, Node, init, message, spin, try_shutdown


def main() -> None:
    init(args=sys.argv)
    node = Node('plain')
    publisher = node.create_publisher(message('std_msgs/msg/Float64'), 'value', 10)
    node.create_timer(0.01, lambda: publisher.publish(message('std_msgs/msg/Float64')(data=time.time())))
    print('ready', flush=True)
    try:
        spin(node)
    except KeyboardInterrupt:
        print('KeyboardInterrupt', flush=True)
    except ExternalShutdownException:
        print('ExternalShutdownException', flush=True)
    finally:
        node.destroy_node()
        try_shutdown()


if __name__ == '__main__':
    main()
