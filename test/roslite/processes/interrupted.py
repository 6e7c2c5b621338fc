"""Takes messages, reads discovery and calls itself while another thread sends SIGINT all the time."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time

from roslite.runtime.api import Node, QoSProfile, init, message, service, spin_until_future_complete, try_shutdown

String = message('std_msgs/msg/String')
Trigger = service('std_srvs/srv/Trigger')
SECONDS = float(sys.argv[1])
armed = False
interrupts = 0


def on_interrupt(number: int, frame: object) -> None:
    global armed, interrupts
    if armed:
        armed = False
        interrupts += 1
        raise KeyboardInterrupt


def work(node: Node, publisher: object, subscription: object, client: object) -> None:
    """Modules that call the machine code of the DDS package."""
    for _ in range(50):
        publisher.publish(String(data='x'))
    subscription.take()
    subscription.take_raw(100)
    node.get_publishers_info_by_topic('stream')
    client.service_is_ready()


def disturb(until: float) -> None:
    while time.monotonic() < until:
        time.sleep(random.uniform(0.0005, 0.005))
        os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    global armed
    signal.signal(signal.SIGINT, on_interrupt)
    init(args=['interrupted'])
    node = Node('interrupted')
    node.create_service(Trigger, 'trigger', lambda request, response: response)
    client = node.create_client(Trigger, 'trigger')
    publisher = node.create_publisher(String, 'stream', QoSProfile(depth=1000))
    subscription = node.create_subscription(String, 'stream', lambda data: None, QoSProfile(depth=1000))
    until = time.monotonic() + SECONDS
    thread = threading.Thread(target=disturb, args=(until,))
    thread.start()
    rounds = 0
    while time.monotonic() < until:
        try:
            armed = True
            work(node, publisher, subscription, client)
            rounds += 1
            armed = False
        except KeyboardInterrupt:
            pass
    thread.join()
    spin_until_future_complete(node, client.call_async(Trigger.Request()), timeout_sec=5.0)  # everything still works
    node.destroy_node()
    try_shutdown()
    print(f'finished after {interrupts} interrupts in {rounds} whole rounds', flush=True)


if __name__ == '__main__':
    main()
