"""Sends every joint state of `ping` back on `pong`; serves a parameter with a range and a service."""

from __future__ import annotations

from roslite.runtime.api import (
    ExternalShutdownException,
    FloatingPointRange,
    Node,
    ParameterDescriptor,
    init,
    message,
    service,
    spin,
)

JointState = message('sensor_msgs/msg/JointState')
SetBool = service('std_srvs/srv/SetBool')


class Echo(Node):
    def __init__(self) -> None:
        super().__init__('echo')
        limits = ParameterDescriptor(floating_point_range=[FloatingPointRange(from_value=0.0, to_value=10.0)])
        self.declare_parameter('gain', 1.0, limits)
        self.pong = self.create_publisher(JointState, 'pong', 10)
        self.create_subscription(JointState, 'ping', self.on_ping, 10)
        self.create_service(SetBool, '~/switch', self.on_switch)

    def on_ping(self, msg: object) -> None:
        gain = self.get_parameter('gain').value
        msg.position = [gain * value for value in msg.position]
        self.pong.publish(msg)

    def on_switch(self, request: object, response: object) -> object:
        response.success = request.data
        response.message = 'on' if request.data else 'off'
        return response


def main() -> None:
    try:
        with init():
            node = Echo()
            print('ready', flush=True)
            spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
